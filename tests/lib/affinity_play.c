/* affinity_play.c -- two players of one script, compared after every step. */
#include "lib/affinity_play.h"

#include <stdlib.h>

#include "affinity/affinity.h"
#include "lib/failing_malloc.h"

enum { MAX_NOTED = 300, N_MARKS = 256, N_UPSTREAMS = 6, MAX_PROMPT = 16 };

/* ---- the plain memory: the least recently used first */

struct plain_note {
    uint64_t hash;
    uint16_t upstream[AFFINITY_UPSTREAMS]; /* the longest ago first */
    uint64_t at_ms[AFFINITY_UPSTREAMS];
    size_t n;
};

struct plain_list {
    struct plain_note notes[MAX_NOTED + 1];
    size_t n, max, max_places;
};

static void take_out(struct plain_list *l, size_t i)
{
    memmove(&l->notes[i], &l->notes[i + 1], (l->n - i - 1) * sizeof(l->notes[0]));
    l->n--;
}

static size_t find_note(const struct plain_list *l, uint64_t hash)
{
    size_t i = 0;

    while (i < l->n && l->notes[i].hash != hash)
        i++;
    return i;
}

static void drop_place(struct plain_note *note, size_t i)
{
    for (; i + 1 < note->n; i++) {
        note->upstream[i] = note->upstream[i + 1];
        note->at_ms[i] = note->at_ms[i + 1];
    }
    note->n--;
}

static void drop_upstream(struct plain_note *note, uint16_t upstream)
{
    for (size_t i = note->n; i-- > 0;) {
        if (note->upstream[i] == upstream)
            drop_place(note, i);
    }
}

static void note_plain(struct plain_list *l, uint64_t hash, uint16_t upstream, uint64_t now_ms)
{
    struct plain_note note = {.hash = hash};
    size_t i = find_note(l, hash);

    if (i < l->n) {
        note = l->notes[i];
        take_out(l, i);
    }
    drop_upstream(&note, upstream);
    if (note.n == l->max_places)
        drop_place(&note, 0);
    note.upstream[note.n] = upstream;
    note.at_ms[note.n++] = now_ms;
    l->notes[l->n++] = note;
    if (l->n > l->max)
        take_out(l, 0);
}

/* Up to the first that is not idle. */
static void expire_plain(struct plain_list *l, uint64_t now_ms, uint64_t ttl_ms)
{
    while (l->n > 0 && now_ms - l->notes[0].at_ms[l->notes[0].n - 1] >= ttl_ms)
        take_out(l, 0);
}

static void forget_plain(struct plain_list *l, uint16_t upstream)
{
    for (size_t i = l->n; i-- > 0;) {
        drop_upstream(&l->notes[i], upstream);
        if (l->notes[i].n == 0)
            take_out(l, i);
    }
}

/* One bit for each upstream that knows it. */
static unsigned plain_upstreams(const struct plain_list *l, uint64_t hash, uint64_t now_ms,
                                uint64_t ttl_ms)
{
    size_t at = find_note(l, hash);
    unsigned bits = 0;

    for (size_t i = 0; at < l->n && i < l->notes[at].n; i++)
        bits |= now_ms - l->notes[at].at_ms[i] < ttl_ms ? 1U << l->notes[at].upstream[i] : 0;
    return bits;
}

/* ---- the play */

struct play {
    struct affinity *a;
    struct plain_list sessions, marks;
    uint64_t now_ms, ttl_ms;
    str script; /* what is left of it */
};

static unsigned next_byte(struct play *p)
{
    unsigned byte = p->script.len == 0 ? 0 : (unsigned char)p->script.p[0];

    p->script = str_skip(p->script, 1);
    return byte;
}

/* Every second one is in the same bucket of a small table. */
static uint64_t hash_of(unsigned i)
{
    return 1 + (uint64_t)i * (i % 2 == 0 ? 4096 : 1);
}

static uint64_t salt_of(unsigned byte)
{
    return byte % 2 == 0 ? 0 : 1ULL << 40;
}

