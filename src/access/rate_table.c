/* rate_table.c -- a hash table of users, chained, and a list of them in the order in which they asked last.
 *
 * The hash has a random seed, since clients choose their addresses. A user of whom something runs does not
 * move and does not go, so that whoever has taken of it may keep a pointer. */
#include "access/rate_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

#include "access/rate_limit.h"
#include "base/budget.h"
#include "base/str_map.h"
#include "ev/loop.h"

enum { SLOTS = 16384, TRY_AGAIN_MS = 1000 };

struct rate_user {
    TAILQ_ENTRY(rate_user) by_use; /* who asked last is the last */
    struct rate_user *next;        /* in its slot */
    struct rate_bucket requests, tokens;
    uint64_t n_running;
    size_t slot, n_name;
    char name[];
};

TAILQ_HEAD(users, rate_user);

struct rate_table {
    uv_mutex_t lock; /* guards what follows; nothing else is taken while it is held */
    uint64_t seed;
    size_t n_users, max_users;
    struct users by_use;
    struct rate_user *slots[SLOTS];
};

struct rate_table *rate_table_new(size_t max_users, struct err *reterr)
{
    struct rate_table *t = calloc(1, sizeof(*t));

    if (t == NULL || uv_mutex_init(&t->lock) != 0) {
        free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    t->max_users = max_users;
    TAILQ_INIT(&t->by_use);
    random_fill(NULL, &t->seed, sizeof(t->seed));
    return t;
}

/* ---- users; under the lock */

static size_t user_bytes(const struct rate_user *u)
{
    return sizeof(*u) + u->n_name;
}

static void free_user(struct rate_table *t, struct rate_user *u)
{
    struct rate_user **at = &t->slots[u->slot];

    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    TAILQ_REMOVE(&t->by_use, u, by_use);
    t->n_users--;
    budget_free(u, user_bytes(u));
}

void rate_table_free(struct rate_table *t)
{
    if (t == NULL)
        return;
    while (!TAILQ_EMPTY(&t->by_use))
        free_user(t, TAILQ_FIRST(&t->by_use));
    uv_mutex_destroy(&t->lock);
    free(t);
}

static size_t slot_of(const struct rate_table *t, str name)
{
    return str_map_hash(t->seed, name) % SLOTS;
}

static struct rate_user *find_user(const struct rate_table *t, str name)
{
    for (struct rate_user *u = t->slots[slot_of(t, name)]; u != NULL; u = u->next) {
        if (str_eq(str_from(u->name, u->n_name), name))
            return u;
    }
    return NULL;
}

/* Makes room for one more. Who is looked at in vain goes to the end of the list, so that the next look does
 * not begin with the same ones. */
static void forget_oldest(struct rate_table *t)
{
    enum { LOOKS = 16 };

    for (int i = 0; i < LOOKS && t->n_users >= t->max_users; i++) {
        struct rate_user *u = TAILQ_FIRST(&t->by_use);

        if (u->n_running == 0) {
            free_user(t, u);
            continue;
        }
        TAILQ_REMOVE(&t->by_use, u, by_use);
        TAILQ_INSERT_TAIL(&t->by_use, u, by_use);
    }
}

static struct rate_user *add_user(struct rate_table *t, str name)
{
    struct rate_user *u;

