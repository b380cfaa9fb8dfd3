/* allowance.h -- what a name may: the settings of its lines in the file of keys (OPERATIONS 5.2). */
#ifndef ANTIPHON_ACCESS_ALLOWANCE_H
#define ANTIPHON_ACCESS_ALLOWANCE_H

#include <stdint.h>

#include "access/rate_table.h"
#include "base/arena.h"
#include "base/str.h"

enum key_priority { KEY_PRIORITY_NORMAL, KEY_PRIORITY_HIGH, KEY_PRIORITY_LOW };

/* The settings, as bits and places of names. */
enum key_setting {
#define KEY_SETTING(symbol, word, value, rule, help) KEY_SETTING_##symbol,
#include "access/key_setting.def"
    KEY_SETTINGS,
};

struct allowance {
    unsigned given;            /* 1 << each setting that is; the others' members are 0 */
    str models;                /* names and globs with commas between them */
    struct rate_limits limits; /* a limit that is given and 0 is none, whatever the defaults are */
    unsigned weight;           /* see allowance_weight() */
    enum key_priority priority;
    uint64_t store_bytes;
};

/* In all these NULL is the allowance of whoever has no settings. */

static inline bool allowance_has(const struct allowance *a, enum key_setting setting)
{
    return a != NULL && (a->given & 1U << setting) != 0;
}

/* True when not every model may be asked for. */
bool allowance_is_choosy(const struct allowance *a);

/* True when this model may be asked for; model: the name in the request, plain. */
bool allowance_has_model(const struct allowance *a, str model);

/* The limits of a name: what is given, else the default. */
struct rate_limits allowance_limits(const struct allowance *a, const struct rate_limits *defaults);

/* The share in a queue, from 1 on, and the class. */
unsigned allowance_weight(const struct allowance *a);
enum key_priority allowance_priority(const struct allowance *a);

/* Takes over what is given in `more` and not in *a. Returns true, or false when a setting is given in both
 * and differs, which *ret_which is then. */
bool allowance_add(struct allowance *a, const struct allowance *more, enum key_setting *ret_which);

bool allowance_is_same(const struct allowance *a, const struct allowance *b);

/* A copy that lives as long as the arena; NULL when out of memory. */
const struct allowance *allowance_dup(struct arena *memory, const struct allowance *a);

#endif
