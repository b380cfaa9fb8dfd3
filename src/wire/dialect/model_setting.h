/* model_setting.h -- what can be said of a model, and the words for it.
 *
 * The settings are rows of model_setting.def. The operator's lines, kinds of servers, chat templates
 * and families of models all say them in one form: "call_ids=short role_order=alternate". */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_SETTING_H
#define ANTIPHON_WIRE_DIALECT_MODEL_SETTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum model_setting {
#define MODEL_SETTING(symbol, ...) MODEL_##symbol,
#include "wire/dialect/model_setting.def"
    MODEL_SETTINGS
};

/* Settings that are numbers; behind the others. */
enum model_number {
    MODEL_NUMBERS_BEGIN = MODEL_SETTINGS - 1,
#define MODEL_NUMBER(symbol, ...) MODEL_##symbol,
#include "wire/dialect/model_setting.def"
    MODEL_SETTINGS_AND_NUMBERS
};

/* Does a model look at images? (image_input, and what servers tell) */
enum model_images { MODEL_IMAGES_UNKNOWN, MODEL_IMAGES_NOT_TAKEN, MODEL_IMAGES_TAKEN };

const char *model_setting_name(enum model_setting s);

/* "auto|on|off": the first is in effect when nobody says anything. */
const char *model_setting_words(enum model_setting s);

/* The setting of this name; false when there is none. */
bool model_setting_find(str name, enum model_setting *ret);

/* What a word, in any case, means: one of the values of the table. False when it is no word of the
 * setting, or leaves the matter to others. */
bool model_setting_value(enum model_setting s, str word, int *ret);

/* Does a setting of which nothing is said leave the matter to what is known of the model? *ret is
 * what it means, if it does: when nothing is known. */
bool model_setting_is_open(enum model_setting s, int *ret);

/* The setting of this name that is a number; its name, and what it takes: "1..1000000". */
bool model_number_find(str name, enum model_number *ret);
const char *model_number_name(enum model_number n);
const char *model_number_range(enum model_number n);

/* False when the text is no number that the setting takes. */
bool model_number_value(enum model_number n, str text, int64_t *ret);

/* STR_NONE: nothing is said of that setting. */
struct model_words {
    str of[MODEL_SETTINGS_AND_NUMBERS];
};

/* Takes what has not been said yet from a text as "call_ids=short role_order=alternate", or from
 * other words. */
void model_words_add(str text, struct model_words *words);
void model_words_add_all(const struct model_words *more, struct model_words *words);

#endif
