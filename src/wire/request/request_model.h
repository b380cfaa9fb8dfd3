/* request_model.h -- the model of a request, looked for in its body by whoever decides where it goes. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_MODEL_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_MODEL_H

#include "base/arena.h"

/* The member `model` of a body that has not been read, plain, in the arena; STR_NONE when it is not there, is no
 * text, or stands behind what is no JSON. */
str request_model_find(str body, struct arena *a);

#endif
