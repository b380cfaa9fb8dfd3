/* running.c -- a hash table under one lock, and asks that change hands under it.
 *
 *                running_ask                knock                notify
 *     idle ----> waiting ----> fresh ----> parked <----> filling
 *       ^        (no entry)      |            |             |
 *       |                        +------------+-------------+----> told
 *       +---- report, or running_drop() unless filling or told ------+
 *
 * Home writes an ask while it is idle, the loop of the entry while it is being filled; all other members
 * of it change under the lock. An ask that is fresh or parked is in the list of its entry, one that
 * waits is in the table itself. Fresh ones are also in a list of the loop that is to see them, which
 * gets one message for all of them: so nothing of an entry or an ask is under way to a loop that may
 * have ended. */
#include "resume/running.h"

#include <assert.h>
#include <stdlib.h>
#include <uv.h>

#include "base/str_map.h"

enum { PLACE_ENTRY, PLACE_ASK, PLACE_READER };

enum { ASK_IDLE, ASK_WAITING, ASK_FRESH, ASK_PARKED, ASK_FILLING, ASK_TOLD };

enum { FIRST_BUCKETS = 64 };

LIST_HEAD(bucket, running_place);

/* A loop with turns. */
struct running_home {
    struct running *table;
    struct loop *loop;
    struct loop_message knock; /* there are fresh asks */
    struct running_asks fresh; /* guarded by the table's lock */
    bool is_closed;            /* the same */
};

struct running {
    uv_mutex_t lock; /* guards all but the loops of homes; a loop's own is taken while it is held */
    uint64_t seed;
    struct bucket *buckets;
    size_t n_buckets, n_places; /* n_buckets: a power of two */
    unsigned n_homes, most_homes;
    struct running_home homes[];
};

/* ---- places */

static struct bucket *bucket_of(const struct running *table, uint64_t hash)
{
    return &table->buckets[hash & (table->n_buckets - 1)];
}

/* Without memory the buckets only get longer. */
static void grow_table(struct running *table)
{
    struct bucket *old = table->buckets;
    const size_t n_old = table->n_buckets;
    struct bucket *buckets = calloc(2 * n_old, sizeof(*buckets));

    if (buckets == NULL)
        return;
    table->buckets = buckets;
    table->n_buckets = 2 * n_old;
    for (size_t i = 0; i < n_old; i++) {
        struct running_place *p;

        while ((p = LIST_FIRST(&old[i])) != NULL) {
            LIST_REMOVE(p, next);
            LIST_INSERT_HEAD(bucket_of(table, p->hash), p, next);
        }
    }
    free(old);
}

static void put_place(struct running *table, struct running_place *p)
{
    if (table->n_places >= table->n_buckets)
        grow_table(table);
    table->n_places++;
    LIST_INSERT_HEAD(bucket_of(table, p->hash), p, next);
}

static void drop_place(struct running_place *p)
{
    LIST_REMOVE(p, next);
    p->table->n_places--;
    p->table = NULL;
}

static struct running_place place_for(struct running *table, unsigned char kind, void *of,
                                      str owner, str id)
{
    return (struct running_place){.table = table,
                                  .of = of,
                                  .hash = str_map_hash(table->seed, id),
                                  .owner = owner,
                                  .id = id,
                                  .kind = kind};
}

static bool is_same_response(const struct running_place *a, const struct running_place *b)
{
    return a->hash == b->hash && str_eq(a->id, b->id) && str_eq(a->owner, b->owner);
}

/* The next of a kind at or behind p that is about the same response; or NULL. */
static struct running_place *find_place(struct running_place *p, const struct running_place *like,
                                        unsigned char kind)
{
    while (p != NULL && (p->kind != kind || !is_same_response(p, like)))
        p = LIST_NEXT(p, next);
    return p;
}

static struct running_place *first_place(const struct running_place *like, unsigned char kind)
{
    return find_place(LIST_FIRST(bucket_of(like->table, like->hash)), like, kind);
}

static struct running_entry *find_entry(const struct running_place *like)
{
    struct running_place *p = first_place(like, PLACE_ENTRY);
    struct running_entry *entry = p == NULL ? NULL : p->of;

    return entry == NULL || entry->is_hidden ? NULL : entry;
}

/* ---- reports; the lock is held */