static void play_note(struct play *p)
{
    uint64_t session = next_byte(p) % 80, salt;
    unsigned first = next_byte(p), n = next_byte(p) % MAX_PROMPT, byte = next_byte(p);
    uint16_t upstream = (uint16_t)(byte % N_UPSTREAMS);
    struct prefix_mark marks[MAX_PROMPT];

    salt = salt_of(byte / N_UPSTREAMS);
    for (unsigned i = 0; i < n; i++)
        marks[i] = (struct prefix_mark){hash_of((first + i) % N_MARKS), i};
    affinity_note(p->a, &(struct affinity_prompt){session, salt, marks, n}, upstream, p->now_ms);
    expire_plain(&p->sessions, p->now_ms, p->ttl_ms);
    expire_plain(&p->marks, p->now_ms, p->ttl_ms);
    if (session != 0)
        note_plain(&p->sessions, session, upstream, p->now_ms);
    for (unsigned i = n; i-- > 0;)
        note_plain(&p->marks, marks[i].hash ^ salt, upstream, p->now_ms);
}

static void play_step(struct play *p)
{
    unsigned step = next_byte(p) % 8, byte;

    p->now_ms++; /* no two notes are of the same time */
    if (step < 4) {
        play_note(p);
        return;
    }
    byte = next_byte(p);
    if (step == 4) {
        affinity_forget(p->a, (uint16_t)(byte % N_UPSTREAMS));
        forget_plain(&p->sessions, (uint16_t)(byte % N_UPSTREAMS));
        forget_plain(&p->marks, (uint16_t)(byte % N_UPSTREAMS));
    } else if (step == 5) {
        p->now_ms += byte;
    } else if (step == 6) {
        affinity_expire(p->a, p->now_ms);
        expire_plain(&p->sessions, p->now_ms, p->ttl_ms);
        expire_plain(&p->marks, p->now_ms, p->ttl_ms);
    } else {
        p->ttl_ms = 1 + (uint64_t)byte * 4;
        affinity_set_ttl(p->a, p->ttl_ms);
    }
}

static const char *compare_session(const struct play *p, uint64_t session)
{
    unsigned bits = plain_upstreams(&p->sessions, session, p->now_ms, p->ttl_ms);
    uint16_t upstream = 0;
    bool is_known = affinity_find_session(p->a, session, p->now_ms, &upstream);

    return (is_known ? 1U << upstream : 0) == bits ? NULL : "the upstream of a session";
}

static const char *compare_mark(const struct play *p, unsigned i, uint64_t salt)
{
    struct prefix_mark mark = {hash_of(i), 0};
    unsigned bits = 0;
    uint16_t upstreams[AFFINITY_UPSTREAMS];
    size_t n = affinity_find_mark(p->a, salt, &mark, p->now_ms, upstreams);

    for (size_t k = 0; k < n; k++)
        bits |= 1U << upstreams[k];
    return bits == plain_upstreams(&p->marks, mark.hash ^ salt, p->now_ms, p->ttl_ms)
               ? NULL
               : "the upstreams of a mark";
}

static const char *compare_sizes(const struct play *p)
{
    struct affinity_size size = affinity_size(p->a);

    if (size.n_sessions != p->sessions.n || size.n_marks != p->marks.n)
        return "the number of entries";
    if ((size.bytes == 0) != (p->sessions.n + p->marks.n == 0))
        return "whether there is memory in use";
    return NULL;
}

static const char *compare_all(const struct play *p)
{
    const char *difference = compare_sizes(p);

    for (uint64_t session = 0; difference == NULL && session < 80; session++)
        difference = compare_session(p, session);
    for (unsigned i = 0; difference == NULL && i < 2 * N_MARKS; i++)
        difference = compare_mark(p, i / 2, salt_of(i));
    return difference;
}

static const char *compare_some(struct play *p)
{
    const char *difference = compare_sizes(p);
    unsigned byte = next_byte(p);

    if (difference == NULL)
        difference = compare_session(p, byte % 80);
    return difference == NULL ? compare_mark(p, byte, salt_of(byte / 2)) : difference;
}

const char *affinity_play(str script)
{
    static const size_t sizes[] = {0, 1, 5, 64, 65, MAX_NOTED};
    struct play *p = sure_malloc(sizeof(*p));
    const char *difference = NULL;

    p->script = script;
    p->ttl_ms = 500;
    p->sessions.max = sizes[next_byte(p) % COUNT_OF(sizes)];
    p->marks.max = sizes[next_byte(p) % COUNT_OF(sizes)];
    p->sessions.max_places = 1;
    p->marks.max_places = AFFINITY_UPSTREAMS;
    p->a = affinity_new(&(struct affinity_conf){p->sessions.max, p->marks.max, p->ttl_ms});
    while (p->script.len > 0 && difference == NULL) {
        play_step(p);
        difference = compare_some(p);
    }
    if (difference == NULL)
        difference = compare_all(p);
    affinity_free(p->a);
    free(p);
    return difference;
}
