/* store_cuts.c -- cuts go into pieces, and become one again. */
#include "store/store_cuts.h"

#include "base/buf.h"
#include "store/store_time.h"

/* With its numbers a piece has up to 1002 bytes, or SQLite cuts it once more. */
enum { PIECE_BYTES = 960 };

int cuts_add(struct store_session *s, int64_t response, str cuts, struct err *reterr)
{
    const int64_t now_ms = store_time_ms(s->time);

    for (size_t first = 0; first < cuts.len; first += PIECE_BYTES) {
        const str rest = str_skip(cuts, first);
        const struct sql_value values[] = {
            {.i = response},
            {.i = (int64_t)first},
            {.i = now_ms},
            {.s = str_from(rest.p, rest.len < PIECE_BYTES ? rest.len : PIECE_BYTES)}};

        if (session_do(s, SQL_CUTS_ADD, values, reterr) == -1)
            return -1;
    }
    return 0;
}

static int on_piece(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct buf *whole = arg;

    buf_append(whole, columns[0].s);
    return buf_failed(whole) ? err_set_no_memory(reterr) : 0;
}

int cuts_load(struct store_session *s, int64_t response, struct arena *a, str *ret,
              struct err *reterr)
{
    struct buf whole = {0};
    int rc = session_run(s, SQL_CUTS_GET, &(struct sql_value){.i = response}, on_piece, &whole,
                         NULL, reterr);

    *ret = whole.len > 0 ? arena_dup(a, buf_str(&whole)) : STR_NONE;
    if (rc == 0 && whole.len > 0 && str_is_none(*ret))
        rc = err_set_no_memory(reterr);
    buf_fini(&whole);
    return rc;
}

static int on_removed(void *arg, const struct sql_value *columns, struct err *reterr)
{
    uint64_t *bytes = arg;

    (void)reterr;
    *bytes += (uint64_t)columns[0].i;
    return 0;
}

int cuts_remove(struct store_session *s, int64_t response, uint64_t *ret_bytes, struct err *reterr)
{
    *ret_bytes = 0;
    return session_run(s, SQL_CUTS_REMOVE, &(struct sql_value){.i = response}, on_removed,
                       ret_bytes, NULL, reterr);
}
