/* store_lock_watch.h -- frees what dead gateways have locked. Internal to the store.
 *
 * Every holder of locks changes them again and again, which is its sign of life. A
 * watch looks at the locks of others now and then, and remembers since when each holder
 * has given none, by the monotonic clock of its own process: no two clocks are ever
 * compared, and one that is set changes nothing. A holder whose process is known to have
 * ended is not waited for. */
#ifndef ANTIPHON_STORE_STORE_LOCK_WATCH_H
#define ANTIPHON_STORE_STORE_LOCK_WATCH_H

#include "store/store_session.h"

struct watched_holder;

struct lock_watch {
    struct watched_holder *first;
    uint64_t looked_at_ms; /* 0: not yet, or the last look has failed */
};

void lock_watch_fini(struct lock_watch *w);

/* Looks at the locks of others, within a transaction that writes. To be called every interval_ms:
 * after a longer pause all holders have their whole lease again, since they may have stood still
 * together with this process. Then lock_watch_end() with what the transaction has come to. */
int lock_watch_look(struct lock_watch *w, struct store_session *s, uint64_t interval_ms,
                    struct err *reterr);
void lock_watch_end(struct lock_watch *w, int rc);

/* Frees what the holder of this lock holds when it is known to be dead, within a transaction that
 * writes. *ret_is_freed: it was. */
int lock_free_if_dead(struct store_session *s, str lock, bool *ret_is_freed, struct err *reterr);

#endif
