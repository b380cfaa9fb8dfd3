/* config_key.h -- the keys as a table, shared by the files of this folder. */
#ifndef ANTIPHON_CONFIG_CONFIG_KEY_H
#define ANTIPHON_CONFIG_CONFIG_KEY_H

#include "config/config.h"
#include "config/spelling.h"

/* ---- words (config_word.c) */

/* Cuts the next word off a list: "a|b|c" at '|'. STR_NONE at the end. */
str config_next_word(str *rest, char separator);

/* True when the word, in any case, is one of "a|b|c". *ret_index, which may be NULL: its index. */
bool config_has_word(const char *words, str word, unsigned *ret_index);

/* The word with this index, which config_has_word() has returned. */
str config_word_at(const char *words, unsigned index);

/* Appends the words for a reader: "a, b or c". */
void config_write_words(const char *words, struct buf *out);

/* ---- keys (config_key.c) */

enum config_kind {
    CONFIG_GROUP, /* not a key: a title between keys */
    CONFIG_TEXT,
    CONFIG_SECRET,
    CONFIG_LIST,
    CONFIG_SECRETS, /* a list of them */
    CONFIG_DURATION,
    CONFIG_SIZE,
    CONFIG_COUNT,
    CONFIG_FLAG,
    CONFIG_CHOICE,
    CONFIG_WORD,   /* a choice whose field holds the word */
    CONFIG_SWITCH, /* a WORD of auto, on and off: a flag that may be left open */
};

struct config_key {
    const char *name; /* the title of a group */
    enum config_kind kind;
    enum config_id id;
    size_t offset; /* of its field in struct config */
    const char *initial, *valid, *help;
};

/* Both tables end with a row whose name is NULL. The old keys have no default. */
extern const struct config_key config_keys[], config_old_keys[];

/* The key of this name, old keys among them, or NULL. A flag's dashes count as underscores. */
const struct config_key *config_key_find(str name);

/* True when the flag of the key stands alone, and has one with --no- in front. */
bool config_key_is_flag(const struct config_key *k);

/* True when the value of the key has elements. */
bool config_key_is_list(const struct config_key *k);

/* Offers the name of every key. */
void config_key_spell(struct spelling *s);

/* Appends the name as a flag ("--max-body") or a variable ("ANTIPHON_MAX_BODY"). */
void config_key_flag(const struct config_key *k, struct buf *out);
void config_key_variable(const struct config_key *k, struct buf *out);

/* For the reader of help and documentation: the default, with space between the elements of a
 * list, and what stands for the value: ADDRESS, DURATION, text|summary|none. */
void config_key_initial(const struct config_key *k, struct buf *out);
const char *config_key_placeholder(const struct config_key *k);

/* The word that is in effect, of a key that has words. */
str config_key_chosen(const struct config *c, const struct config_key *k);

/* True when the gateway may find the number out by itself. */
bool config_key_may_be_auto(const struct config_key *k);

/* The range of a number: "1KiB..16MiB". */
str config_key_range(const struct config_key *k);

/* ---- forms (config_form.c, config_model.c) */

/* What texts must look like. The name of a form is also what stands for a value in the help:
 * --listen ADDRESS. */
struct config_form {
    const char *name;
    bool (*fits)(str value); /* of a value that is not empty */
    const char *describe;
    /* Appends what in particular is wrong with a value, and what would be right; false when that
     * is only that it has not this form. NULL: it always is. */
    bool (*explain)(str value, struct buf *out);
    bool is_pair;           /* NAME=...: in a list, no two elements have the same name */
    bool may_hold_password; /* before an @ */
};

/* Never NULL: the table names every form that config.def uses. */
const struct config_form *config_form_find(const char *name);

/* The form of the lines of model_settings. */
bool config_model_fits(str line);
bool config_model_explain(str line, struct buf *out);

/* Warns of the old keys that are given, and says which line does the same. */
void config_model_note_old(const struct config *c, struct config_problems *problems);

/* HOST:PORT in its two parts; the host keeps its brackets and may be empty.
 * False when it is none. */
bool config_split_address(str address, str *ret_host, str *ret_port);

/* ---- what a key takes, and what is refused (config_key_refuse.c) */

/* Appends what may be given: "a size from 1KiB to 16MiB". */
void config_key_takes(const struct config_key *k, struct buf *out);

