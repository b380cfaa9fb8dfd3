/* config_key.h -- the keys as a table, shared by the files of this folder. */
#ifndef ANTIPHON_CONFIG_CONFIG_KEY_H
#define ANTIPHON_CONFIG_CONFIG_KEY_H

#include "config/config.h"

enum config_kind {
    CONFIG_GROUP, /* not a key: a title between keys */
    CONFIG_TEXT,
    CONFIG_SECRET,
    CONFIG_LIST,
    CONFIG_DURATION,
    CONFIG_SIZE,
    CONFIG_COUNT,
    CONFIG_FLAG,
    CONFIG_CHOICE,
};

struct config_key {
    const char *name; /* the title of a group */
    enum config_kind kind;
    size_t offset; /* of its field in struct config */
    const char *initial, *valid, *help;
};

/* Ends with a row whose name is NULL. */
extern const struct config_key config_keys[];

/* NULL when there is no such key. A flag's dashes count as underscores. */
const struct config_key *config_key_find(str name);

/* The known key that name was probably meant to be, or NULL. */
const struct config_key *config_key_nearest(str name);

/* Parses value into its field. source is what the operator wrote the value
 * behind ("--max-body"), for the message. */
int config_key_set(struct config *c, const struct config_key *k, str value, const char *source,
                   struct err *reterr);

/* Appends the name as a flag ("--max-body") or a variable ("ANTIPHON_MAX_BODY"). */
void config_key_flag(const struct config_key *k, struct buf *out);
void config_key_variable(const struct config_key *k, struct buf *out);

/* Appends what may be given: "a size from 1KiB to 16MiB". */
void config_key_describe(const struct config_key *k, struct buf *out);

/* Cuts the next word off a list: "a|b|c" at '|'. STR_NONE at the end. */
str config_next_word(str *rest, char separator);

/* The forms of texts (config_form.c). The name of a form is also what stands
 * for a value in the help: --listen HOST:PORT. */
struct config_form {
    const char *name;
    bool (*fits)(str value); /* of a value that is not empty */
    const char *describe;
};

/* Never NULL: the table names every form that config.def uses. */
const struct config_form *config_form_find(const char *name);

/* An address in its two parts; the host keeps its brackets. False when it is none. */
bool config_split_address(str address, str *ret_host, str *ret_port);

/* The sources, in config_file.c and config_env.c. Both return 0, or -1 with *reterr filled. */
int config_file_load(struct config *c, const char *path, struct err *reterr);
int config_env_load(struct config *c, const char *const *env, struct err *reterr);

/* Value of a variable, or STR_NONE when it is missing or empty. */
str config_env_get(const char *const *env, str variable);

/* A variable of open-responses-server and the key it sets. */
struct config_alias {
    str variable;
    const char *key;
    str (*convert)(struct config *c, str value); /* STR_NONE when out of memory */
};

/* Ends with a row whose key is NULL. */
extern const struct config_alias config_aliases[];

#endif
