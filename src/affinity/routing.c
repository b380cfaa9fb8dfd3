/* routing.c -- candidates are narrowed to a field, then one of the field is taken.
 *
 * The field is the lowest tier that has an eligible candidate, and in it the eligible ones: all
 * comparisons, sums and bounds are about them alone. Affinity looks further in one respect: whoever
 * would be in the field if it were not full is worth a short wait. */
#include "affinity/routing.h"

#include <assert.h>
#include <limits.h>

struct field {
    struct routing_candidate *c;
    size_t n;
    unsigned tier; /* UINT_MAX: nobody is eligible */
};

/* An index in the field; NOBODY where there is none. */
static const size_t NOBODY = SIZE_MAX;

/* ---- words */

str routing_policy_text(enum routing_policy policy)
{
    static const str words[] = {
#define ROUTING_POLICY(symbol, word, help) STR_INIT(word),
#include "affinity/routing_policy.def"
    };

    return words[policy];
}

bool routing_policy_of(str word, enum routing_policy *ret)
{
    for (unsigned i = 0; i < ROUTING_POLICIES; i++) {
        if (str_eq(word, routing_policy_text((enum routing_policy)i))) {
            *ret = (enum routing_policy)i;
            return true;
        }
    }
    return false;
}

str routing_word_text(enum routing_word word)
{
    static const str words[] = {
#define ROUTING_WORD(symbol, word) STR_INIT(word),
#include "affinity/routing_word.def"
    };

    return words[word];
}

/* ---- the field */

static bool is_full(const struct routing_candidate *c)
{
    return c->max_concurrency > 0 && c->in_flight >= c->max_concurrency;
}

static bool is_usable(const struct routing_candidate *c)
{
    return c->may_be_used && !c->was_tried;
}

static bool is_eligible(const struct routing_candidate *c)
{
    return is_usable(c) && !is_full(c);
}

static struct field make_field(struct routing_candidate *candidates, size_t n)
{
    struct field f = {candidates, n, UINT_MAX};

    for (size_t i = 0; i < n; i++) {
        candidates[i].known_bytes = 0;
        if (is_eligible(&candidates[i]) && candidates[i].tier < f.tier)
            f.tier = candidates[i].tier;
    }
    return f;
}

static inline bool is_in_field(const struct field *f, size_t i)
{
    return is_eligible(&f->c[i]) && f->c[i].tier == f->tier;
}

/* True for the field, and for whoever would be in it if it were not full. */
static bool would_be_in_field(const struct field *f, size_t i)
{
    return is_usable(&f->c[i]) && f->c[i].tier <= f->tier;
}

/* The weights of the field; those of 2^16 candidates fit. */
static uint64_t sum_of_weights(const struct field *f)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += is_in_field(f, i) ? f->c[i].weight : 0;
    return sum;
}

static uint64_t sum_of_loads(const struct field *f)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += is_in_field(f, i) ? f->c[i].in_flight : 0;
    return sum;
}

/* ---- policies that know nothing of the prompt */

/* OPERATIONS 4.4: (in_flight + 1) / weight decides, then rounds served / weight; of equals neither is less. */
static bool is_less(const struct routing_candidate *a, const struct routing_candidate *b)
{
    uint64_t load_a = ((uint64_t)a->in_flight + 1) * b->weight;
    uint64_t load_b = ((uint64_t)b->in_flight + 1) * a->weight;

    if (load_a != load_b)
        return load_a < load_b;
    return a->n_served * b->weight < b->n_served * a->weight;
}

/* but: an index that takes no part, or NOBODY. */
static size_t choose_least(const struct field *f, size_t but)
{
    size_t least = NOBODY;

    for (size_t i = 0; i < f->n; i++) {
        if (i != but && is_in_field(f, i) && (least == NOBODY || is_less(&f->c[i], &f->c[least])))
            least = i;
    }
    return least;
}

static size_t choose_first(const struct field *f)
{
    size_t i = 0;

    while (!is_in_field(f, i))
        i++;
    return i;
}

/* Smooth: everybody earns its weight, the richest pays what all have earned. Turns of one follow each
 * other no closer than its weight says. */
