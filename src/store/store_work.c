/* store_work.c -- accepting responses, and giving them to whoever runs them. */
#include "store/store_work.h"

#include "store/store_idempotency_key.h"
#include "store/store_lock.h"
#include "store/store_response.h"
#include "store/store_work_leave.h"

/* ---- accepting */

/* Refuses one more when as much is queued as may be. */
static int check_room(struct store_session *s, str owner, const struct store_work_limits *limits,
                      struct err *reterr)
{
    enum { RETRY_AFTER_S = 10 };
    const struct sql_value value = {.s = owner};
    struct found n;
    bool is_full;

    if (session_find(s, SQL_WORK_COUNT, &value, &n, reterr) == -1)
        return -1;
    is_full = limits->most != 0 && (uint64_t)n.v[0] >= limits->most;
    if (!is_full && (limits->most_of_owner == 0 || (uint64_t)n.v[1] < limits->most_of_owner))
        return 0;
    err_set(reterr, ERR_RATE_LIMIT,
            is_full ? "Too many background responses are queued: try again later."
                    : "Too many of your background responses are queued: wait for some of them, or "
                      "cancel them, and try again.");
    if (reterr != NULL)
        reterr->retry_after_s = RETRY_AFTER_S;
    return -1;
}

int store_count_queued(struct store_session *s, uint64_t *ret, struct err *reterr)
{
    const struct sql_value nobody = {.s = STR("")};
    struct found n;

    if (session_find(s, SQL_WORK_COUNT, &nobody, &n, reterr) == -1)
        return -1;
    *ret = (uint64_t)n.v[0];
    return 0;
}

int store_count_work(struct store_session *s, uint64_t *ret_queued, uint64_t *ret_running,
                     struct err *reterr)
{
    struct found n;

    if (session_find(s, SQL_WORK_STATES, NULL, &n, reterr) == -1)
        return -1;
    *ret_queued = (uint64_t)n.v[0];
    *ret_running = (uint64_t)n.v[1];
    return 0;
}

/* Gives the lock of its conversation to the work: no holder owns it, so no watch frees it. */
static int give_lock(struct store_session *s, const struct store_response *r, int64_t history,
                     struct err *reterr)
{
    struct buf name = {0};
    int rc = 0;

    if (str_is_none(r->conversation_id) || !str_is_none(r->parent_id))
        return 0;
    rc = work_conversation_name(r->id, &name, reterr);
    if (rc == 0)
        rc = session_do(s, SQL_LOCK_GIVE,
                        (const struct sql_value[]){{.i = history}, {.s = buf_str(&name)}}, reterr);
    buf_fini(&name);
    return rc;
}

static int accept_work(struct store_session *s, str owner, const struct store_response *r,
                       const struct store_request *request, const struct store_work_limits *limits,
                       struct err *reterr)
{
    struct store_response queued = *r;
    struct response_row row;

    queued.status = STORE_QUEUED;
    queued.cuts = STR_NONE;
    if (check_room(s, owner, limits, reterr) == -1 ||
        response_add(s, owner, &queued, request->body.len, &row, reterr) == -1 ||
        give_lock(s, r, row.history, reterr) == -1 ||
        session_do(s, SQL_WORK_ADD,
                   (const struct sql_value[]){{.i = row.seq},
                                              {.i = row.history},
                                              {.s = owner},
                                              {.i = (int64_t)(row.bytes + request->body.len)},
                                              {.i = request->flags}},
                   reterr) == -1 ||
        session_do(s, SQL_JOURNAL_ADD,
                   (const struct sql_value[]){
                       {.i = row.seq}, {.i = -1}, {.i = 0}, {.i = 0}, {.s = request->body}},
                   reterr) == -1)
        return -1;
    if (str_is_none(r->idempotency_lock))
        return 0;
    return key_finish_with_response(s, r->idempotency_lock, r->id, reterr);
}

int store_accept_work(struct store_session *s, str owner, const struct store_response *r,
                      const struct store_request *request, const struct store_work_limits *limits,
                      struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, accept_work(s, owner, r, request, limits, reterr), reterr);
}

/* ---- claiming */

struct claimable {
    int64_t response, n_claims; /* response 0: there is none */
    struct buf lock;            /* of the claim: the id, a dot, how often it was claimed */
};

static int on_claimable(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct claimable *c = arg;

    c->response = columns[0].i;
    c->n_claims = columns[2].i;
    buf_append(&c->lock, columns[1].s);
    buf_char(&c->lock, '.');
    buf_int(&c->lock, c->n_claims + 1);
    return buf_failed(&c->lock) ? err_set_no_memory(reterr) : 0;
}

