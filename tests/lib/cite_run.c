/* cite_run.c -- the loop of a reader. */
#include "lib/cite_run.h"

#include <stdlib.h>

#include "text/cite.h"

struct reader {
    struct cite_run *run;
    struct buf held;
};

static void write_marker(const struct cite_marker *m, struct buf *out)
{
    buf_char(out, '{');
    buf_uint(out, m->cursor);
    buf_char(out, ' ');
    buf_int(out, m->first_line);
    buf_char(out, ' ');
    buf_int(out, m->last_line);
    buf_char(out, '}');
}

static void feed(void *arg, str piece)
{
    struct reader *reader = arg;
    struct cite_run *run = reader->run;
    struct cite_found f = {.state = CITE_WHOLE};
    char *exact;
    str rest;

    buf_append(&reader->held, piece);
    exact = exact_copy(buf_str(&reader->held));
    rest = str_from(exact, reader->held.len);
    while (f.state == CITE_WHOLE) {
        f = cite_find(rest);
        buf_append(&run->text, str_from(rest.p, f.at));
        if (f.state == CITE_WHOLE) {
            write_marker(&f.marker, &run->text);
            run->n_markers++;
        }
        rest = str_skip(rest, f.state == CITE_WHOLE ? f.end : f.at);
    }
    reader->held.len = 0;
    buf_append(&reader->held, rest);
    run->most_held = rest.len > run->most_held ? rest.len : run->most_held;
    free(exact);
}

void cite_run(str escaped, struct cutting cutting, struct cite_run *ret)
{
    struct reader reader = {.run = ret};

    *ret = (struct cite_run){.n_markers = 0};
    feed_pieces(escaped, cutting, feed, &reader);
    buf_append(&ret->text, buf_str(&reader.held));
    buf_fini(&reader.held);
}

void cite_run_fini(struct cite_run *r)
{
    buf_fini(&r->text);
}
