/* store.h -- what outlives a turn: responses, their items, conversations
 * (CONTRACT 2.6, 3, 6).
 *
 * Everything belongs to a *history*: either a tree of responses that
 * previous_response_id made, or a conversation. An item is stored once, with the
 * request or response it came with; what the model is to see of a chain is found
 * by following it. What is stored never changes, so branches of one parent
 * cannot influence each other. A deleted response is no longer found, but its
 * items stay as long as something continues it.
 *
 * Bodies are opaque here: what comes in goes out again byte by byte.
 *
 * The functions with a session block, and run on a thread of the store
 * (store_task) or in a command. Each does its work whole or not at all. str in
 * results are copies in the given arena. Errors: ERR_STORE when the store
 * cannot do it now (its message says why), ERR_INTERNAL when memory is out, and
 * what each function names. An id of another owner is an unknown id. */
#ifndef ANTIPHON_STORE_STORE_H
#define ANTIPHON_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "ev/errand.h"

struct store;
struct store_session;

/* ---- opening */

struct store_limits {
    uint64_t max_age_s; /* of a history since its last use; this and the others: 0 is no bound */
    uint64_t max_responses, max_owner_responses;
    uint64_t max_bytes, max_owner_bytes;     /* of bodies and ids, and of requests under way */
    uint64_t max_cuts_bytes, max_cuts_age_s; /* of the events of responses that have ended */
    uint64_t max_key_age_s;                  /* of an idempotency key */
};

/* What becomes of tables that are of an older version, or not there. */
enum store_tables {
    STORE_MIGRATES, /* they are made or brought up to date */
    STORE_SHARES,   /* the same, unless the program that has made them could not go on with them */
    STORE_AS_IT_IS, /* the store does not open */
    STORE_UNREAD,   /* nothing: only store_schema() and store_copy() are called */
};

struct store_conf {
    const char *url; /* "memory", "sqlite:PATH", "postgres://..." */
    enum store_tables tables;
    bool backup;          /* SQLite: PATH.v<version> is a copy of what was migrated */
    bool sync;            /* SQLite: what is acknowledged survives a power cut as well */
    unsigned connections; /* threads; memory has one */
    uint64_t timeout_ms;  /* to connect, and for one statement; or to wait for a lock */
    uint64_t lock_ms;     /* how long a conversation stays locked when its holder dies */
    uint64_t work_ms;     /* how long work under way stays its holder's then; 0: lock_ms */
    struct store_limits limits;
};

/* Opens the store, makes or migrates its tables and starts its threads, which
 * also keep the limits: a purge works in small pieces between the tasks, oldest
 * histories first. NULL with *reterr filled. conf->url may die afterwards. */
struct store *store_open(const struct store_conf *conf, struct err *reterr);

enum store_arrival {
    STORE_UNKNOWN, /* or there is nothing that could come */
    STORE_COMING,  /* its server cannot be reached yet, or says that it is starting */
    STORE_THERE,
};

/* Tells whether waiting would help after store_open() has failed. Asks the server, blocking. */
enum store_arrival store_arrival(const struct store_conf *conf);

/* Closes a store whose last task has been reported. NULL is fine. */
void store_close(struct store *store);

/* ---- tasks */

enum store_access { STORE_READ, STORE_WRITE };

/* A task is part of what waits for it. It belongs to the store, with all that the work uses, from
 * store_start() until done, which may free it or start it anew; nobody can call it off, but it
 * always ends.
 *
 * work runs once or, after a lost connection, twice; what it wrote is undone when
 * it returns -1 or the store fails. done runs once, on loop, with NULL when the
 * work has returned 0 and what it wrote is safe, else with what went wrong. */
/* What a task is for, as it is counted; of a turn: to load what it continues, or to save. */
enum store_purpose {
    STORE_FOR_TURN,
    STORE_FOR_GET,
    STORE_FOR_DELETE,
    STORE_FOR_LIST,
    STORE_FOR_CONVERSATION,
    STORE_FOR_LOCK,
    STORE_FOR_SCRAPE, /* which is not counted itself */
};

