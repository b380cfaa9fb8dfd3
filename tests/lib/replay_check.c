/* replay_check.c -- a reader, a journal, and at the end a reader from every event on. */
#include "lib/replay_check.h"

#include <string.h>

static const str done = STR_INIT("data: [DONE]\n\n");

void replay_check_init(struct replay_check *c)
{
    *c = (struct replay_check){.fault = NULL};
    replay_init(&c->reader);
    replay_init(&c->journal);
}

void replay_check_fini(struct replay_check *c)
{
    buf_fini(&c->live);
    cuts_fini(&c->whole);
}

static void note_fault(struct replay_check *c, const char *what)
{
    if (c->fault == NULL)
        c->fault = what;
}

static void journal(struct replay_check *c, const struct response *r)
{
    struct journal_row row;

    if (replay_journal(&c->journal, r, buf_str(&r->cuts.bytes), &row) == -1)
        note_fault(c, "the journal does not fit the response");
    journal_row_fini(&row);
}

void replay_check_step(struct replay_check *c, const struct response *r)
{
    const bool had_ended = c->reader.has_ended;

    if (replay_events(&c->reader, r, buf_str(&r->cuts.bytes), UINT64_MAX, -1, r->conf.obfuscation,
                      SIZE_MAX, &c->live) == -1)
        note_fault(c, "the cuts do not fit the response");
    if (c->reader.has_ended && !had_ended)
        buf_append(&c->live, done);
    journal(c, r);
}

void replay_check_ending(struct replay_check *c, const struct response *r)
{
    response_whole_cuts(r, &c->whole);
}

/* Behind the n-th event of a stream. */
static size_t end_of_event(str stream, uint64_t n)
{
    const char *p = stream.p;

    for (; n > 0 && p != NULL; n--) {
        p = memmem(p, (size_t)(stream.p + stream.len - p), "\n\n", 2);
        p = p == NULL ? NULL : p + 2;
    }
    return p == NULL ? stream.len : (size_t)(p - stream.p);
}

/* A replay of the events behind one, in pieces of max bytes or one event. */
static bool replay_behind(const struct response *r, int64_t after, size_t max, struct buf *out)
{
    str cuts = buf_str(&r->cuts.bytes);
    struct buf piece = {.limit = 0};
    struct replay p;
    bool ok = true;

    replay_init(&p);
    while (ok && !p.has_ended) {
        const uint64_t before = p.next;

        ok = replay_events(&p, r, cuts, UINT64_MAX, after, r->conf.obfuscation, max, &piece) == 0 &&
             p.next > before;
        buf_append(out, buf_str(&piece));
        buf_reset(&piece);
    }
    buf_append(out, done);
    buf_fini(&piece);
    return ok;
}

static void check_behind(struct replay_check *c, const struct response *r, int64_t after,
                         size_t max, str stream)
{
    const str expected = str_skip(stream, end_of_event(stream, (uint64_t)(after + 1)));
    struct buf out = {.limit = 0};

    if (!replay_behind(r, after, max, &out) || !str_eq(buf_str(&out), expected))
        note_fault(c, "a replay from an event on is another stream");
    buf_fini(&out);
}

static bool is_same_unpacked(const struct cuts *cuts)
{
    struct buf packed = {.limit = 0};
    struct cuts again = {.n = 0};
    bool is_same;

    cuts_pack(buf_str(&cuts->bytes), &packed);
    is_same = cuts_append(&again, buf_str(&packed)) && again.n == cuts->n &&
              str_eq(buf_str(&again.bytes), buf_str(&cuts->bytes));
    cuts_fini(&again);
    buf_fini(&packed);
    return is_same;
}

void replay_check_end(struct replay_check *c, const struct response *r, str stream)
{
    const int64_t step = 1 + (int64_t)r->cuts.n / 500;

    if (!str_eq(buf_str(&c->whole.bytes), buf_str(&r->cuts.bytes)) || c->whole.n != r->cuts.n)
        note_fault(c, "other cuts than were said before the end");
    if (!is_same_unpacked(&r->cuts))
        note_fault(c, "other cuts when they were packed");
    if (r->cuts.n != r->next_sequence_number || c->reader.next != r->cuts.n)
        note_fault(c, "events are not counted as cuts are");
    if (str_is_none(stream))
        stream = buf_str(&c->live);
    /* all of them, but of a long stream */
    for (int64_t after = -1; c->fault == NULL && after < (int64_t)r->cuts.n; after += step) {
        check_behind(c, r, after, 1, stream);
        check_behind(c, r, after, 200, stream);
        check_behind(c, r, after, SIZE_MAX, stream);
    }
}
