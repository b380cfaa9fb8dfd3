/* pulse.c -- a message to each loop, and when it was sent. */
#include "flight/pulse.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "ev/loop.h"

struct pulse {
    struct loop *loop;
    struct loop_message question;
    atomic_uint_fast64_t asked_ms; /* 0: it has answered */
};

struct pulses {
    size_t n;
    struct pulse v[];
};

struct pulses *pulses_new(size_t n_loops)
{
    return calloc(1, sizeof(struct pulses) + n_loops * sizeof(struct pulse));
}

void pulses_free(struct pulses *p)
{
    free(p);
}

static void on_turn(void *arg)
{
    struct pulse *pulse = arg;

    atomic_store(&pulse->asked_ms, 0);
}

void pulses_add(struct pulses *p, struct loop *loop)
{
    struct pulse *pulse = &p->v[p->n++];

    pulse->loop = loop;
    pulse->question = (struct loop_message){.fn = on_turn, .arg = pulse};
    atomic_init(&pulse->asked_ms, 0);
}

/* Two may ask at the same moment: only one of them leaves the message. */
static bool is_stalled(struct pulse *pulse, uint64_t now_ms)
{
    enum { LONG_MS = 5000 };
    uint_fast64_t asked_ms = 0;

    if (!atomic_compare_exchange_strong(&pulse->asked_ms, &asked_ms, now_ms))
        return now_ms > asked_ms + LONG_MS;
    loop_post(pulse->loop, &pulse->question);
    return false;
}

bool pulses_are_stalled(struct pulses *p, uint64_t now_ms)
{
    bool is = false;

    for (size_t i = 0; p != NULL && i < p->n; i++)
        is = is_stalled(&p->v[i], now_ms) || is;
    return is;
}
