/* store_idempotency.c -- keys of requests, and what they stand for.
 *
 * A key is first tried to be added: whoever succeeds runs the request. Only when it is there
 * already, what is there is looked at; and when that turns out to be free, it is removed
 * and the key tried anew, since another gateway may be at it as well. */
#include "store/store_idempotency.h"

#include "store/store_idempotency_key.h"
#include "store/store_lock.h"
#include "store/store_lock_watch.h"
#include "store/store_purge.h"
#include "store/store_time.h"

struct held_key {
    struct arena *arena;
    bool is_there, has_same_body;
    str sha256; /* that is asked for */
    int64_t begun_at;
    struct buf locked_by;
    struct store_answer *answer;
};

static int on_key(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct held_key *k = arg;

    k->is_there = true;
    k->has_same_body = str_eq(columns[0].s, k->sha256);
    k->begun_at = columns[1].i;
    buf_append(&k->locked_by, columns[2].s);
    k->answer->response_id = arena_dup(k->arena, columns[3].s);
    k->answer->status = (int)columns[4].i;
    k->answer->body = arena_dup(k->arena, columns[5].s);
    if (!buf_failed(&k->locked_by) &&
        str_is_none(columns[3].s) == str_is_none(k->answer->response_id) &&
        str_is_none(columns[5].s) == str_is_none(k->answer->body))
        return 0;
    return err_set_no_memory(reterr);
}

/* ---- beginning */

static int try_key(struct store_session *s, const struct store_key *key, bool *ret_is_begun,
                   struct err *reterr)
{
    struct buf name = {0};
    uint64_t changed = 0;
    int rc = lock_name_write(s, key->lock, &name, reterr);

    if (rc == 0)
        rc = session_run(s, SQL_KEY_ADD,
                         (const struct sql_value[]){{.s = key->owner},
                                                    {.s = key->path},
                                                    {.s = key->key},
                                                    {.s = key->sha256},
                                                    {.i = store_time_ms(s->time)},
                                                    {.s = buf_str(&name)},
                                                    {.i = store_clock_ms()}},
                         NULL, NULL, &changed, reterr);
    *ret_is_begun = changed > 0;
    if (rc == 0 && changed > 0) {
        lock_note_taken(s, buf_str(&name));
        store_growth_add_key(s->growth, STORE_KEY_BYTES + key->key.len);
    }
    buf_fini(&name);
    return rc;
}

/* Removes a finished key that is too old. */
static int expire_key(struct store_session *s, const struct store_key *key,
                      const struct held_key *k, bool *ret_is_gone, struct err *reterr)
{
    const int64_t before = store_time_ms(s->time) - (int64_t)s->key_age_ms;

    *ret_is_gone = s->key_age_ms > 0 && k->begun_at <= before;
    if (!*ret_is_gone)
        return 0;
    return session_do(s, SQL_KEY_EXPIRE,
                      (const struct sql_value[]){
                          {.s = key->owner}, {.s = key->path}, {.s = key->key}, {.i = before}},
                      reterr);
}

/* Tells about a key whose request runs; *ret_is_gone: it ran in a gateway that is dead. */
static int explain_running(struct store_session *s, const struct held_key *k, bool *ret_is_gone,
                           struct err *reterr)
{
    str name = buf_str(&k->locked_by), instance = str_from_c(s->instance);

    *ret_is_gone = false;
    k->answer->state = STORE_KEY_HERE;
    if (str_starts_with(name, instance)) {
        k->answer->lock = arena_dup(k->arena, str_skip(name, instance.len));
        return str_is_none(k->answer->lock) ? err_set_no_memory(reterr) : 0;
    }
    k->answer->state = STORE_KEY_ELSEWHERE;
    return lock_free_if_dead(s, name, ret_is_gone, reterr);
}

/* Tells what a key stands for that is there; *ret_is_gone: it is there no more. */
static int explain_key(struct store_session *s, const struct store_key *key, struct held_key *k,
                       bool *ret_is_gone, struct err *reterr)
{
    const struct sql_value values[] = {{.s = key->owner}, {.s = key->path}, {.s = key->key}};
    int rc;

    if (session_run(s, SQL_KEY_GET, values, on_key, k, NULL, reterr) == -1)
        return -1;
    *ret_is_gone = !k->is_there;
    if (!k->is_there)
        return 0;
    k->answer->state = STORE_KEY_FINISHED;
    rc = k->locked_by.len > 0 ? explain_running(s, k, ret_is_gone, reterr)
                              : expire_key(s, key, k, ret_is_gone, reterr);
    if (rc == 0 && !k->has_same_body)
        k->answer->state = STORE_KEY_OTHER_BODY;
    return rc;
}

static int begin_key(struct store_session *s, const struct store_key *key, struct arena *a,
                     struct store_answer *ret, struct err *reterr)
{
    bool is_begun, is_gone = true;
    int rc;

    while (is_gone) {
        struct held_key k = {.arena = a, .sha256 = key->sha256, .answer = ret};

        *ret = (struct store_answer){.state = STORE_KEY_BEGUN};
        if (try_key(s, key, &is_begun, reterr) == -1)
            return -1;
        if (is_begun)
            return 0;
        rc = explain_key(s, key, &k, &is_gone, reterr);
        buf_fini(&k.locked_by);
        if (rc == -1)
            return -1;
    }
    return 0;
}

int store_begin_key(struct store_session *s, const struct store_key *key, struct arena *a,
                    struct store_answer *ret, struct err *reterr)
{
    struct store_answer answer;
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (tx_end(&tx, begin_key(s, key, a, &answer, reterr), reterr) == -1)
        return -1;
    *ret = answer;
    return 0;
}

/* ---- ending */

/* Runs a statement on the key of a lock, in a transaction of its own or the one around it. */
static int end_key(struct store_session *s, enum sql_statement which, str lock,
                   struct sql_value *values, struct err *reterr)
{
    struct buf name = {0};
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    rc = lock_name_write(s, lock, &name, reterr);
    values[0].s = buf_str(&name);
    if (rc == 0)
        rc = session_do(s, which, values, reterr);
    buf_fini(&name);
    return tx_end(&tx, rc, reterr);
}

int key_finish_with_response(struct store_session *s, str lock, str id, struct err *reterr)
{
    struct sql_value values[4] = {{.i = 0}, {.s = id}, {.i = 0}, {.s = STR_NONE}};

    return end_key(s, SQL_KEY_FINISH, lock, values, reterr);
}

int store_finish_key(struct store_session *s, str lock, int status, str body, struct err *reterr)
{
    struct sql_value values[4] = {{.i = 0}, {.s = STR_NONE}, {.i = status}, {.s = body}};

    store_growth_add_key(s->growth, body.len);
    return end_key(s, SQL_KEY_FINISH, lock, values, reterr);
}

int store_drop_key(struct store_session *s, str lock, struct err *reterr)
{
    struct sql_value values[1] = {{.i = 0}};

    return end_key(s, SQL_KEY_DROP, lock, values, reterr);
}
