/* store_lock.c -- taking, keeping and giving back the lock of a conversation.
 *
 * All locks of an instance are renewed together, so one that nobody wants any
 * longer must not be forgotten when the store is away: it is remembered until
 * its release has been committed. */
#include "store/store_lock.h"

#include <stdlib.h>
#include <uv.h>

#include "base/budget.h"
#include "base/buf.h"
#include "store/store_conversation.h"
#include "store/store_item.h"
#include "store/store_lock_watch.h"

struct store_locks {
    uv_mutex_t mutex;        /* guards released; nothing else is taken while it is held */
    struct buf released;     /* names, a line for each */
    struct lock_watch watch; /* of who renews */
};

struct store_locks *locks_new(void)
{
    struct store_locks *l = calloc(1, sizeof(*l));

    if (l != NULL && uv_mutex_init(&l->mutex) != 0) {
        free(l);
        l = NULL;
    }
    return l;
}

void locks_free(struct store_locks *l)
{
    if (l == NULL)
        return;
    buf_fini(&l->released);
    lock_watch_fini(&l->watch);
    uv_mutex_destroy(&l->mutex);
    free(l);
}

/* A name that is forgotten stays locked as long as the process lives: it is short, and may take
 * what is left of the memory budget. */
static void remember_release(struct store_locks *l, str instance, str name)
{
    const enum budget_use before = budget_use_for(BUDGET_UNDER_WAY);

    uv_mutex_lock(&l->mutex);
    buf_append(&l->released, instance);
    buf_append(&l->released, name);
    buf_char(&l->released, '\n');
    uv_mutex_unlock(&l->mutex);
    (void)budget_use_for(before);
}

static void releases_copy(struct store_locks *l, struct buf *out)
{
    uv_mutex_lock(&l->mutex);
    buf_append(out, buf_str(&l->released));
    uv_mutex_unlock(&l->mutex);
}

/* Drops the first n bytes, which are the oldest: they have been released. */
static void releases_drop(struct store_locks *l, size_t n)
{
    uv_mutex_lock(&l->mutex);
    buf_consume(&l->released, n);
    if (l->released.len == 0)
        buf_reset(&l->released); /* it may have run out of memory once */
    uv_mutex_unlock(&l->mutex);
}

/* ---- names */

static int name_write(const char *holder, str lock, struct buf *out, struct err *reterr)
{
    buf_c(out, holder);
    buf_append(out, lock);
    if (!buf_failed(out))
        return 0;
    return err_set_no_memory(reterr);
}

int lock_name_write(const struct store_session *s, str lock, struct buf *out, struct err *reterr)
{
    return name_write(s->instance, lock, out, reterr);
}

int work_name_write(const struct store_session *s, str lock, struct buf *out, struct err *reterr)
{
    return name_write(s->worker, lock, out, reterr);
}

void lock_note_taken(struct store_session *s, str name)
{
    if (s->taken.len > 0)
        buf_char(&s->taken, '\n');
    buf_append(&s->taken, name);
}

int lock_release(struct store_session *s, str lock, struct err *reterr)
{
    struct buf name = {0};
    int rc = lock_name_write(s, lock, &name, reterr);

    if (rc == 0)
        rc = session_do(s, SQL_LOCK_RELEASE, &(struct sql_value){.s = buf_str(&name)}, reterr);
    buf_fini(&name);
    return rc;
}

void lock_set_no_conversation(struct err *e, str id)
{
    err_set_param(e, ERR_NOT_FOUND, "conversation", "Conversation with id '%.*s' not found.",
                  STR_ARG(id));
}

static void set_locked(struct err *e, str id)
{
    err_set_param(e, ERR_CONVERSATION_LOCKED, "conversation",
                  "Conversation with id '%.*s' is answering another request: try again later.",
                  STR_ARG(id));
}

int lock_check(struct store_session *s, int64_t seq, str id, str lock, struct err *reterr)
{
    struct buf name = {0};
    struct found foreign = {.is_there = false};
    int rc = lock_name_write(s, lock, &name, reterr);

    if (rc == 0) {
        const struct sql_value values[] = {{.i = seq}, {.s = buf_str(&name)}};

        rc = session_find(s, SQL_LOCK_IS_FOREIGN, values, &foreign, reterr);
    }
    buf_fini(&name);
    if (rc == 0 && foreign.is_there) {
        set_locked(reterr, id);
        rc = -1;
    }
    return rc;
}

/* ---- for a response */

struct holding {
    bool is_there; /* the conversation */
    bool is_locked;
    struct buf lock;
};

static int on_holding(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct holding *h = arg;

    h->is_there = true;
    h->is_locked = !str_is_none(columns[0].s);
    if (h->is_locked)
        buf_append(&h->lock, columns[0].s);
    if (!buf_failed(&h->lock))
        return 0;
    return err_set_no_memory(reterr);
}

/* Explains why a lock could not be taken. *ret_is_freed: it is not there any more, since it was
 * that of a dead gateway or has just been given back. */