struct store_task {
    enum store_access access;
    enum store_purpose purpose;
    int (*work)(struct store_session *s, void *arg, struct err *reterr);
    void (*done)(void *arg, const struct err *failure);
    void *arg;
    struct loop *loop;

    /* the store's own */
    struct errand errand;
    struct store_task *next;
    uint64_t since_ms; /* of the monotonic clock */
    struct err *failure;
};

/* Hands a task over, on the thread of its loop, which expects it from now on
 * (loop_n_expected()). */
void store_start(struct store *store, struct store_task *task);

/* How many tasks wait for a thread that reads, or writes; 0 for reading where any thread does both. Any
 * thread, at once. */
size_t store_n_waiting(struct store *store, enum store_access access);

/* True when the store is known not to do this now: something has failed, and nothing has succeeded
 * since; it is tried every second. Then *reterr is what to tell a client: ERR_STORE_AWAY. Any
 * thread, at once. */
bool store_refuses(struct store *store, enum store_access access, struct err *reterr);

/* False when the store has failed and was tried again in vain. Any thread, at once. */
bool store_is_ready(const struct store *store);

/* ---- items */

/* body: one JSON object, as it is to be shown. */
struct store_item {
    str id, body;
    bool is_output;    /* in results also when it is a reference to an output item */
    bool is_hidden;    /* for the model alone: no answer shows it */
    bool is_reference; /* the item with this id, hidden if is_hidden, stored before; body is
                          STR_NONE */
};

struct store_items {
    struct store_item *v; /* in the arena */
    size_t n;
};

/* A part of a list: CONTRACT 6. */
struct store_page {
    size_t limit;
    bool ascending;
    str after; /* id of the item before the first one wanted, or STR_NONE */
};

struct store_list {
    struct store_items items;
    bool has_more;
};

/* Finds the newest item with this id, of a response or conversation that still exists.
 * ERR_NOT_FOUND. */
int store_find_item(struct store_session *s, str owner, str id, struct arena *a,
                    struct store_item *ret, struct err *reterr);

/* store_find_item() among hidden items alone. */
int store_find_hidden(struct store_session *s, str owner, str id, struct arena *a,
                      struct store_item *ret, struct err *reterr);

/* ---- responses */

/* The first four are terminal: such a response never changes again. They are stored as numbers. */
enum store_status {
    STORE_COMPLETED,
    STORE_INCOMPLETE,
    STORE_FAILED,
    STORE_CANCELLED,
    STORE_QUEUED, /* accepted, not started: store_work.h */
    STORE_IN_PROGRESS,
};

bool store_status_is_terminal(enum store_status status);

/* A response object is stored as what stands before its output items, and what
 * behind; the items themselves, joined by commas, complete it. */
struct store_response {
    str id;
    str parent_id;       /* STR_NONE: it continues no response */
    str conversation_id; /* STR_NONE: it belongs to none */
    str lock;            /* by which its conversation is locked; saving unlocks it */
    enum store_status status;
    int64_t created_at;
    str head, tail;
    struct store_items items; /* of its request, then of its output */
    str cuts;                 /* of its events: store_events.h; STR_NONE: not kept */
    str idempotency_lock;     /* of the key that its request came with, or STR_NONE:
                                 store_idempotency.h */
};

/* Saves a response that has ended. A conversation gets the items when the response is completed or incomplete; not
 * those whose id it holds already, which are the response's alone. ERR_PREVIOUS_NOT_FOUND or
 * ERR_NOT_FOUND when the parent, the conversation or an item that is referred to is gone,
 * ERR_CONVERSATION_LOCKED when the lock was lost to another response, ERR_INVALID_VALUE for an item
 * id with a NUL. The key of idempotency_lock answers with this response from then on; when it has
 * failed or was cancelled, the key is free again. */
