/* codex_model.h -- a model as the catalogue of Codex has it (CONTRACT 15.3). */
#ifndef ANTIPHON_WIRE_DIALECT_CODEX_MODEL_H
#define ANTIPHON_WIRE_DIALECT_CODEX_MODEL_H

#include "json/json_write.h"
#include "wire/dialect/model_list.h"

/* Writes the entry of a model by the name that clients give it, plain; priority counts from 1. */
void codex_model_write(str name, const struct model_view *known, size_t priority, struct jw *w);

/* What an agent is told in its place when nobody else tells it what it is: no less than that, since
 * the entry's text is all that it has. */
extern const char codex_model_instructions[];

#endif