static size_t choose_next(const struct field *f)
{
    int64_t earned = (int64_t)sum_of_weights(f);
    size_t richest = NOBODY;

    for (size_t i = 0; i < f->n; i++) {
        if (!is_in_field(f, i))
            continue;
        f->c[i].turn->credit += f->c[i].weight;
        if (richest == NOBODY || f->c[i].turn->credit > f->c[richest].turn->credit)
            richest = i;
    }
    assert(richest != NOBODY); /* a field has somebody */
    f->c[richest].turn->credit -= earned;
    return richest;
}

/* ---- what is known of the prompt */

static size_t find_upstream(const struct field *f, uint16_t upstream)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->c[i].upstream == upstream)
            return i;
    }
    return NOBODY;
}

/* Sets known_bytes of those that know this mark, and nothing longer. Returns how many. */
static size_t set_known(const struct field *f, const struct affinity *a, uint64_t salt,
                        const struct prefix_mark *mark, uint64_t now_ms)
{
    uint16_t upstreams[AFFINITY_UPSTREAMS];
    size_t n = affinity_find_mark(a, salt, mark, now_ms, upstreams), n_set = 0;

    for (size_t k = 0; k < n; k++) {
        size_t i = find_upstream(f, upstreams[k]);

        if (i != NOBODY && f->c[i].known_bytes == 0) {
            f->c[i].known_bytes = mark->bytes;
            n_set++;
        }
    }
    return n_set;
}

/* The longest marks first, so that each candidate is set once. */
static void find_known(const struct field *f, const struct affinity *a,
                       const struct affinity_prompt *p, uint64_t now_ms)
{
    size_t n_left = a == NULL ? 0 : f->n;

    for (size_t i = p->n_marks; i-- > 0 && n_left > 0;)
        n_left -= set_known(f, a, p->salt, &p->marks[i], now_ms);
}

/* OPERATIONS 4.5 rule 1. */
static size_t find_session(const struct field *f, const struct affinity *a,
                           const struct affinity_prompt *p, uint64_t now_ms)
{
    uint16_t upstream;
    size_t i;

    if (a == NULL || !affinity_find_session(a, p->session, now_ms, &upstream))
        return NOBODY;
    i = find_upstream(f, upstream);
    return i != NOBODY && would_be_in_field(f, i) ? i : NOBODY;
}

/* Candidates that know equally much are ordered by whether they can be asked now, then by load. */
static bool knows_better(const struct routing_candidate *a, const struct routing_candidate *b)
{
    if (a->known_bytes != b->known_bytes)
        return a->known_bytes > b->known_bytes;
    if (is_full(a) != is_full(b))
        return is_full(b);
    return is_less(a, b);
}

/* OPERATIONS 4.5 rule 2. */
static size_t find_prefix(const struct field *f, const struct affinity_prompt *p, double least_part)
{
    size_t whole = p->n_marks == 0 ? 0 : p->marks[p->n_marks - 1].bytes, best = NOBODY;

    for (size_t i = 0; i < f->n; i++) {
        if (would_be_in_field(f, i) && f->c[i].known_bytes > 0 &&
            (best == NOBODY || knows_better(&f->c[i], &f->c[best])))
            best = i;
    }
    if (best == NOBODY || (double)f->c[best].known_bytes < least_part * (double)whole)
        return NOBODY;
    return best;
}

/* ---- bounded load, OPERATIONS 4.5 rule 4 */

/* in_flight + 1 > ceil(1.25 * weight / sum of weights * (sum of loads + 1)), in whole numbers. */
static bool is_above_bound(const struct field *f, size_t i)
{
    uint64_t share = 5 * (uint64_t)f->c[i].weight * (sum_of_loads(f) + 1);
    uint64_t parts = 4 * sum_of_weights(f);

    assert(parts > 0); /* i is in the field, or another is */
    return (uint64_t)f->c[i].in_flight + 1 > (share + parts - 1) / parts;
}

static bool has_idler(const struct field *f, size_t found)
{
    for (size_t i = 0; i < f->n; i++) {
        if (i != found && is_in_field(f, i) &&
            (f->c[i].in_flight == 0 || f->c[i].in_flight + 2 <= f->c[found].in_flight))
            return true;
    }
    return false;
}

static bool is_passed_over(const struct field *f, size_t found)
{
    return is_full(&f->c[found]) || (is_above_bound(f, found) && has_idler(f, found));
}