int store_save_response(struct store_session *s, str owner, const struct store_response *r,
                        struct err *reterr);

/* Fills all but lock, cuts and idempotency_lock; items are those of its output, without hidden ones:
 * none before it has ended. ERR_NOT_FOUND. */
int store_get_response(struct store_session *s, str owner, str id, struct arena *a,
                       struct store_response *ret, struct err *reterr);

/* Deletes a response. One that is under way is gone as well: whoever makes it learns it with the next
 * thing that it writes, or when it asks (store_get_wishes()). ERR_NOT_FOUND. */
int store_delete_response(struct store_session *s, str owner, str id, struct err *reterr);

/* Lists the items of a response's request alone. ERR_NOT_FOUND, also for page->after. */
int store_list_input_items(struct store_session *s, str owner, str response_id,
                           const struct store_page *page, struct arena *a, struct store_list *ret,
                           struct err *reterr);

/* The items that stand before a new request's own. */
struct store_history {
    struct store_items items; /* oldest first */
    str tail;                 /* of the previous response; STR_NONE for a conversation */
};

/* Loads what the model is to see before it continues a response. ERR_PREVIOUS_NOT_FOUND, also for a
 * response that did not end well. */
int store_load_history(struct store_session *s, str owner, str response_id, struct arena *a,
                       struct store_history *ret, struct err *reterr);

/* ---- conversations */

struct store_conversation {
    str id;
    int64_t created_at;
    str metadata; /* a JSON object */
};

int store_create_conversation(struct store_session *s, str owner,
                              const struct store_conversation *c, const struct store_items *items,
                              struct err *reterr);

/* All but store_create_conversation(): ERR_NOT_FOUND for the conversation, and for an item of
 * it. */
int store_get_conversation(struct store_session *s, str owner, str id, struct arena *a,
                           struct store_conversation *ret, struct err *reterr);
int store_update_conversation(struct store_session *s, str owner, str id, str metadata,
                              struct err *reterr);

/* Deletes a conversation; its items stay where responses hold them. */
int store_delete_conversation(struct store_session *s, str owner, str id, struct err *reterr);

/* Adds items; those whose id the conversation holds already are left out. */
int store_add_items(struct store_session *s, str owner, str conversation_id,
                    const struct store_items *items, struct err *reterr);
int store_list_items(struct store_session *s, str owner, str conversation_id,
                     const struct store_page *page, struct arena *a, struct store_list *ret,
                     struct err *reterr);
int store_get_item(struct store_session *s, str owner, str conversation_id, str item_id,
                   struct arena *a, struct store_item *ret, struct err *reterr);
int store_delete_item(struct store_session *s, str owner, str conversation_id, str item_id,
                      struct err *reterr);

/* Deletes a hidden item, if there is one. */
int store_delete_hidden(struct store_session *s, str owner, str conversation_id, str item_id,
                        struct err *reterr);

/* Loads the items of a conversation that the model is to see, locked or not: what they are counted by
 * changes nothing. */
int store_load_conversation(struct store_session *s, str owner, str id, struct arena *a,
                            struct store_history *ret, struct err *reterr);

/* Locks a conversation for one response, under a name that is new each time, and
 * loads its items. The store renews the lock while the process lives.
 * ERR_CONVERSATION_LOCKED. */
int store_lock_conversation(struct store_session *s, str owner, str id, str lock, struct arena *a,
                            struct store_history *ret, struct err *reterr);

/* Gives up a lock of this store: unlocks the conversation of a response that is not going to be
 * saved, frees an idempotency key. Any thread, no waiting: it is done soon, and if the store cannot
 * do it now, as soon as it can. */
void store_release_lock(struct store *store, str lock);

/* Unlocks a conversation at once. No error when it is not locked so. */
int store_unlock_conversation(struct store_session *s, str lock, struct err *reterr);

/* ---- maintenance (antiphon store) */