/* The work that is next, as one of several queries finds it. */
struct claim {
    enum sql_statement which, else_which; /* the second when the first finds none */
    const struct sql_value *values;
};

static int find_claimable(struct store_session *s, const struct claim *claim, struct claimable *c,
                          struct err *reterr)
{
    c->response = 0;
    buf_reset(&c->lock);
    if (session_run(s, claim->which, claim->values, on_claimable, c, NULL, reterr) == -1)
        return -1;
    if (c->response != 0 || claim->else_which == claim->which)
        return 0;
    return session_run(s, claim->else_which, claim->values, on_claimable, c, NULL, reterr);
}

/* Takes what was found, unless another gateway was faster. */
static int try_claim(struct store_session *s, const struct claimable *c, bool *ret_is_ours,
                     struct err *reterr)
{
    struct buf name = {0};
    uint64_t changed = 0;
    int rc = work_name_write(s, buf_str(&c->lock), &name, reterr);

    if (rc == 0)
        rc = session_run(s, SQL_WORK_CLAIM,
                         (const struct sql_value[]){{.i = c->response},
                                                    {.s = buf_str(&name)},
                                                    {.i = store_clock_ms()},
                                                    {.i = c->n_claims}},
                         NULL, NULL, &changed, reterr);
    *ret_is_ours = changed > 0;
    if (rc == 0 && changed > 0)
        lock_note_taken(s, buf_str(&name));
    buf_fini(&name);
    return rc;
}

struct get {
    struct arena *arena;
    struct store_work *work;
};

static int on_work(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct get *g = arg;
    struct store_work *w = g->work;

    w->id = arena_dup(g->arena, columns[0].s);
    w->owner = arena_dup(g->arena, columns[1].s);
    w->created_at = columns[2].i;
    w->parent_id = arena_dup(g->arena, columns[3].s);
    w->conversation_id = arena_dup(g->arena, columns[4].s);
    w->request =
        (struct store_request){.flags = columns[5].i, .body = arena_dup(g->arena, columns[6].s)};
    w->is_cancelled = columns[7].i != 0;
    if (!str_is_none(w->id) && !str_is_none(w->owner) && !str_is_none(w->request.body))
        return 0;
    return err_set_no_memory(reterr);
}

static int claim_work(struct store_session *s, const struct claim *claim, struct claimable *c,
                      struct arena *a, struct store_work *ret, struct err *reterr)
{
    struct get g = {.arena = a, .work = ret};
    bool is_ours;

    do {
        if (find_claimable(s, claim, c, reterr) == -1)
            return -1;
        if (c->response == 0)
            return 0;
        if (try_claim(s, c, &is_ours, reterr) == -1)
            return -1;
    } while (!is_ours);
    ret->n_claims = c->n_claims + 1;
    ret->lock = arena_dup(a, buf_str(&c->lock));
    if (str_is_none(ret->lock))
        return err_set_no_memory(reterr);
    return session_run(s, SQL_WORK_GET, &(struct sql_value){.i = c->response}, on_work, &g, NULL,
                       reterr);
}

static int claim_one(struct store_session *s, const struct claim *claim, struct arena *a,
                     struct store_work *ret, bool *ret_is_found, struct err *reterr)
{
    struct claimable c = {.response = 0};
    struct store_work work = {.id = STR_NONE};
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    rc = tx_end(&tx, claim_work(s, claim, &c, a, &work, reterr), reterr);
    buf_fini(&c.lock);
    if (rc == -1)
        return -1;
    *ret_is_found = !str_is_none(work.id);
    if (*ret_is_found)
        *ret = work;
    return 0;
}

int store_claim_work(struct store_session *s, str last_owner, struct arena *a,
                     struct store_work *ret, bool *ret_is_found, struct err *reterr)
{
    const struct sql_value value = {.s = last_owner};
    struct claim claim = {SQL_WORK_BEHIND, SQL_WORK_FIRST, &value};

    if (str_is_none(last_owner))
        claim.which = SQL_WORK_FIRST;
    return claim_one(s, &claim, a, ret, ret_is_found, reterr);
}

int store_take_lost_work(struct store_session *s, struct arena *a, struct store_work *ret,
                         bool *ret_is_found, struct err *reterr)
{
    const struct claim claim = {SQL_WORK_LOST, SQL_WORK_LOST, NULL};

    return claim_one(s, &claim, a, ret, ret_is_found, reterr);
}
