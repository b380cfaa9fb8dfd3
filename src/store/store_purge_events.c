/* store_purge_events.c -- keeping the limits of events and of idempotency keys.
 *
 * Events go alone: their response can be read afterwards, but not its stream. They are counted apart
 * from the rest, so those of many responses do not cost anybody a conversation. The journal of a
 * response under way is not touched. */
#include "store/store_cuts.h"
#include "store/store_history.h"
#include "store/store_purge.h"

enum { STREAMS_AT_ONCE = 64 };

struct stream {
    int64_t response, history;
};

struct streams {
    struct stream v[STREAMS_AT_ONCE];
    size_t n;
};

static int on_stream(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct streams *s = arg;

    (void)reterr;
    if (s->n < STREAMS_AT_ONCE)
        s->v[s->n++] = (struct stream){columns[0].i, columns[1].i};
    return 0;
}

/* The history is changed first, as everywhere; it may have gone meanwhile, and the response with it. */
static int remove_stream(struct store_session *s, const struct stream *stream, uint64_t *ret_bytes,
                         struct err *reterr)
{
    const struct amount none = {0};
    bool is_needed;

    if (history_shrink(s, stream->history, none, &is_needed, reterr) == -1 ||
        cuts_remove(s, stream->response, ret_bytes, reterr) == -1)
        return -1;
    return history_shrink(s, stream->history, (struct amount){.cuts_bytes = *ret_bytes}, &is_needed,
                          reterr);
}

struct purge {
    struct store_session *s;
    size_t left;
    struct store_purged *purged;
};

/* Removes what was stored before a time, until *excess_bytes are gone; NULL: all of it. */
static int remove_streams(struct purge *p, int64_t before_ms, uint64_t *excess_bytes,
                          struct err *reterr)
{
    struct streams found = {.n = STREAMS_AT_ONCE};

    while (p->left > 0 && found.n == STREAMS_AT_ONCE) {
        found.n = 0;
        if (session_run(p->s, SQL_CUTS_OLDEST,
                        (const struct sql_value[]){{.i = before_ms}, {.i = STREAMS_AT_ONCE}},
                        on_stream, &found, NULL, reterr) == -1)
            return -1;
        for (size_t i = 0; i < found.n && p->left > 0; i++) {
            uint64_t bytes;

            if (excess_bytes != NULL && *excess_bytes == 0)
                return 0;
            if (remove_stream(p->s, &found.v[i], &bytes, reterr) == -1)
                return -1;
            p->left--;
            p->purged->n_streams++;
            p->purged->cuts_bytes += bytes;
            if (excess_bytes != NULL)
                *excess_bytes -= bytes < *excess_bytes ? bytes : *excess_bytes;
        }
    }
    return 0;
}

/* Removes what is too much. It is counted again until nothing is. */
static int purge_excess(struct purge *p, uint64_t most_bytes, struct err *reterr)
{
    struct found total;
    uint64_t bytes, excess;

    if (session_find(p->s, SQL_CUTS_TOTAL, NULL, &total, reterr) == -1)
        return -1;
    bytes = (uint64_t)total.v[0];
    excess = bytes > most_bytes ? bytes - most_bytes : 0;
    if (excess > 0 && remove_streams(p, INT64_MAX, &excess, reterr) == -1)
        return -1;
    if (excess == 0)
        store_growth_note_count(p->s->growth);
    return 0;
}

static int purge_streams(struct purge *p, const struct store_limits *limits, int64_t now_ms,
                         struct err *reterr)
{
    const int64_t age_ms = (int64_t)limits->max_cuts_age_s * 1000;

    if (age_ms > 0 && age_ms < now_ms && remove_streams(p, now_ms - age_ms, NULL, reterr) == -1)
        return -1;
    if (limits->max_cuts_bytes == 0 || !store_growth_wants_count(p->s->growth, limits))
        return 0;
    return purge_excess(p, limits->max_cuts_bytes, reterr);
}

static int purge_old_keys(struct store_session *s, const struct store_limits *limits,
                          int64_t now_ms, size_t most, uint64_t *ret_n, struct err *reterr)
{
    const int64_t age_ms = (int64_t)limits->max_key_age_s * 1000;

    *ret_n = 0;
    if (age_ms == 0)
        return 0;
    return session_run(s, SQL_KEYS_EXPIRE,
                       (const struct sql_value[]){{.i = now_ms - age_ms}, {.i = (int64_t)most}},
                       NULL, NULL, ret_n, reterr);
}

/* Keys take a part of the bytes that the store may have: else the answers to them would be without bound. */
static int purge_keys_above(struct store_session *s, const struct store_limits *limits,
                            uint64_t *ret_n, struct err *reterr)
{
    const struct sql_value values[] = {{.i = (int64_t)store_most_key_bytes(limits)},
                                       {.i = STORE_KEY_BYTES}};

    *ret_n = 0;
    if (limits->max_bytes == 0 || !store_growth_wants_keys(s->growth, limits))
        return 0;
    if (session_run(s, SQL_KEYS_ABOVE, values, NULL, NULL, ret_n, reterr) == -1)
        return -1;
    store_growth_note_keys(s->growth);
    return 0;
}

int purge_events(struct store_session *s, const struct store_limits *limits, int64_t now_ms,
                 size_t most, struct store_purged *purged, struct err *reterr)
{
    struct purge p = {.s = s, .left = most, .purged = purged};
    uint64_t n_old, n_above;

    if (purge_streams(&p, limits, now_ms, reterr) == -1 ||
        purge_old_keys(s, limits, now_ms, most, &n_old, reterr) == -1 ||
        purge_keys_above(s, limits, &n_above, reterr) == -1)
        return -1;
    purged->n_keys += n_old + n_above;
    if (p.left == 0 || n_old >= most)
        purged->has_more = true;
    return 0;
}
