/* answer_memory.c -- a table of answers, and a list of the kept ones, oldest first.
 *
 * An answer is taken off the table when it is forgotten, and freed when its last reference is given
 * back. */
#include "memory/answer_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/str_map.h"
#include "ev/loop.h"

enum { N_ROWS = 1024, HEAD_BYTES = 4096 };

struct answer {
    struct answer_memory *memory;
    struct answer_key key;
    bool is_kept;    /* it is in the list as well as in the table */
    bool is_lost;    /* there was no room: it is recorded no more */
    unsigned n_refs; /* of readers, and one of the table */
    uint64_t kept_ms;
    size_t counted; /* of the memory's bytes */
    int status;
    struct http_header headers[ANSWER_MAX_HEADERS]; /* in head */
    size_t n_headers;
    struct arena head;
    struct buf body;
    LIST_ENTRY(answer) in_row;
    TAILQ_ENTRY(answer) in_age;
};

LIST_HEAD(row, answer);
TAILQ_HEAD(ages, answer);

struct answer_memory {
    uv_mutex_t lock; /* guards what follows, and of answers all but what is being recorded; nothing
                      * else is taken while it is held */
    size_t max_bytes;
    atomic_size_t n_bytes; /* changes under the lock */
    uint64_t max_age_ms, seed;
    struct ages kept; /* oldest first */
    struct row rows[N_ROWS];
};

struct answer_memory *answer_memory_new(size_t max_bytes, uint64_t max_age_ms, struct err *reterr)
{
    struct answer_memory *m = calloc(1, sizeof(*m));

    if (m == NULL || uv_mutex_init(&m->lock) != 0) {
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    m->max_bytes = max_bytes;
    m->max_age_ms = max_age_ms;
    random_fill(NULL, &m->seed, sizeof(m->seed));
    TAILQ_INIT(&m->kept);
    return m;
}

/* ---- under the lock */

static struct row *row_of(struct answer_memory *m, const struct answer_key *key)
{
    const str name = str_from((const char *)key->name, sizeof(key->name));

    return &m->rows[str_map_hash(m->seed, name) % N_ROWS];
}

static void free_answer(struct answer *a)
{
    a->memory->n_bytes -= a->counted;
    buf_fini(&a->body);
    arena_fini(&a->head);
    budget_free(a, sizeof(*a));
}

static void give_back(struct answer *a)
{
    if (--a->n_refs == 0)
        free_answer(a);
}

/* Takes an answer out of the table, so that its key is free. */
static void forget_answer(struct answer *a)
{
    if (a->is_kept)
        TAILQ_REMOVE(&a->memory->kept, a, in_age);
    LIST_REMOVE(a, in_row);
    a->is_kept = false;
    give_back(a);
}

static void forget_old(struct answer_memory *m, uint64_t now_ms)
{
    struct answer *a;

    while ((a = TAILQ_FIRST(&m->kept)) != NULL && now_ms >= a->kept_ms + m->max_age_ms)
        forget_answer(a);
}

/* Counts n more bytes for an answer; for that, kept ones are forgotten. Readers may still hold those. */
static bool count_bytes(struct answer *a, size_t n)
{
    struct answer_memory *m = a->memory;

    while (m->max_bytes - m->n_bytes < n && !TAILQ_EMPTY(&m->kept))
        forget_answer(TAILQ_FIRST(&m->kept));
    if (m->max_bytes - m->n_bytes < n)
        return false;
    m->n_bytes += n;
    a->counted += n;
    return true;
}

size_t answer_memory_bytes(const struct answer_memory *m)
{
    return atomic_load_explicit(&m->n_bytes, memory_order_relaxed);
}

static struct answer *find_answer(struct answer_memory *m, const struct answer_key *key)
{
    for (struct answer *a = LIST_FIRST(row_of(m, key)); a != NULL; a = LIST_NEXT(a, in_row)) {
        if (memcmp(a->key.name, key->name, sizeof(key->name)) == 0)
            return a;
    }
    return NULL;
}

static struct answer *add_answer(struct answer_memory *m, const struct answer_key *key)
{
    struct answer *a = budget_alloc(sizeof(*a), sizeof(*a));

