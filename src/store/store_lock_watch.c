/* store_lock_watch.c -- looking at the locks of others. */
#include "store/store_lock_watch.h"

#include <stdlib.h>
#include <string.h>

#include "ev/log.h"
#include "store/store_queue.h"

struct watched_holder {
    struct watched_holder *next;
    int64_t sign;      /* of life: the greatest of its locks */
    int64_t last_sign; /* as of the look before */
    uint64_t since_ms; /* when its sign was first seen to stand still */
    bool is_seen, is_new;
    size_t name_len;
    char name[];
};

static str watched_name(const struct watched_holder *h)
{
    return str_from(h->name, h->name_len);
}

void lock_watch_fini(struct lock_watch *w)
{
    while (w->first != NULL) {
        struct watched_holder *next = w->first->next;

        free(w->first);
        w->first = next;
    }
}

/* Finds a holder, or adds it. NULL when out of memory: then it is watched from a later look on. */
static struct watched_holder *holder_find(struct lock_watch *w, str name)
{
    struct watched_holder *h;

    for (h = w->first; h != NULL; h = h->next) {
        if (str_eq(watched_name(h), name))
            return h;
    }
    h = malloc(sizeof(*h) + name.len);
    if (h == NULL)
        return NULL;
    *h = (struct watched_holder){.next = w->first, .is_new = true, .name_len = name.len};
    memcpy(h->name, name.p, name.len);
    w->first = h;
    return h;
}

static int on_lock(void *arg, const struct sql_value *columns, struct err *reterr)
{
    str name = holder_name_of(columns[0].s);
    struct watched_holder *h = str_is_none(name) ? NULL : holder_find(arg, name);

    (void)reterr;
    if (h == NULL)
        return 0;
    if (!h->is_seen || h->sign < columns[1].i)
        h->sign = columns[1].i;
    h->is_seen = true;
    return 0;
}

static int read_locks(struct lock_watch *w, struct store_session *s, struct err *reterr)
{
    str instance = str_from_c(s->instance), worker = str_from_c(s->worker);
    const struct sql_value mine[] = {
        {.s = instance}, {.i = (int64_t)instance.len}, {.s = worker}, {.i = (int64_t)worker.len}};

    for (struct watched_holder *h = w->first; h != NULL; h = h->next)
        h->is_seen = false;
    return session_run(s, SQL_LOCKS_OF_OTHERS, mine, on_lock, w, NULL, reterr);
}

/* Drops holders that hold nothing any more. */
static void drop_unseen(struct lock_watch *w)
{
    for (struct watched_holder **at = &w->first; *at != NULL;) {
        struct watched_holder *h = *at;

        if (h->is_seen) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        free(h);
    }
}

static int free_locks(struct store_session *s, str holder, const char *why, struct err *reterr)
{
    const struct sql_value values[] = {{.s = holder}, {.i = (int64_t)holder.len}};
    uint64_t n = 0, n_work = 0, n_keys = 0;

    if (session_run(s, SQL_LOCKS_FREE, values, NULL, NULL, &n, reterr) == -1 ||
        session_run(s, SQL_WORK_FREE, values, NULL, NULL, &n_work, reterr) == -1 ||
        session_run(s, SQL_KEYS_FREE, values, NULL, NULL, &n_keys, reterr) == -1)
        return -1;
    if (n + n_work + n_keys > 0)
        log_line(LOG_INFO, "locks_freed",
                 (struct log_field[]){LOG_INT("conversations", n), LOG_INT("responses", n_work),
                                      LOG_INT("keys", n_keys), LOG_STR("why", str_from_c(why)),
                                      LOG_END});
    return 0;
}

/* Takes a holder's sign as of this look. False while it may live. */
static bool has_stood_still(struct watched_holder *h, uint64_t now_ms, bool is_anew)
{
    bool has_moved = h->is_new || h->sign != h->last_sign;

    h->is_new = false;
    h->last_sign = h->sign;
    if (has_moved || is_anew)
        h->since_ms = now_ms;
    return now_ms - h->since_ms >= holder_lease_ms(watched_name(h)) && !has_moved && !is_anew;
}

static int judge_holder(struct watched_holder *h, struct store_session *s, uint64_t now_ms,
                        bool is_anew, struct err *reterr)
{
    if (holder_is_dead(watched_name(h)))
        return free_locks(s, watched_name(h), "its process has ended", reterr);
    if (has_stood_still(h, now_ms, is_anew))
        return free_locks(s, watched_name(h), "its gateway gives no sign of life", reterr);
    return 0;
}

int lock_watch_look(struct lock_watch *w, struct store_session *s, uint64_t interval_ms,
                    struct err *reterr)
{
    uint64_t now_ms = store_monotonic_ms(); /* the transaction may have waited to begin */
    bool is_anew = w->looked_at_ms == 0 || now_ms - w->looked_at_ms > 2 * interval_ms;

    w->looked_at_ms = now_ms;
    if (read_locks(w, s, reterr) == -1)
        return -1;
    drop_unseen(w);
    for (struct watched_holder *h = w->first; h != NULL; h = h->next) {
        if (judge_holder(h, s, now_ms, is_anew, reterr) == -1)
            return -1;
    }
    return 0;
}

void lock_watch_end(struct lock_watch *w, int rc)
{
    if (rc == -1)
        w->looked_at_ms = 0;
}

int lock_free_if_dead(struct store_session *s, str lock, bool *ret_is_freed, struct err *reterr)
{
    str holder = holder_name_of(lock);

    *ret_is_freed = holder_is_dead(holder);
    return *ret_is_freed ? free_locks(s, holder, "its process has ended", reterr) : 0;
}
