/* restore_check.c -- what was restored or read is told apart from the response by nobody who reads events. */
#include "lib/restore_check.h"

#include <stdlib.h>

#include "response/response_read.h"

static const struct response_conf conf = {.error_event = true};

void restore_check_init(struct restore_check *c, const char *(*check)(str stream))
{
    *c = (struct restore_check){.check = check};
    replay_init(&c->journal);
}

static void row_fini(struct restore_row *row)
{
    buf_fini(&row->cuts);
    buf_fini(&row->done);
    buf_fini(&row->pieces);
}

void restore_check_fini(struct restore_check *c)
{
    for (size_t i = 0; i < c->n_rows; i++)
        row_fini(&c->rows[i]);
    free(c->rows);
    buf_fini(&c->head);
    buf_fini(&c->tail);
    if (c->has_begun)
        response_fini(&c->grown.response);
}

static void note_fault(struct restore_check *c, const char *what)
{
    if (c->fault == NULL)
        c->fault = what;
}

/* ---- the events of two responses */

static bool write_events(const struct response *r, int64_t after, struct buf *out)
{
    struct replay p;

    replay_init(&p);
    return replay_events(&p, r, buf_str(&r->cuts.bytes), UINT64_MAX, after, false, SIZE_MAX, out) ==
           0;
}

static bool has_same_events(const struct response *a, const struct response *b, int64_t after)
{
    struct buf one = {.limit = 0}, other = {.limit = 0};
    const bool is_same = write_events(a, after, &one) && write_events(b, after, &other) &&
                         str_eq(buf_str(&one), buf_str(&other));

    buf_fini(&one);
    buf_fini(&other);
    return is_same;
}

/* ---- rows */

static bool restore_row(struct response_restore *to, const struct restore_row *row)
{
    struct err e;

    return response_restore_row(to, buf_str(&row->cuts), buf_str(&row->done), buf_str(&row->pieces),
                                &e) == 0;
}

static bool begin_restore(const struct restore_check *c, struct response_restore *ret)
{
    struct err e;

    return response_restore_begin(&conf, buf_str(&c->head), buf_str(&c->tail), ret, &e) == 0;
}

/* False when nothing is new. */
static bool add_row(struct restore_check *c, const struct response *r)
{
    struct restore_row *rows = realloc(c->rows, (c->n_rows + 1) * sizeof(*rows));
    struct journal_row made;

    if (rows == NULL)
        abort();
    c->rows = rows;
    if (replay_journal(&c->journal, r, buf_str(&r->cuts.bytes), &made) == -1)
        note_fault(c, "the journal does not fit the response");
    if (made.n == 0) {
        journal_row_fini(&made);
        return false;
    }
    rows[c->n_rows] = (struct restore_row){.done = made.done, .pieces = made.pieces};
    buf_append(&rows[c->n_rows++].cuts, made.cuts);
    return true;
}

/* ---- a response that somebody else ends */

bool restore_check_rows(const struct restore_check *c, size_t n, struct response_restore *ret)
{
    if (!begin_restore(c, ret))
        abort();
    for (size_t i = 0; i < n; i++) {
        if (!restore_row(ret, &c->rows[i]))
            return false;
    }
    return true;
}

/* The last row may be all that a crash has left. */
static void check_ending(struct restore_check *c, bool is_cancelled)
{
    struct buf stream = {.limit = 0};
    struct response_restore restore;
    struct err e;
    bool ok =
        restore_check_rows(c, c->n_rows, &restore) && write_events(&restore.response, -1, &stream);

    err_set(&e, ERR_INTERNAL, "The gateway stopped while the response was in progress.");
    if (is_cancelled)
        response_cancel(&restore.response, &stream);
    else
        response_fail(&restore.response, &e, &stream);
    response_end(&restore.response, &stream);
    if (!ok)
        note_fault(c, "rows that were read before cannot be read again");
    else if (c->check(buf_str(&stream)) != NULL)
        note_fault(c, c->check(buf_str(&stream)));
    response_fini(&restore.response);
    buf_fini(&stream);
}

void restore_check_step(struct restore_check *c, const struct response *r)
{
    if (!c->has_begun && c->fault == NULL) {
        response_object_head(r, &c->head);
        response_object_tail(r, &c->tail);
        c->has_begun = begin_restore(c, &c->grown);
        if (!c->has_begun)
            note_fault(c, "the object of the response cannot be read");
    }
    if (c->fault != NULL || !add_row(c, r))
        return;
    if (!restore_row(&c->grown, &c->rows[c->n_rows - 1]))
        note_fault(c, "a row does not fit those before");
    else if (!has_same_events(r, &c->grown.response, -1))
        note_fault(c, "a response that was restored has other events");
    else
        check_ending(c, c->n_rows % 2 == 1);
}

/* ---- a response that was stored */

struct stored {
    struct buf head, tail, *bodies;
    str *items;
    size_t n;
};

static void stored_fini(struct stored *s)
{
    for (size_t i = 0; i < s->n; i++)
        buf_fini(&s->bodies[i]);
    free(s->bodies);
    free(s->items);
    buf_fini(&s->head);
    buf_fini(&s->tail);
}

static struct stored store(const struct response *r)
{
    struct stored s = {.bodies = calloc(r->n_items + 1, sizeof(*s.bodies)),
                       .items = calloc(r->n_items + 1, sizeof(*s.items))};

    if (s.bodies == NULL || s.items == NULL)
        abort();
    response_object_head(r, &s.head);
    response_object_tail(r, &s.tail);
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->is_hidden)
            continue;
        output_item_write(item, &s.bodies[s.n]);
        s.items[s.n] = buf_str(&s.bodies[s.n]);
        s.n++;
    }
    return s;
}

static void compare(struct restore_check *c, const struct response *r, struct response *read)
{
    struct buf one = {.limit = 0}, other = {.limit = 0};

    response_object(r, &one);
    response_object(read, &other);
    if (!str_eq(buf_str(&one), buf_str(&other)))
        note_fault(c, "a response that was read has another object");
    buf_fini(&one);
    buf_fini(&other);
    if (!cuts_append(&read->cuts, buf_str(&r->cuts.bytes)))
        note_fault(c, "cuts that were made cannot be read");
    for (int64_t after = -1; c->fault == NULL && after < (int64_t)r->cuts.n; after++) {
        if (!has_same_events(r, read, after))
            note_fault(c, "a response that was read has other events");
    }
}

void restore_check_end(struct restore_check *c, const struct response *r)
{
    struct stored s = store(r);
    struct response read;
    struct err e;

    if (response_read(&conf, buf_str(&s.head), buf_str(&s.tail), s.items, s.n, &read, &e) == 0) {
        compare(c, r, &read);
        response_fini(&read);
    } else {
        note_fault(c, "what was stored of a response cannot be read");
    }
    stored_fini(&s);
}
