/* upstream_kind.c -- the table of kinds. */
#include "wire/dialect/upstream_kind.h"

#define UPSTREAM_FIELDS(list, ...) static const char *const fields_##list[] = {__VA_ARGS__};
#define UPSTREAM_KIND(...)
#include "wire/dialect/upstream_kind.def"

static const struct upstream_profile profiles[] = {
#define UPSTREAM_FIELDS(list, ...)
#define UPSTREAM_KIND(symbol, name, settings, goes_on, has, list, why)                             \
    [UPSTREAM_##symbol] = {.kind = UPSTREAM_##symbol,                                              \
                           .continuation = CHAT_##goes_on,                                         \
                           .traits = (has),                                                        \
                           .word = STR_INIT(name),                                                 \
                           .words = STR_INIT(settings),                                            \
                           .fields = {LIST_OF(fields_##list)},                                     \
                           .source = (why)},
#include "wire/dialect/upstream_kind.def"
};

const struct upstream_profile *upstream_profile(enum upstream_kind kind)
{
    return &profiles[kind];
}

bool upstream_kind_find(str word, enum upstream_kind *ret)
{
    for (int k = 0; k < UPSTREAM_KINDS; k++) {
        if (!str_eq_nocase(word, profiles[k].word))
            continue;
        *ret = (enum upstream_kind)k;
        return true;
    }
    return false;
}
