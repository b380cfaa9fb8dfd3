/* upstream_kind.h -- kinds of servers, and what each understands.
 *
 * The kinds are rows of upstream_kind.def. Of which kind a server is the configuration says, or
 * wire/dialect/upstream_sign.h finds out from what it sends. */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_KIND_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_KIND_H

#include "wire/dialect/chat_options.h"
#include "wire/dialect/extra_fields.h"

enum upstream_kind {
#define UPSTREAM_FIELDS(list, ...)
#define UPSTREAM_KIND(symbol, ...) UPSTREAM_##symbol,
#include "wire/dialect/upstream_kind.def"
    UPSTREAM_KINDS
};

enum upstream_trait {
    UPSTREAM_IS_OPENAI = 1 << 0,      /* knows verbosity, service_tier, safety_identifier ... */
    UPSTREAM_OBJECT_SCHEMA = 1 << 1,  /* json_object binds only together with a schema */
    UPSTREAM_KNOWS_ANY_PATH = 1 << 2, /* answers 200 and an error to a path that it has not */
    UPSTREAM_LISTS_WINDOWS = 1 << 3,  /* its list of models says how much fits into them */
    UPSTREAM_LOADS_MODELS = 1 << 4,   /* when they are asked; how much fits is decided then */
};

/* A row of the table. */
struct upstream_profile {
    enum upstream_kind kind;
    enum chat_continuation continuation;
    unsigned traits;         /* of enum upstream_trait */
    str word;                /* of the key upstream_kind */
    str words;               /* what it is asked, for model_words_add() */
    struct name_list fields; /* of requests, beyond the Responses API; for extra_fields.h */
    const char *source;
};

const struct upstream_profile *upstream_profile(enum upstream_kind kind);

static inline bool upstream_has(const struct upstream_profile *p, enum upstream_trait trait)
{
    return (p->traits & trait) != 0;
}

/* The kind of this name, in any case; false when there is none. */
bool upstream_kind_find(str word, enum upstream_kind *ret);

#endif