static int explain_not_taken(struct store_session *s, str owner, str id, bool *ret_is_freed,
                             struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}};
    struct holding h = {.is_there = false};
    int rc = session_run(s, SQL_LOCK_OF, values, on_holding, &h, NULL, reterr);

    *ret_is_freed = !h.is_locked;
    if (rc == 0 && !h.is_there) {
        lock_set_no_conversation(reterr, id);
        rc = -1;
    }
    if (rc == 0 && h.is_locked)
        rc = lock_free_if_dead(s, buf_str(&h.lock), ret_is_freed, reterr);
    buf_fini(&h.lock);
    if (rc == 0 && !*ret_is_freed) {
        set_locked(reterr, id);
        rc = -1;
    }
    return rc;
}

static int release_all(struct store_session *s, str lines, struct err *reterr)
{
    while (lines.len > 0) {
        const struct sql_value name = {.s = {lines.p, str_find_char(lines, '\n')}};

        if (session_do(s, SQL_LOCK_RELEASE, &name, reterr) == -1 ||
            session_do(s, SQL_WORK_RELEASE, &name, reterr) == -1 ||
            session_do(s, SQL_KEY_DROP, &name, reterr) == -1)
            return -1;
        lines = str_skip(lines, name.s.len + 1);
    }
    return 0;
}

static int take_as(struct store_session *s, str owner, str id, str name, int64_t *ret_seq,
                   struct err *reterr)
{
    const struct sql_value values[] = {
        {.s = id}, {.s = owner}, {.s = name}, {.i = store_clock_ms() + (int64_t)s->lock_ms}};
    struct found row;
    bool is_freed = true;

    while (is_freed) {
        if (session_find(s, SQL_LOCK_TAKE, values, &row, reterr) == -1)
            return -1;
        if (row.is_there)
            break;
        if (explain_not_taken(s, owner, id, &is_freed, reterr) == -1)
            return -1;
    }
    lock_note_taken(s, name);
    *ret_seq = row.v[0];
    return 0;
}

/* Releases what is still to be released: it must not be in the way of who comes next. */
static int release_waiting(struct store_session *s, struct err *reterr)
{
    struct buf lines = {0};
    int rc;

    if (s->locks != NULL)
        releases_copy(s->locks, &lines);
    rc = release_all(s, buf_str(&lines), reterr);
    buf_fini(&lines);
    return rc;
}

static int take_lock(struct store_session *s, str owner, str id, str lock, int64_t *ret_seq,
                     struct err *reterr)
{
    struct buf name = {0};
    int rc = -1;

    if (!id_is_possible(id))
        lock_set_no_conversation(reterr, id);
    else if (lock_name_write(s, lock, &name, reterr) == 0)
        rc = take_as(s, owner, id, buf_str(&name), ret_seq, reterr);
    buf_fini(&name);
    return rc;
}

int store_lock_conversation(struct store_session *s, str owner, str id, str lock, struct arena *a,
                            struct store_history *ret, struct err *reterr)
{
    struct store_items items = {0};
    int64_t seq;
    struct tx tx;
    int rc = -1;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    if (release_waiting(s, reterr) == 0 && take_lock(s, owner, id, lock, &seq, reterr) == 0)
        rc = conversation_context(s, seq, a, &items, reterr);
    rc = tx_end(&tx, rc, reterr);
    if (rc == 0)
        *ret = (struct store_history){.items = items};
    return rc;
}

int store_unlock_conversation(struct store_session *s, str lock, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, lock_release(s, lock, reterr), reterr);
}

/* ---- releasing later */

void locks_release_later(const struct store_session *s, str lock)
{
    remember_release(s->locks, str_from_c(s->instance), lock);
}

void work_release_later(const struct store_session *s, str lock)
{
    remember_release(s->locks, str_from_c(s->worker), lock);
}

void locks_doubt(struct store_session *s)
{
    if (s->taken.len > 0)
        remember_release(s->locks, STR(""), buf_str(&s->taken));
}

/* ---- renewing */

static int renew_all(struct store_session *s, str released, uint64_t interval_ms,
                     struct err *reterr)
{
    const int64_t sign = store_clock_ms() + (int64_t)s->lock_ms;
    const struct sql_value mine[] = {
        {.s = str_from_c(s->instance)}, {.i = (int64_t)strlen(s->instance)}, {.i = sign}};
    const struct sql_value work[] = {
        {.s = str_from_c(s->worker)}, {.i = (int64_t)strlen(s->worker)}, {.i = sign}};
    struct tx tx;
    int rc;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    rc = release_all(s, released, reterr);
    if (rc == 0)
        rc = session_do(s, SQL_LOCK_RENEW, mine, reterr);
    if (rc == 0)
        rc = session_do(s, SQL_WORK_RENEW, work, reterr);
    if (rc == 0)
        rc = session_do(s, SQL_KEYS_RENEW, mine, reterr);
    if (rc == 0)
        rc = lock_watch_look(&s->locks->watch, s, interval_ms, reterr);
    return tx_end(&tx, rc, reterr);
}

/* Locks that are being released stay in the list until that is committed, so that whoever takes a
 * lock meanwhile knows of it. */
int locks_renew(struct store_session *s, uint64_t interval_ms, struct err *reterr)
{
    struct buf released = {0};
    int rc;

    releases_copy(s->locks, &released);
    rc = renew_all(s, buf_str(&released), interval_ms, reterr);
    lock_watch_end(&s->locks->watch, rc);
    if (rc == 0)
        releases_drop(s->locks, released.len);
    buf_fini(&released);
    return rc;
}