    if (a == NULL)
        return NULL;
    a->memory = m;
    a->key = *key;
    a->n_refs = 1;
    arena_init(&a->head, HEAD_BYTES);
    LIST_INSERT_HEAD(row_of(m, key), a, in_row);
    return a;
}

/* ---- asking */

static enum answer_state state_of(const struct answer *a, const struct answer_key *key)
{
    if (memcmp(a->key.body, key->body, sizeof(key->body)) != 0)
        return ANSWER_OTHER_BODY;
    return a->is_kept ? ANSWER_KEPT : ANSWER_RUNS;
}

int answer_memory_ask(struct answer_memory *m, const struct answer_key *key, uint64_t now_ms,
                      enum answer_state *ret_state, struct answer **ret, struct err *reterr)
{
    struct answer *a;

    uv_mutex_lock(&m->lock);
    forget_old(m, now_ms);
    a = find_answer(m, key);
    if (a == NULL) {
        a = add_answer(m, key);
        *ret_state = ANSWER_BEGUN;
    } else {
        *ret_state = state_of(a, key);
        if (*ret_state == ANSWER_KEPT)
            a->n_refs++;
    }
    uv_mutex_unlock(&m->lock);
    *ret = a;
    return a == NULL ? err_set_no_memory(reterr) : 0;
}

void answer_memory_forget(struct answer_memory *m)
{
    uv_mutex_lock(&m->lock);
    while (!TAILQ_EMPTY(&m->kept))
        forget_answer(TAILQ_FIRST(&m->kept));
    uv_mutex_unlock(&m->lock);
}

void answer_memory_free(struct answer_memory *m)
{
    if (m == NULL)
        return;
    answer_memory_forget(m);
    uv_mutex_destroy(&m->lock);
    free(m);
}

/* ---- recording */

/* The answer is kept whole or not at all: what is there of it is given back at once. */
static void lose_answer(struct answer *a)
{
    a->is_lost = true;
    buf_fini(&a->body);
    uv_mutex_lock(&a->memory->lock);
    a->memory->n_bytes -= a->counted;
    a->counted = 0;
    uv_mutex_unlock(&a->memory->lock);
}

static bool make_room(struct answer *a, size_t n)
{
    bool has_room;

    uv_mutex_lock(&a->memory->lock);
    has_room = count_bytes(a, n);
    uv_mutex_unlock(&a->memory->lock);
    return has_room;
}

void answer_start(struct answer *a, int status, const struct http_header *headers, size_t n)
{
    a->status = status;
    for (size_t i = 0; i < n && a->n_headers < ANSWER_MAX_HEADERS; i++) {
        struct http_header *h = &a->headers[a->n_headers++];

        *h = (struct http_header){arena_dup(&a->head, headers[i].name),
                                  arena_dup(&a->head, headers[i].value)};
        a->is_lost = a->is_lost || str_is_none(h->name) || str_is_none(h->value);
    }
    if (a->is_lost || !make_room(a, sizeof(*a) + a->head.used))
        lose_answer(a);
}

void answer_add(struct answer *a, str bytes)
{
    if (a->is_lost || bytes.len == 0)
        return;
    if (make_room(a, bytes.len))
        buf_append(&a->body, bytes);
    else
        lose_answer(a);
    if (buf_failed(&a->body))
        lose_answer(a);
}

void answer_keep(struct answer *a, uint64_t now_ms)
{
    if (a->is_lost) {
        answer_drop(a);
        return;
    }
    uv_mutex_lock(&a->memory->lock);
    a->is_kept = true;
    a->kept_ms = now_ms;
    TAILQ_INSERT_TAIL(&a->memory->kept, a, in_age);
    uv_mutex_unlock(&a->memory->lock);
}

void answer_drop(struct answer *a)
{
    struct answer_memory *m = a->memory;

    uv_mutex_lock(&m->lock);
    forget_answer(a);
    uv_mutex_unlock(&m->lock);
}

/* ---- a kept answer */

int answer_status(const struct answer *a)
{
    return a->status;
}

size_t answer_headers(const struct answer *a, struct http_header headers[ANSWER_MAX_HEADERS])
{
    memcpy(headers, a->headers, a->n_headers * sizeof(headers[0]));
    return a->n_headers;
}

str answer_body(const struct answer *a)
{
    return buf_str(&a->body);
}

void answer_unref(struct answer *a)
{
    struct answer_memory *m = a->memory;

    uv_mutex_lock(&m->lock);
    give_back(a);
    uv_mutex_unlock(&m->lock);
}
