/* key_setting.h -- the settings of one line of the file of keys. Pure. */
#ifndef ANTIPHON_ACCESS_KEY_SETTING_H
#define ANTIPHON_ACCESS_KEY_SETTING_H

#include "access/allowance.h"
#include "base/buf.h"

struct key_settings {
    struct allowance name; /* of all keys of its name; its texts are views of the line */
    int64_t expires_s; /* Unix time from which on the key is not good any more; INT64_MAX: never */
    bool is_admin;
};

/* Reads words such as "rpm=60" with spaces between them. Returns true, or false with what is wrong appended
 * to why, which shows nothing of the text. */
bool key_settings_read(str text, struct key_settings *ret, struct buf *why);

/* The word of a setting, and whether a value stands behind it. */
str key_setting_word(enum key_setting which);
bool key_setting_has_value(enum key_setting which);

/* The word of a priority, as it stands behind `priority=`. */
str key_priority_word(enum key_priority priority);

/* Takes the next word off, with the spaces around it; "" at the end. */
str key_setting_next_word(str *rest);

#endif