/* The ask is its home's from here on, so it is in no list any more. */
static void tell_ask(struct running_ask *ask, enum running_outcome outcome)
{
    ask->state = ASK_TOLD;
    ask->outcome = outcome;
    ask->entry = NULL;
    loop_post(ask->home, &ask->told);
}

static void take_from_entry(struct running_ask *ask)
{
    TAILQ_REMOVE(&ask->entry->asks, ask, of_entry);
    if (ask->state == ASK_FRESH)
        TAILQ_REMOVE(&ask->entry->home->fresh, ask, of_home);
}

static void tell_all(struct running_entry *entry)
{
    struct running_ask *ask;

    while ((ask = TAILQ_FIRST(&entry->asks)) != NULL) {
        take_from_entry(ask);
        tell_ask(ask, RUNNING_ENDED);
    }
}

/* ---- events, on the loop of the entry */

/* Fills an ask that is in no list. Called off meanwhile, it is told what it does not want. */
static void fill_ask(struct running_entry *entry, struct running_ask *ask)
{
    uv_mutex_t *const lock = &entry->place.table->lock;
    enum running_outcome outcome;

    buf_reset(&ask->out);
    outcome = entry->ops->fill(entry, ask);
    uv_mutex_lock(lock);
    if (outcome == RUNNING_NOTHING && !ask->is_unwanted) {
        ask->state = ASK_PARKED;
        TAILQ_INSERT_TAIL(&entry->asks, ask, of_entry);
        atomic_store_explicit(&entry->is_asked, true, memory_order_relaxed);
    } else {
        tell_ask(ask, outcome == RUNNING_NOTHING ? RUNNING_SOME : outcome);
    }
    uv_mutex_unlock(lock);
}

/* Asks that wait for events, in a list of their own; the rest stays. */
static void take_waiting(struct running_entry *entry, struct running_asks *ret)
{
    struct running_ask *next;

    TAILQ_INIT(ret);
    for (struct running_ask *ask = TAILQ_FIRST(&entry->asks); ask != NULL; ask = next) {
        next = TAILQ_NEXT(ask, of_entry);
        if (ask->state != ASK_PARKED || ask->wish != RUNNING_EVENTS)
            continue;
        TAILQ_REMOVE(&entry->asks, ask, of_entry);
        TAILQ_INSERT_TAIL(ret, ask, of_entry);
        ask->state = ASK_FILLING;
    }
    atomic_store_explicit(&entry->is_asked, false, memory_order_relaxed);
}

void running_serve(struct running_entry *entry)
{
    struct running_asks waiting;
    struct running_ask *ask;

    uv_mutex_lock(&entry->place.table->lock);
    take_waiting(entry, &waiting);
    uv_mutex_unlock(&entry->place.table->lock);
    while ((ask = TAILQ_FIRST(&waiting)) != NULL) {
        TAILQ_REMOVE(&waiting, ask, of_entry);
        fill_ask(entry, ask);
    }
}

/* ---- fresh asks, on the loop of their entries */

/* The next one, which is parked, or is to be filled if it wants events; or NULL. */
static struct running_ask *take_fresh(struct running_home *home)
{
    struct running_ask *ask = TAILQ_FIRST(&home->fresh);

    if (ask == NULL)
        return NULL;
    take_from_entry(ask);
    if (ask->wish == RUNNING_EVENTS) {
        ask->state = ASK_FILLING;
    } else {
        ask->state = ASK_PARKED;
        TAILQ_INSERT_TAIL(&ask->entry->asks, ask, of_entry);
    }
    return ask;
}

/* Serves one fresh ask; false when there is none. A parked one may be gone once the lock is: what it
 * wishes is looked at before. */
static bool serve_fresh(struct running_home *home)
{
    enum running_wish wish = RUNNING_END;
    struct running_entry *entry = NULL;
    struct running_ask *ask;

    uv_mutex_lock(&home->table->lock);
    ask = take_fresh(home);
    if (ask != NULL) {
        wish = ask->wish;
        entry = ask->entry;
    }
    uv_mutex_unlock(&home->table->lock);
    if (ask == NULL)
        return false;
    if (wish == RUNNING_EVENTS)
        fill_ask(entry, ask);
    else if (wish == RUNNING_CANCEL)
        entry->ops->cancel(entry);
    return true;
}

static void on_knock(void *arg)
{
    while (serve_fresh(arg)) {
    }
}

