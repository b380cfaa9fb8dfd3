/* model_template.h -- what the chat template of a model tells about the messages it takes.
 *
 * Some servers show the template that they render messages with (llama.cpp: `chat_template` of
 * GET /props). It is a program in Jinja, which is not run here: its text is searched for the
 * tell-tales of model_template.def, such as the words with which it refuses a conversation. What
 * no tell-tale says is not said: a template that is unknown decides nothing. */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_TEMPLATE_H
#define ANTIPHON_WIRE_DIALECT_MODEL_TEMPLATE_H

#include <stdbool.h>

#include "wire/dialect/model_profile.h"

/* A longer text is no chat template: the largest known ones have some 20 KB. */
enum { MODEL_TEMPLATE_MAX_BYTES = 1 << 20 };

/* Puts into *ret the words for the settings that the template (plain text, not JSON) decides, and
 * STR_NONE for all others, for the last argument of model_profile_find(). The words are static:
 * they do not point into chat_template. Returns true when there is any. The time is linear in the
 * length; nothing is allocated. */
bool model_template_words(str chat_template, struct model_words *ret);

#endif
