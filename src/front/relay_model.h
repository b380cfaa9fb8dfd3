/* relay_model.h -- what a relay asks of a model, for those who count and trace it: nobody has read it. */
#ifndef ANTIPHON_FRONT_RELAY_MODEL_H
#define ANTIPHON_FRONT_RELAY_MODEL_H

#include <stdbool.h>

#include "base/arena.h"

struct allowance;

/* The operation that a path of ours is, in a word of the conventions; NULL: none of a model's. */
const char *relay_operation(str path);

/* The model in the body of a request, plain, in the arena; STR_NONE when it is not found. */
str relay_model(str body, struct arena *a);

/* May whoever is allowed no more than this send the body to a server? It has to be an object that names a
 * model, and whatever in it a server may take for its name has to be allowed. When it is not, *ret_refused is a
 * name in it that is not, plain, in the arena; "" when it has none. All of the body is looked through. */
bool relay_model_is_allowed(const struct allowance *allowance, str body, struct arena *a,
                            str *ret_refused);

#endif
