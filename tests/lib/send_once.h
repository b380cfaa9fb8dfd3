/* send_once.h -- messages on a loop for tests that have no place of their own for them. */
#ifndef ANTIPHON_TESTS_LIB_SEND_ONCE_H
#define ANTIPHON_TESTS_LIB_SEND_ONCE_H

#include <stdlib.h>

#include "ev/loop.h"
#include "lib/failing_malloc.h"

struct sent_once {
    struct loop_message message;
    void (*fn)(void *arg);
    void *arg;
};

static inline void sent_once_run(void *arg)
{
    const struct sent_once sent = *(struct sent_once *)arg;

    free(arg);
    sent.fn(sent.arg);
}

static inline struct loop_message *sent_once_new(void (*fn)(void *arg), void *arg)
{
    struct sent_once *sent = sure_malloc(sizeof(*sent));

    *sent = (struct sent_once){.message = {.fn = sent_once_run, .arg = sent}, .fn = fn, .arg = arg};
    return &sent->message;
}

/* Any thread. */
static inline void post_once(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    loop_post(loop, sent_once_new(fn, arg));
}

static inline void defer_once(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    loop_defer(loop, sent_once_new(fn, arg));
}

#endif