/* A session of the caller's own, for commands. NULL with *reterr filled. */
struct store_session *store_session_open(const struct store_conf *conf, struct err *reterr);
void store_session_close(struct store_session *s);

struct store_stats {
    uint64_t n_histories, n_conversations, n_responses, n_items, n_owners;
    uint64_t n_queued, n_running; /* responses under way, which are among n_responses */
    uint64_t n_keys;              /* idempotency keys */
    uint64_t bytes;               /* of bodies and ids, as the limits count them */
    uint64_t cuts_bytes;          /* of the events of responses that have ended */
    uint64_t file_bytes;          /* what the database takes altogether; 0 for memory */
    int64_t oldest_use;           /* seconds since 1970; 0 when empty */
    int schema_version;
};

int store_stats(struct store_session *s, struct store_stats *ret, struct err *reterr);

/* Limits for which something was removed: those of one owner are one reason. */
enum store_reason { STORE_AGE, STORE_COUNT, STORE_BYTES, STORE_OWNER, STORE_REASONS };

struct store_purged {
    struct {
        uint64_t n_histories, n_responses, bytes;
    } by[STORE_REASONS];
    uint64_t n_streams, cuts_bytes; /* responses whose events are not kept any longer */
    uint64_t n_keys;                /* of idempotency, which have expired */
    bool has_more;                  /* as much was removed as may be at once */
};

void store_purged_add(struct store_purged *to, const struct store_purged *more);
uint64_t store_purged_histories(const struct store_purged *p);

/* Removes up to max_histories that pass the limits, oldest first, and then events and keys, eight for each
 * history. What is under way stays. now_ms is the store's own time (store_now_ms), by which max_age_s
 * counts: no wall clock has a part in it. On a full disk it takes smaller steps, and uses up what
 * was kept for it. */
int store_purge(struct store_session *s, const struct store_limits *limits, int64_t now_ms,
                size_t max_histories, struct store_purged *ret, struct err *reterr);

/* Gives up what is kept for a purge if the disk is full: for when no session could be opened. */
void store_make_room(const struct store_conf *conf);

/* The store's own time in ms, which goes on while a gateway runs. Ages are differences of it, and
 * it may be behind the wall clock for ever. */
int64_t store_now_ms(struct store_session *s);

/* Sets the store's time to the wall clock, unless it is later: somebody says that this clock is
 * right, so the time in which no gateway ran counts as well. *ret_by_s: by how much. */
int store_trust_clock(struct store_session *s, int64_t *ret_by_s, struct err *reterr);

/* The version of the tables that there are, and those that this program can make of it
 * (docs/upgrade.md). */
struct store_schema {
    int64_t version; /* 0: there are no tables */
    int64_t compatible_from;
    int64_t writes,
        reads;      /* this program: the version of its own, and the oldest that it migrates */
    bool is_usable; /* as it is; else it would be migrated */
};

/* ERR_STORE for tables that can neither be used nor migrated. */
int store_schema(struct store_session *s, struct store_schema *ret, struct err *reterr);

/* True when a store did not open since a newer version of this program has made it. */
bool store_is_too_new(const struct err *e);

/* Copies the whole store, as it is now, into a new file that only its owner can read; gateways may go
 * on using it. ERR_INVALID_VALUE when there is a file already, or the store has no file. */
int store_copy(struct store_session *s, const char *path, struct err *reterr);

/* Gives unused space back to the system. */
int store_vacuum(struct store_session *s, struct err *reterr);

/* Takes every response that can still be found, oldest first, and every conversation after them.
 * Responses under way are among them, as they are then; events and idempotency keys are not.
 * The views die when the function returns; it returns 0, or -1 to stop. */
struct store_exporter {
    int (*on_response)(void *arg, str owner, const struct store_response *r);
    int (*on_conversation)(void *arg, str owner, const struct store_conversation *c,
                           const struct store_items *items);
    void *arg;
};

int store_export(struct store_session *s, const struct store_exporter *to, struct err *reterr);

#endif