/* The lock is held. */
static void send_ask(struct running_ask *ask, struct running_entry *entry)
{
    ask->entry = entry;
    ask->state = ASK_FRESH;
    TAILQ_INSERT_TAIL(&entry->asks, ask, of_entry);
    TAILQ_INSERT_TAIL(&entry->home->fresh, ask, of_home);
    loop_post(entry->home->loop, &entry->home->knock);
}

/* ---- turns */

/* The home of a loop: there is one for each loop with turns. */
static struct running_home *find_home(struct running *table, const struct loop *loop)
{
    unsigned i = 0;

    while (i + 1 < table->n_homes && table->homes[i].loop != loop)
        i++;
    assert(table->homes[i].loop == loop);
    return &table->homes[i];
}

void running_add(struct running *table, struct running_entry *entry, const struct running_ops *ops,
                 str owner, str id, struct loop *loop)
{
    struct running_place *p, *next;

    entry->ops = ops;
    entry->home = find_home(table, loop);
    assert(entry->place.table == NULL);
    entry->place = place_for(table, PLACE_ENTRY, entry, owner, id);
    entry->last_reader_ms = entry->last_repeat_ms = 0;
    entry->is_hidden = false;
    atomic_init(&entry->is_asked, false);
    TAILQ_INIT(&entry->asks);
    uv_mutex_lock(&table->lock);
    put_place(table, &entry->place);
    for (p = first_place(&entry->place, PLACE_ASK); p != NULL; p = next) {
        next = find_place(LIST_NEXT(p, next), &entry->place, PLACE_ASK);
        drop_place(p);
        send_ask(p->of, entry);
    }
    uv_mutex_unlock(&table->lock);
}

void running_remove(struct running_entry *entry)
{
    struct running *const table = entry->place.table;

    if (table == NULL)
        return;
    uv_mutex_lock(&table->lock);
    drop_place(&entry->place);
    tell_all(entry);
    uv_mutex_unlock(&table->lock);
    atomic_store_explicit(&entry->is_asked, false, memory_order_relaxed);
}

void running_hide(struct running *table, str owner, str id)
{
    const struct running_place like = place_for(table, PLACE_ENTRY, NULL, owner, id);
    struct running_entry *entry;

    uv_mutex_lock(&table->lock);
    entry = find_entry(&like);
    if (entry != NULL)
        entry->is_hidden = true;
    uv_mutex_unlock(&table->lock);
}

/* With the lock held. */
static bool has_reader(const struct running_entry *entry, bool by_repeats)
{
    struct running_place *p = first_place(&entry->place, PLACE_READER);

    while (p != NULL && by_repeats && !((const struct running_reader *)p->of)->repeats)
        p = find_place(LIST_NEXT(p, next), &entry->place, PLACE_READER);
    return p != NULL;
}

uint64_t running_unread_ms(const struct running_entry *entry, bool by_repeats, uint64_t since_ms,
                           uint64_t now_ms)
{
    struct running *const table = entry->place.table;
    uint64_t last_ms;
    bool is_read = false;

    if (table != NULL) {
        uv_mutex_lock(&table->lock);
        is_read = has_reader(entry, by_repeats);
        last_ms = by_repeats ? entry->last_repeat_ms : entry->last_reader_ms;
        if (last_ms > since_ms)
            since_ms = last_ms;
        uv_mutex_unlock(&table->lock);
    }
    return is_read || since_ms >= now_ms ? 0 : now_ms - since_ms;
}

/* ---- asks, at home */

static void on_told(void *arg)
{
    struct running_ask *ask = arg;

    ask->state = ASK_IDLE;
    loop_receive(ask->home);
    ask->report(ask->arg, ask->outcome);
}

bool running_has(struct running *table, str owner, str id)
{
    const struct running_place like = place_for(table, PLACE_ENTRY, NULL, owner, id);
    const struct running_entry *entry;
    bool is_there;

    uv_mutex_lock(&table->lock);
    entry = find_entry(&like);
    is_there = entry != NULL && !entry->home->is_closed;
    uv_mutex_unlock(&table->lock);
    return is_there;
}