static unsigned least_load(const struct field *f, size_t but)
{
    unsigned least = UINT_MAX;

    for (size_t i = 0; i < f->n; i++) {
        if (i != but && is_in_field(f, i) && f->c[i].in_flight < least)
            least = f->c[i].in_flight;
    }
    return least;
}

/* Among those within one of the least load, who knows most; else by load. Whoever was passed over
 * takes no part, though it may be as little loaded as another. */
static size_t choose_other(const struct field *f, size_t but)
{
    unsigned least = least_load(f, but);
    size_t best = NOBODY;

    for (size_t i = 0; i < f->n; i++) {
        if (i != but && is_in_field(f, i) && f->c[i].in_flight - least <= 1 &&
            (best == NOBODY || knows_better(&f->c[i], &f->c[best])))
            best = i;
    }
    return best != NOBODY && f->c[best].known_bytes > 0 ? best : choose_least(f, but);
}

/* ---- affinity */

static struct routing_choice chosen(size_t index, enum routing_word word)
{
    return (struct routing_choice){.outcome = ROUTING_CHOSEN, .index = index, .word = word};
}

/* OPERATIONS 4.5 rule 5. */
static bool is_worth_waiting(const struct routing_conf *conf, const struct routing_request *r,
                             const struct routing_candidate *c)
{
    return is_full(c) && c->known_bytes >= conf->wait_bytes &&
           r->waited_ms < conf->affinity_wait_ms;
}

static struct routing_choice choose_by_affinity(const struct routing_conf *conf,
                                                const struct affinity *a,
                                                const struct routing_request *r,
                                                const struct field *f, uint64_t now_ms)
{
    enum routing_word word = ROUTING_BY_KEY;
    size_t found;

    find_known(f, a, &r->prompt, now_ms);
    found = find_session(f, a, &r->prompt, now_ms);
    if (found == NOBODY) {
        word = ROUTING_BY_PREFIX;
        found = find_prefix(f, &r->prompt, conf->affinity_min);
    }
    if (found == NOBODY)
        return chosen(choose_least(f, NOBODY), ROUTING_BY_LEAST);
    if (is_worth_waiting(conf, r, &f->c[found]))
        return (struct routing_choice){.outcome = ROUTING_WAITS,
                                       .index = found,
                                       .until_ms = now_ms + conf->affinity_wait_ms - r->waited_ms};
    if (is_passed_over(f, found))
        return chosen(choose_other(f, found), ROUTING_BY_OVERFLOW);
    return chosen(found, word);
}

/* ---- the choice */

static struct routing_choice choose_by_policy(const struct routing_conf *conf,
                                              const struct affinity *a,
                                              const struct routing_request *r,
                                              const struct field *f, uint64_t now_ms)
{
    switch (conf->policy) {
    case ROUTING_AFFINITY:
        return choose_by_affinity(conf, a, r, f, now_ms);
    case ROUTING_ROUND_ROBIN:
        return chosen(choose_next(f), ROUTING_BY_LEAST);
    case ROUTING_FIRST:
        return chosen(choose_first(f), ROUTING_BY_LEAST);
    case ROUTING_LEAST:
    case ROUTING_POLICIES:
        break;
    }
    return chosen(choose_least(f, NOBODY), ROUTING_BY_LEAST);
}

static struct routing_choice nobody_eligible(const struct field *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (is_usable(&f->c[i]))
            return (struct routing_choice){.outcome = ROUTING_FULL};
    }
    return (struct routing_choice){.outcome = ROUTING_NONE};
}

static bool has_tried(const struct field *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->c[i].was_tried)
            return true;
    }
    return false;
}

struct routing_choice routing_choose(const struct routing_conf *conf, const struct affinity *a,
                                     const struct routing_request *r,
                                     struct routing_candidate *candidates, size_t n,
                                     uint64_t now_ms)
{
    struct field f = make_field(candidates, n);
    struct routing_choice choice;

    if (f.tier == UINT_MAX)
        return nobody_eligible(&f);
    if (n == 1)
        return chosen(0, ROUTING_BY_ONLY);
    choice = choose_by_policy(conf, a, r, &f, now_ms);
    if (has_tried(&f))
        choice.word = ROUTING_BY_FAILOVER;
    return choice;
}
