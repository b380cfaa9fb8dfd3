/* store_wait.h -- opens the store when the gateway starts. */
#ifndef ANTIPHON_DAEMON_STORE_WAIT_H
#define ANTIPHON_DAEMON_STORE_WAIT_H

#include "store/store.h"

struct loop;

enum store_wait {
    STORE_WAIT_OPEN,
    STORE_WAIT_FAILED,    /* *reterr says why */
    STORE_WAIT_ABANDONED, /* a signal to end came first; a thread may still use what conf points to */
};

/* A server that is not up yet is waited for, up to limit_ms. The loop, which does not run
 * otherwise, runs meanwhile, so that SIGINT and SIGTERM are obeyed. */
enum store_wait store_wait_open(const struct store_conf *conf, uint64_t limit_ms, struct loop *loop,
                                struct store **ret, struct err *reterr);

#endif
