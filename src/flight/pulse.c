/* pulse.c -- a message to each loop, and when it was sent. */
#include "flight/pulse.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "ev/loop.h"

struct pulse {
    struct loop *loop;
    struct loop_message question;
    atomic_uint_fast64_t asked_ms; /* 0: it has answered */
    atomic_bool has_ended;         /* it runs no messages any more */
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
    atomic_init(&pulse->has_ended, false);
}

void pulses_end(struct pulses *p, const struct loop *loop)
{
    for (size_t i = 0; p != NULL && i < p->n; i++) {
        if (p->v[i].loop == loop)
            atomic_store(&p->v[i].has_ended, true);
    }
}

/* Two may ask at the same moment: only one of them leaves the message. */
static bool is_stalled(struct pulse *pulse, uint64_t now_ms)
{
    enum { LONG_MS = 5000 };
    uint_fast64_t asked_ms = 0;

    if (atomic_load(&pulse->has_ended))
        return false;
    if (!atomic_compare_exchange_strong(&pulse->asked_ms, &asked_ms, now_ms))
        return now_ms > asked_ms + LONG_MS;
    loop_post(pulse->loop, &pulse->question);
    return false;
}

void pulses_ask(struct pulses *p, uint64_t now_ms)
{
    for (size_t i = 0; i < p->n; i++)
        (void)is_stalled(&p->v[i], now_ms);
}

bool pulses_have_answered(const struct pulses *p)
{
    bool have = true;

    for (size_t i = 0; i < p->n; i++)
        have = have && (atomic_load(&p->v[i].asked_ms) == 0 || atomic_load(&p->v[i].has_ended));
    return have;
}

bool pulses_are_stalled(struct pulses *p, uint64_t now_ms)
{
    bool is = false;

    for (size_t i = 0; p != NULL && i < p->n; i++)
        is = is_stalled(&p->v[i], now_ms) || is;
    return is;
}
