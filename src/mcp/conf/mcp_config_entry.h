/* mcp_config_entry.h -- inside the reader of MCP server entries.
 *
 * mcp_config.c finds the entries, mcp_config_entry.c reads them key by key,
 * mcp_config_key.c knows the keys' names, mcp_config_value.c turns one value
 * into one field, and mcp_config_rule.c knows what goes together. */
#ifndef ANTIPHON_MCP_CONF_MCP_CONFIG_ENTRY_H
#define ANTIPHON_MCP_CONF_MCP_CONFIG_ENTRY_H

#include "base/arena.h"
#include "mcp/conf/mcp_config.h"

/* A file that is being read. */
struct mcp_reader {
    const struct mcp_config_source *source;
    str text; /* strict JSON, of which everything raw is a part */
    struct config_problems *problems;
    struct arena *memory; /* of the table */
    bool has_secrets;     /* headers, env or tokens stand in the file */
    bool no_memory;
};

/* The keys of an entry, by meaning. */
enum mcp_key {
#define KEY(symbol, name, initial, help) MCP_KEY_##symbol,
#include "mcp/conf/mcp_config_key.def"
    MCP_KEYS,
    MCP_KEY_NONE = MCP_KEYS,
};

/* A value as it stands in the file. */
struct mcp_value {
    str raw;  /* STR_NONE: not given, or null */
    str name; /* the spelling of the key that was used */
};

struct mcp_secret_note {
    str text;
    struct mcp_secret_note *before;
};

/* An entry that is being read. */
struct mcp_entry {
    struct mcp_reader *reader;
    struct mcp_server_conf *server;
    str label_raw; /* its place in the text */
    bool is_guess; /* the entry names no transport, or none that we know */
    struct mcp_value values[MCP_KEYS];
    struct mcp_secret_note *last_secret;
    size_t n_secrets;
};

/* A value inside an entry, for messages. */
struct mcp_where {
    enum mcp_key key; /* MCP_KEY_NONE: the entry as a whole */
    str member;       /* of an object; STR_NONE: none */
    size_t index;     /* of an array; SIZE_MAX: none */
};

struct mcp_where mcp_where_key(enum mcp_key key);

/* Reads one entry into *server. Problems are reported, and the first one that
 * makes the server unusable is kept in it. */
void mcp_entry_read(struct mcp_reader *r, str label_raw, str raw, struct mcp_server_conf *server);

/* Report a problem of the entry: one that makes it unusable, or one that does no harm. */
void mcp_entry_refuse(struct mcp_entry *e, struct mcp_where where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void mcp_entry_warn(struct mcp_entry *e, struct mcp_where where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Warns of an unknown key, and names the one that was probably meant. */
void mcp_entry_warn_unknown(struct mcp_entry *e, str name);

/* The key of that name, or MCP_KEY_NONE. */
enum mcp_key mcp_key_find(str name);

bool mcp_entry_has(const struct mcp_entry *e, enum mcp_key key);

/* Adds to the secrets of the server. text must live as long as the table. */
void mcp_entry_add_secret(struct mcp_entry *e, str text);

/* Readers of values: one kind each. What is not valid is refused and leaves the
 * field as it was; so does a key that is not given. */
void mcp_value_read_text(struct mcp_entry *e, enum mcp_key key, const char **field);
void mcp_value_read_secret(struct mcp_entry *e, enum mcp_key key, struct mcp_secret *field);
void mcp_value_read_pairs(struct mcp_entry *e, enum mcp_key key, struct mcp_pairs *field);
void mcp_value_read_argv(struct mcp_entry *e, const char *const **field);
void mcp_value_read_flag(struct mcp_entry *e, enum mcp_key key, bool *field);
void mcp_value_read_names(struct mcp_entry *e, enum mcp_key key, struct mcp_name_list *field);
void mcp_value_read_count(struct mcp_entry *e, enum mcp_key key, uint64_t least, uint64_t most,
                          uint64_t *field);

/* The number of the word in words, which ends with NULL; several words may have
 * one number. valid says what is. */
struct mcp_word {
    const char *text;
    unsigned number;
};

void mcp_value_read_word(struct mcp_entry *e, enum mcp_key key, const struct mcp_word *words,
                         const char *valid, unsigned *field);

/* Guesses the transport when the entry names none. False when the entry has not
 * what its transport needs, or has what excludes it: refused. */
bool mcp_entry_settle_transport(struct mcp_entry *e);

/* Check what single values cannot tell, and add the secrets inside them. */
void mcp_entry_check_label(struct mcp_entry *e);
void mcp_entry_check_stdio(struct mcp_entry *e);
void mcp_entry_check_http(struct mcp_entry *e);

/* Appends the canonical form, once all other fields are set. */
void mcp_config_canonical(const struct mcp_server_conf *s, struct buf *out);

#endif