    forget_oldest(t);
    u = budget_alloc(sizeof(*u) + name.len, sizeof(*u) + name.len);
    if (u == NULL)
        return NULL;
    u->n_name = name.len;
    memcpy(u->name, name.p, name.len);
    u->slot = slot_of(t, name);
    u->next = t->slots[u->slot];
    t->slots[u->slot] = u;
    TAILQ_INSERT_TAIL(&t->by_use, u, by_use);
    t->n_users++;
    return u;
}

static void refill_user(struct rate_user *u, const struct rate_limits *limits, uint64_t now_ms)
{
    rate_bucket_refill(&u->requests, limits->rpm, now_ms);
    rate_bucket_refill(&u->tokens, limits->tpm, now_ms);
}

/* The user, up to date and used last; NULL when out of memory. */
static struct rate_user *use_user(struct rate_table *t, str name, const struct rate_limits *limits,
                                  uint64_t now_ms)
{
    struct rate_user *u = find_user(t, name);

    if (u == NULL)
        u = add_user(t, name);
    if (u == NULL)
        return NULL;
    TAILQ_REMOVE(&t->by_use, u, by_use);
    TAILQ_INSERT_TAIL(&t->by_use, u, by_use);
    refill_user(u, limits, now_ms);
    return u;
}

/* ---- answers; under the lock */

static struct rate_view view_of(const struct rate_bucket *b)
{
    return (struct rate_view){b->limit, rate_bucket_left(b), rate_bucket_full_ms(b)};
}

/* What the user has used, as of its last refill. */
static void note_use(struct rate_answer *a, const struct rate_user *u)
{
    a->requests = view_of(&u->requests);
    a->tokens = view_of(&u->tokens);
    a->n_running = u->n_running;
}

/* The first limit that does not let the request in. */
static enum rate_verdict judge_request(const struct rate_user *u, const struct rate_limits *limits,
                                       uint64_t tokens, uint64_t *ret_wait_ms)
{
    *ret_wait_ms = rate_bucket_wait_ms(&u->requests, 1);
    if (*ret_wait_ms > 0)
        return RATE_OUT_OF_REQUESTS;
    *ret_wait_ms = rate_bucket_wait_ms(&u->tokens, tokens);
    if (*ret_wait_ms > 0)
        return RATE_OUT_OF_TOKENS;
    *ret_wait_ms = TRY_AGAIN_MS;
    if (limits->concurrency > 0 && u->n_running >= limits->concurrency)
        return RATE_TOO_MANY_AT_ONCE;
    return RATE_TAKEN;
}

static struct rate_answer take_request(struct rate_user *u, const struct rate_limits *limits,
                                       uint64_t tokens)
{
    struct rate_answer a = {.verdict = RATE_NO_MEMORY};

    if (u == NULL)
        return a;
    a.verdict = judge_request(u, limits, tokens, &a.wait_ms);
    if (a.verdict == RATE_TAKEN) {
        rate_bucket_take(&u->requests, 1);
        rate_bucket_take(&u->tokens, (int64_t)tokens);
        u->n_running++;
        a.user = u;
    }
    note_use(&a, u);
    return a;
}

/* ---- for all threads */

bool rate_limits_are_any(const struct rate_limits *limits)
{
    return limits->rpm > 0 || limits->tpm > 0 || limits->concurrency > 0;
}

struct rate_answer rate_table_take(struct rate_table *t, str user, const struct rate_limits *limits,
                                   uint64_t tokens, uint64_t now_ms)
{
    struct rate_answer a = {.verdict = RATE_TAKEN};

    if (!rate_limits_are_any(limits))
        return a;
    uv_mutex_lock(&t->lock);
    a = take_request(use_user(t, user, limits, now_ms), limits,
                     tokens < RATE_MOST ? tokens : RATE_MOST);
    uv_mutex_unlock(&t->lock);
    return a;
}

/* Whoever has no place has used nothing. */
struct rate_answer rate_table_look(struct rate_table *t, str user, const struct rate_limits *limits,
                                   uint64_t now_ms)
{
    struct rate_user fresh = {.n_running = 0}, *u;
    struct rate_answer a = {.verdict = RATE_TAKEN};

    uv_mutex_lock(&t->lock);
    u = find_user(t, user);
    u = u == NULL ? &fresh : u;
    refill_user(u, limits, now_ms);
    note_use(&a, u);
    uv_mutex_unlock(&t->lock);
    return a;
}

struct rate_user *rate_table_join(struct rate_table *t, str user, const struct rate_limits *limits,
                                  uint64_t now_ms)
{
    struct rate_user *u;

    if (!rate_limits_are_any(limits))
        return NULL;
    uv_mutex_lock(&t->lock);
    u = use_user(t, user, limits, now_ms);
    if (u != NULL)
        u->n_running++;
    uv_mutex_unlock(&t->lock);
    return u;
}

void rate_table_end(struct rate_table *t, struct rate_user *user, int64_t more_tokens,
                    uint64_t now_ms)
{
    uv_mutex_lock(&t->lock);
    rate_bucket_refill(&user->tokens, user->tokens.limit, now_ms);
    rate_bucket_take(&user->tokens, more_tokens);
    user->n_running--;
    uv_mutex_unlock(&t->lock);
}

size_t rate_table_users(struct rate_table *t)
{
    size_t n;

    uv_mutex_lock(&t->lock);
    n = t->n_users;
    uv_mutex_unlock(&t->lock);
    return n;
}