bool running_ask(struct running *table, struct running_ask *ask, struct loop *home)
{
    struct running_entry *entry;
    bool is_taken = true;

    assert(ask->state == ASK_IDLE);
    ask->table = table;
    ask->home = home;
    ask->told = (struct loop_message){.fn = on_told, .arg = ask};
    ask->is_unwanted = false;
    ask->place = place_for(table, PLACE_ASK, ask, ask->owner, ask->id);
    uv_mutex_lock(&table->lock);
    entry = find_entry(&ask->place);
    if (entry != NULL && !entry->home->is_closed) {
        send_ask(ask, entry);
    } else if (entry == NULL && ask->awaits_begin) {
        ask->state = ASK_WAITING;
        put_place(table, &ask->place);
    } else {
        is_taken = false;
    }
    uv_mutex_unlock(&table->lock);
    if (is_taken)
        loop_expect(home);
    return is_taken;
}

bool running_drop(struct running_ask *ask)
{
    struct running *const table = ask->table;
    bool is_free = true;

    uv_mutex_lock(&table->lock);
    if (ask->state == ASK_WAITING) {
        drop_place(&ask->place);
    } else if (ask->state == ASK_FRESH || ask->state == ASK_PARKED) {
        take_from_entry(ask);
    } else {
        ask->is_unwanted = true;
        is_free = false;
    }
    if (is_free)
        ask->state = ASK_IDLE;
    uv_mutex_unlock(&table->lock);
    if (is_free)
        loop_receive(ask->home);
    return is_free;
}

/* ---- readers */

int running_join(struct running *table, struct running_reader *reader, str owner, str id,
                 unsigned max_readers, struct err *reterr)
{
    unsigned n = 0;

    reader->place = place_for(table, PLACE_READER, reader, owner, id);
    uv_mutex_lock(&table->lock);
    for (struct running_place *p = first_place(&reader->place, PLACE_READER); p != NULL;
         p = find_place(LIST_NEXT(p, next), &reader->place, PLACE_READER))
        n++;
    if (n < max_readers)
        put_place(table, &reader->place);
    else
        reader->place.table = NULL;
    uv_mutex_unlock(&table->lock);
    if (n < max_readers)
        return 0;
    err_set(
        reterr, ERR_RATE_LIMIT,
        "%u clients read this response already, which is the most (resume_readers). Try again when "
        "one of them has ended.",
        n);
    return -1;
}

void running_leave(struct running_reader *reader, uint64_t now_ms)
{
    struct running *const table = reader->place.table;
    struct running_entry *entry;

    if (table == NULL)
        return;
    uv_mutex_lock(&table->lock);
    entry = find_entry(&reader->place);
    if (entry != NULL)
        entry->last_reader_ms = now_ms;
    if (entry != NULL && reader->repeats)
        entry->last_repeat_ms = now_ms;
    drop_place(&reader->place);
    uv_mutex_unlock(&table->lock);
}

/* ---- the table */

struct running *running_new(unsigned n_loops)
{
    struct running *table = calloc(1, sizeof(*table) + n_loops * sizeof(table->homes[0]));

    if (table == NULL)
        return NULL;
    table->most_homes = n_loops;
    table->n_buckets = FIRST_BUCKETS;
    table->buckets = calloc(FIRST_BUCKETS, sizeof(table->buckets[0]));
    random_fill(NULL, &table->seed, sizeof(table->seed));
    if (table->buckets != NULL && uv_mutex_init(&table->lock) == 0)
        return table;
    free(table->buckets);
    free(table);
    return NULL;
}

void running_free(struct running *table)
{
    if (table == NULL)
        return;
    assert(table->n_places == 0);
    uv_mutex_destroy(&table->lock);
    free(table->buckets);
    free(table);
}

void running_open(struct running *table, struct loop *loop)
{
    struct running_home *home = &table->homes[table->n_homes];

    assert(table->n_homes < table->most_homes);
    *home = (struct running_home){.table = table, .loop = loop};
    home->knock = (struct loop_message){.fn = on_knock, .arg = home};
    TAILQ_INIT(&home->fresh);
    table->n_homes++;
}

void running_close(struct running *table, struct loop *loop)
{
    struct running_home *const home = find_home(table, loop);

    uv_mutex_lock(&table->lock);
    home->is_closed = true;
    for (size_t i = 0; i < table->n_buckets; i++) {
        for (struct running_place *p = LIST_FIRST(&table->buckets[i]); p != NULL;
             p = LIST_NEXT(p, next)) {
            struct running_entry *entry = p->kind == PLACE_ENTRY ? p->of : NULL;

            if (entry != NULL && entry->home == home)
                tell_all(entry);
        }
    }
    uv_mutex_unlock(&table->lock);
}
