/* routing.h -- which of several upstreams a request goes to (OPERATIONS 4.4, 4.5).
 *
 * The caller describes the candidates of a model as they are at this moment, and notes what follows
 * from the choice: it counts in_flight and n_served of the chosen one up before anyone else asks, and
 * calls affinity_note() when the request has been sent.
 *
 * Pure, and allocates nothing; one thread at a time for an affinity and the turns of a group. */
#ifndef ANTIPHON_AFFINITY_ROUTING_H
#define ANTIPHON_AFFINITY_ROUTING_H

#include "affinity/affinity.h"

enum routing_policy {
#define ROUTING_POLICY(symbol, word, help) ROUTING_##symbol,
#include "affinity/routing_policy.def"
    ROUTING_POLICIES,
};

/* False when there is no policy of this name. */
bool routing_policy_of(str word, enum routing_policy *ret);

/* "affinity" ... */
str routing_policy_text(enum routing_policy policy);

enum routing_word {
#define ROUTING_WORD(symbol, word) ROUTING_BY_##symbol,
#include "affinity/routing_word.def"
    ROUTING_WORDS,
};

str routing_word_text(enum routing_word word);

struct routing_conf {
    enum routing_policy policy;
    double affinity_min; /* the least part of a prompt that a prefix is followed for, 0 to 1 */
    uint64_t affinity_wait_ms; /* how long a full upstream that knows the prompt is waited for */
    size_t wait_bytes;         /* the least that it has to know of the prompt */
};

/* OPERATIONS 4.5 rule 5: wait_bytes, unless a test wants another. */
enum { ROUTING_WAIT_BYTES = 16 * 1024 };

/* The turn of a candidate in its group, for `round_robin`: zeroed when the candidate joins, kept from
 * choice to choice, and nobody else's to read. */
struct routing_turn {
    int64_t credit;
};

/* In the order of the configuration. */
struct routing_candidate {
    uint16_t upstream;                   /* the number that affinity knows it by */
    unsigned tier;                       /* a higher one is used when none of a lower one can be */
    unsigned weight;                     /* 1 to 1000 */
    unsigned in_flight, max_concurrency; /* requests; 0: no limit */
    bool may_be_used;                    /* its health allows one more request */
    bool was_tried;                      /* before in this round; it is not chosen again */
    uint64_t n_served;                   /* rounds, since any time that is the same for all */
    struct routing_turn *turn;           /* of `round_robin`; NULL with other policies */
    size_t known_bytes; /* set by the choice: of the prompt, in its cache; 0 where nobody asked */
};

struct routing_request {
    struct affinity_prompt prompt; /* n_marks 0: nothing is known of it */
    uint64_t waited_ms;            /* since it asked first */
};

enum routing_outcome {
    ROUTING_CHOSEN,
    ROUTING_WAITS, /* for a candidate that is full; ask again when it is not, or at until_ms */
    ROUTING_FULL,  /* all that may be used are full */
    ROUTING_NONE,  /* none may be used, or all of those have been tried */
};

struct routing_choice {
    enum routing_outcome outcome;
    size_t index;           /* CHOSEN, WAITS: of the candidate */
    enum routing_word word; /* CHOSEN */
    uint64_t until_ms;      /* WAITS: on the clock of now_ms */
};

/* Chooses. a: NULL when nothing is remembered, or the policy does not ask. Changes nothing but
 * known_bytes and, when it has chosen, turns. */
struct routing_choice routing_choose(const struct routing_conf *conf, const struct affinity *a,
                                     const struct routing_request *r,
                                     struct routing_candidate *candidates, size_t n,
                                     uint64_t now_ms);

#endif
