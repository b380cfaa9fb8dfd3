/* allowance.c -- settings put together, and asked. */
#include "access/allowance.h"

#include "base/name_glob.h"

bool allowance_is_choosy(const struct allowance *a)
{
    return allowance_has(a, KEY_SETTING_MODELS);
}

bool allowance_has_model(const struct allowance *a, str model)
{
    str rest;

    if (!allowance_is_choosy(a))
        return true;
    rest = a->models;
    while (rest.len > 0) {
        if (name_glob_fits(str_cut(&rest, ','), model))
            return true;
    }
    return false;
}

struct rate_limits allowance_limits(const struct allowance *a, const struct rate_limits *defaults)
{
    struct rate_limits limits = *defaults;

    if (allowance_has(a, KEY_SETTING_RPM))
        limits.rpm = a->limits.rpm;
    if (allowance_has(a, KEY_SETTING_TPM))
        limits.tpm = a->limits.tpm;
    if (allowance_has(a, KEY_SETTING_CONCURRENCY))
        limits.concurrency = a->limits.concurrency;
    return limits;
}

unsigned allowance_weight(const struct allowance *a)
{
    return allowance_has(a, KEY_SETTING_WEIGHT) ? a->weight : 1;
}

enum key_priority allowance_priority(const struct allowance *a)
{
    return a == NULL ? KEY_PRIORITY_NORMAL : a->priority;
}

/* ---- several of one name */

static bool is_same_setting(const struct allowance *a, const struct allowance *b,
                            enum key_setting which)
{
    switch (which) {
    case KEY_SETTING_MODELS:
        return str_eq(a->models, b->models);
    case KEY_SETTING_RPM:
        return a->limits.rpm == b->limits.rpm;
    case KEY_SETTING_TPM:
        return a->limits.tpm == b->limits.tpm;
    case KEY_SETTING_CONCURRENCY:
        return a->limits.concurrency == b->limits.concurrency;
    case KEY_SETTING_WEIGHT:
        return a->weight == b->weight;
    case KEY_SETTING_PRIORITY:
        return a->priority == b->priority;
    case KEY_SETTING_STORE:
        return a->store_bytes == b->store_bytes;
    case KEY_SETTING_EXPIRES:
    case KEY_SETTING_ADMIN:
    case KEY_SETTINGS:
        break; /* of a key alone */
    }
    return true;
}

static void add_setting(struct allowance *a, const struct allowance *more, enum key_setting which)
{
    switch (which) {
    case KEY_SETTING_MODELS:
        a->models = more->models;
        break;
    case KEY_SETTING_RPM:
        a->limits.rpm = more->limits.rpm;
        break;
    case KEY_SETTING_TPM:
        a->limits.tpm = more->limits.tpm;
        break;
    case KEY_SETTING_CONCURRENCY:
        a->limits.concurrency = more->limits.concurrency;
        break;
    case KEY_SETTING_WEIGHT:
        a->weight = more->weight;
        break;
    case KEY_SETTING_PRIORITY:
        a->priority = more->priority;
        break;
    case KEY_SETTING_STORE:
        a->store_bytes = more->store_bytes;
        break;
    case KEY_SETTING_EXPIRES:
    case KEY_SETTING_ADMIN:
    case KEY_SETTINGS:
        break;
    }
    a->given |= 1U << which;
}

bool allowance_add(struct allowance *a, const struct allowance *more, enum key_setting *ret_which)
{
    for (unsigned i = 0; i < KEY_SETTINGS; i++) {
        const enum key_setting which = (enum key_setting)i;

        if (!allowance_has(more, which))
            continue;
        if (!allowance_has(a, which)) {
            add_setting(a, more, which);
        } else if (!is_same_setting(a, more, which)) {
            *ret_which = which;
            return false;
        }
    }
    return true;
}

bool allowance_is_same(const struct allowance *a, const struct allowance *b)
{
    bool is_same = a->given == b->given;

    for (unsigned i = 0; i < KEY_SETTINGS && is_same; i++)
        is_same = is_same_setting(a, b, (enum key_setting)i);
    return is_same;
}

const struct allowance *allowance_dup(struct arena *memory, const struct allowance *a)
{
    struct allowance *copy = arena_alloc(memory, sizeof(*copy));

    if (copy == NULL)
        return NULL;
    *copy = *a;
    copy->models = arena_dup(memory, a->models);
    return allowance_is_choosy(a) && str_is_none(copy->models) ? NULL : copy;
}
