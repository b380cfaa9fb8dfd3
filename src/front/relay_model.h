/* relay_model.h -- what a relay asks of a model, for those who count and trace it: nobody has read it. */
#ifndef ANTIPHON_FRONT_RELAY_MODEL_H
#define ANTIPHON_FRONT_RELAY_MODEL_H

#include "base/arena.h"

/* The operation that a path of ours is, in a word of the conventions; NULL: none of a model's. */
const char *relay_operation(str path);

/* The model in the body of a request, plain, in the arena; STR_NONE when it is not found. */
str relay_model(str body, struct arena *a);

#endif
