/* store_lock.h -- conversations are locked for one response at a time. Internal to
 * the store.
 *
 * A lock is a name and a sign of life. Names begin with that of the store's instance
 * (store_holder.h), which gives all of its locks a new sign together; those of an instance
 * that has died are taken away by whoever notices (store_lock_watch.h). */
#ifndef ANTIPHON_STORE_STORE_LOCK_H
#define ANTIPHON_STORE_STORE_LOCK_H

#include "store/store_session.h"

void lock_set_no_conversation(struct err *e, str id);

/* ERR_CONVERSATION_LOCKED when another than lock, which may be STR_NONE, holds the
 * conversation (by its seq, and id for the message). Within a transaction that has
 * used it: else another could take it right behind the check. */
int lock_check(struct store_session *s, int64_t seq, str id, str lock, struct err *reterr);

/* Releases a lock, within a transaction. */
int lock_release(struct store_session *s, str lock, struct err *reterr);

/* Writes the whole name of a lock, of work or of anything else. */
int lock_name_write(const struct store_session *s, str lock, struct buf *out, struct err *reterr);
int work_name_write(const struct store_session *s, str lock, struct buf *out, struct err *reterr);

/* Notes the whole name of a lock that was taken: when nobody knows in the end whether the transaction
 * took effect, it is released. */
void lock_note_taken(struct store_session *s, str name);

/* ---- of a store, any thread */

struct store_locks *locks_new(void); /* NULL when out of memory */
void locks_free(struct store_locks *l);

/* Releases a lock, or that of work, with the next renewal. Any thread; s may be another's. */
void locks_release_later(const struct store_session *s, str lock);
void work_release_later(const struct store_session *s, str lock);

/* Releases a lock that the session may hold now: nobody knows whether its transaction took effect,
 * and its task is told that it has failed. */
void locks_doubt(struct store_session *s);

/* Releases what was to be released later, renews what else the instance holds, and frees
 * what dead ones hold. To be called every interval_ms; not from two threads at once. */
int locks_renew(struct store_session *s, uint64_t interval_ms, struct err *reterr);

#endif