/* Appends what the operator would look for: "--max-body", "ANTIPHON_MAX_BODY",
 * "antiphon.json: line 3: max_body". */
void config_key_where(const struct config *c, const struct config_key *k, struct buf *out);

/* Must the value stay unseen? A secret, or a URL with credentials. */
bool config_key_is_private(const struct config_key *k, str value);

/* An error about the key at its place: what it says, or that value, which may
 * be an element, does not have the key's form. */
void config_key_refuse(struct config *c, const struct config_key *k,
                       struct config_problems *problems, const char *message);
void config_key_refuse_value(struct config *c, const struct config_key *k, str value,
                             struct config_problems *problems);

/* ---- values (config_key_set.c, config_json.c, config_list.c) */

/* Parses value into its field and notes the place. A list is cut at its commas. */
void config_key_set(struct config *c, const struct config_key *k, str value,
                    const struct config_place *place, struct config_problems *problems);

/* The same from a valid JSON value, as the configuration file has it. */
void config_key_set_json(struct config *c, const struct config_key *k, str raw,
                         const struct config_place *place, struct config_problems *problems);

/* Sets a key to a list that is in pieces already: _begin empties it, unless a flag goes on with what the
 * flag before it gave; _add appends one element and returns false when the list takes no more. */
void config_list_begin(struct config *c, const struct config_key *k,
                       const struct config_place *place);
bool config_list_add(struct config *c, const struct config_key *k, str element,
                     struct config_problems *problems);

/* ---- sources and rules */

/* The sources, each in a file of its name. */
void config_file_load(struct config *c, const char *path, struct config_problems *problems);
void config_file_parse(struct config *c, const char *path, str text,
                       struct config_problems *problems);
void config_env_load(struct config *c, const char *const *env, struct config_problems *problems);
void config_flags_load(struct config *c, int n_args, const char *const *args,
                       struct config_problems *problems);

/* The file that --config names, or NULL. */
const char *config_flags_file(int n_args, const char *const *args);

/* What the flag of a key says last; STR_NONE when it is not given. */
str config_flags_value(int n_args, const char *const *args, const struct config_key *k);

/* Puts paths in place of names in directories of the service manager (config_directories.c). */
void config_directories_resolve(struct config *c, const char *const *env,
                                struct config_problems *problems);

/* What only two keys together, or a look at the world, can tell (config_rule.c). Of a configuration with
 * members of another file (config_place.member): what concerns an upstream and one of these. */
void config_rules_check(const struct config *c, struct config_problems *problems);
void config_rules_check_members(const struct config *c, struct config_problems *problems);

/* Value of a variable, or STR_NONE when it is missing or empty. */
str config_env_get(const char *const *env, str variable);

/* ---- programs that this one takes the place of (moving.def; config_moved.c, config_preset.c) */

/* A variable of one of them and the key it sets. */
struct config_alias {
    enum config_preset program;
    str variable;
    const char *key;
    str (*convert)(struct config *c, str value); /* STR_NONE when out of memory */
};

/* Ends with a row whose key is NULL. */
extern const struct config_alias config_aliases[];

/* A variable without a key. */
struct config_told {
    enum config_preset program;
    str variable;
    const char *why;
};

/* Ends with a row whose why is NULL. */
extern const struct config_told config_told[];

/* What a program does without being told to. */
struct config_preset_value {
    enum config_preset program;
    const char *key, *value, *why;
};

/* Ends with a row whose key is NULL. */
extern const struct config_preset_value config_preset_values[];

/* Does the program have such a variable, or might it be one of a later version? */
bool config_moved_is_of(enum config_preset program, str variable);

/* Sets c->preset as all sources have it, and gives its values to the keys of which nothing is said so
 * far. Returns the program that is replaced; NONE when there is none. */
enum config_preset config_preset_apply(struct config *c, const struct config_sources *sources,
                                       struct config_problems *problems);

/* The environment with what the file .env adds to it, as the program reads it; that of the sources when
 * there is no such file or program. Lives in c->memory. */
const char *const *config_preset_env(struct config *c, enum config_preset program,
                                     const struct config_sources *sources,
                                     struct config_problems *problems);

/* Takes over the variables that c->preset lets be read, and tells of those without effect. */
void config_moved_load(struct config *c, enum config_preset program, const char *const *env,
                       struct config_problems *problems);

#endif
