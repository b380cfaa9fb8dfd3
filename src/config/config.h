/* config.h -- what the operator chose.
 *
 * Every key has one name, spelled four ways: max_body in struct config and in
 * the configuration file, --max-body as a flag, ANTIPHON_MAX_BODY in the
 * environment. The keys, their defaults and their meaning are in config.def.
 *
 * Settings of models were keys, too, for all models at once. These old keys go on working in this
 * version, as model_settings with the line `* NAME=WORD` would behind all its lines. They are not
 * shown unless they are given, and one warning says what to write instead. */
#ifndef ANTIPHON_CONFIG_CONFIG_H
#define ANTIPHON_CONFIG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "config/config_problems.h"
#include "wire/dialect/model_setting.h"

/* In the order of the words in config.def. */
enum config_preset {
    CONFIG_PRESET_AUTO,
    CONFIG_PRESET_NONE,
    CONFIG_PRESET_ORS,
    CONFIG_PRESET_VR,
};
enum config_reasoning {
    CONFIG_REASONING_TEXT,
    CONFIG_REASONING_SUMMARY,
    CONFIG_REASONING_OPENRESPONSES,
    CONFIG_REASONING_NONE,
};
enum config_relay { CONFIG_RELAY_OFF, CONFIG_RELAY_COMMON, CONFIG_RELAY_ALL };
enum config_unknown_fields {
    CONFIG_UNKNOWN_FIELDS_IGNORE,
    CONFIG_UNKNOWN_FIELDS_REJECT,
    CONFIG_UNKNOWN_FIELDS_FORWARD,
};
enum config_unsupported_tools { CONFIG_UNSUPPORTED_TOOLS_IGNORE, CONFIG_UNSUPPORTED_TOOLS_REJECT };
enum config_unknown_items { CONFIG_UNKNOWN_ITEMS_REJECT, CONFIG_UNKNOWN_ITEMS_IGNORE };
enum config_count_by {
    CONFIG_COUNT_BY_AUTO,
    CONFIG_COUNT_BY_SERVER,
    CONFIG_COUNT_BY_COMPLETION,
    CONFIG_COUNT_BY_OFF
};
enum config_tls_client_auth {
    CONFIG_TLS_CLIENT_AUTH_OFF,
    CONFIG_TLS_CLIENT_AUTH_OPTIONAL,
    CONFIG_TLS_CLIENT_AUTH_REQUIRE
};
enum config_tls_owner {
    CONFIG_TLS_OWNER_NONE,
    CONFIG_TLS_OWNER_CN,
    CONFIG_TLS_OWNER_SAN,
    CONFIG_TLS_OWNER_FINGERPRINT
};
enum config_store_failure { CONFIG_STORE_FAILURE_FAIL, CONFIG_STORE_FAILURE_CONTINUE };
enum config_resumable { CONFIG_RESUMABLE_STORED, CONFIG_RESUMABLE_BACKGROUND };
enum config_dialect { CONFIG_DIALECT_RESPONSES, CONFIG_DIALECT_ORS };
enum config_mcp_inject { CONFIG_MCP_INJECT_DECLARED, CONFIG_MCP_INJECT_ALWAYS };
enum config_mcp_list_items {
    CONFIG_MCP_LIST_ITEMS_DECLARED,
    CONFIG_MCP_LIST_ITEMS_REMOTE,
    CONFIG_MCP_LIST_ITEMS_NEVER,
};
enum config_mcp_tool_names { CONFIG_MCP_TOOL_NAMES_PREFIXED, CONFIG_MCP_TOOL_NAMES_BARE };
enum config_mcp_results { CONFIG_MCP_RESULTS_TEXT, CONFIG_MCP_RESULTS_JSON };
enum config_mcp_errors { CONFIG_MCP_ERRORS_TEXT, CONFIG_MCP_ERRORS_OBJECT };
enum config_mcp_remote { CONFIG_MCP_REMOTE_OFF, CONFIG_MCP_REMOTE_PUBLIC, CONFIG_MCP_REMOTE_ANY };
enum config_mcp_remote_approval {
    CONFIG_MCP_REMOTE_APPROVAL_ALWAYS,
    CONFIG_MCP_REMOTE_APPROVAL_NEVER,
};
enum config_code_interpreter {
    CONFIG_CODE_INTERPRETER_AUTO,
    CONFIG_CODE_INTERPRETER_OFF,
    CONFIG_CODE_INTERPRETER_REQUIRE,
    CONFIG_CODE_INTERPRETER_STRICT,
};
enum config_code_cgroup {
    CONFIG_CODE_CGROUP_AUTO,
    CONFIG_CODE_CGROUP_REQUIRE,
    CONFIG_CODE_CGROUP_OFF,
};
enum config_code_network {
    CONFIG_CODE_NETWORK_OFF,
    CONFIG_CODE_NETWORK_LISTED,
    CONFIG_CODE_NETWORK_PUBLIC,
};
enum config_search_provider {
    CONFIG_SEARCH_PROVIDER_OFF,
    CONFIG_SEARCH_PROVIDER_SEARXNG,
    CONFIG_SEARCH_PROVIDER_BRAVE,
    CONFIG_SEARCH_PROVIDER_TAVILY,
    CONFIG_SEARCH_PROVIDER_EXA,
    CONFIG_SEARCH_PROVIDER_MCP,
};
enum config_page_fetch { CONFIG_PAGE_FETCH_OFF, CONFIG_PAGE_FETCH_PUBLIC, CONFIG_PAGE_FETCH_ANY };
enum config_chat_tools { CONFIG_CHAT_TOOLS_OFF, CONFIG_CHAT_TOOLS_INJECTED, CONFIG_CHAT_TOOLS_ALL };
enum config_chat_unknown_tools {
    CONFIG_CHAT_UNKNOWN_TOOLS_RETURN,
    CONFIG_CHAT_UNKNOWN_TOOLS_ERROR,
};
enum config_chat_tool_rounds { CONFIG_CHAT_TOOL_ROUNDS_SHOW, CONFIG_CHAT_TOOL_ROUNDS_HIDE };
enum config_chat_results { CONFIG_CHAT_RESULTS_JSON, CONFIG_CHAT_RESULTS_TEXT };
enum config_compaction_tools { CONFIG_COMPACTION_TOOLS_KEEP, CONFIG_COMPACTION_TOOLS_OMIT };
enum config_compaction_role {
    CONFIG_COMPACTION_ROLE_USER,
    CONFIG_COMPACTION_ROLE_ASSISTANT,
    CONFIG_COMPACTION_ROLE_SYSTEM,
    CONFIG_COMPACTION_ROLE_DEVELOPER,
};
enum config_foreign_compaction {
    CONFIG_FOREIGN_COMPACTION_NOTE,
    CONFIG_FOREIGN_COMPACTION_DROP,
    CONFIG_FOREIGN_COMPACTION_REJECT,
};
enum config_metrics {
    CONFIG_METRICS_AUTO,
    CONFIG_METRICS_KEY,
    CONFIG_METRICS_OPEN,
    CONFIG_METRICS_OFF,
};
enum config_log_level {
    CONFIG_LOG_LEVEL_ERROR,
    CONFIG_LOG_LEVEL_WARN,
    CONFIG_LOG_LEVEL_INFO,
    CONFIG_LOG_LEVEL_DEBUG,
};
enum config_traces { CONFIG_TRACES_OFF, CONFIG_TRACES_OTLP };
enum config_log_format { CONFIG_LOG_FORMAT_TEXT, CONFIG_LOG_FORMAT_JSON };

/* Failures that retry_on names. */
enum config_retry {
#define RETRY_WORD(symbol, word, help) CONFIG_RETRY_##symbol,
#include "config/retry_word.def"
#undef RETRY_WORD
};

/* A size and a count that are left to the gateway. */
#define CONFIG_SIZE_AUTO  SIZE_MAX
#define CONFIG_COUNT_AUTO UINT_MAX

/* Most addresses to listen on. */
enum { CONFIG_MAX_LISTEN = 16 };

/* Texts; they point into memory. */
struct config_list {
    const char **items;
    size_t n;
};

/* A field for each key; durations end in _ms, sizes in _bytes. Texts that are
 * empty are NULL; the others point into memory. */
#define CONFIG_FIELD_TEXT(name)     const char *name;
#define CONFIG_FIELD_LIST(name)     struct config_list name;
#define CONFIG_FIELD_SECRET(name)   const char *name;
#define CONFIG_FIELD_SECRETS(name)  struct config_list name;
#define CONFIG_FIELD_DURATION(name) uint64_t name##_ms;
#define CONFIG_FIELD_SIZE(name)     size_t name##_bytes;
#define CONFIG_FIELD_COUNT(name)    unsigned name;
#define CONFIG_FIELD_FLAG(name)     bool name;
#define CONFIG_FIELD_CHOICE(name)   enum config_##name name;
#define CONFIG_FIELD_WORD(name)     const char *name; /* as config.def spells it */

/* Where a value was written. */
enum config_source {
    CONFIG_FROM_DEFAULT,
    CONFIG_FROM_PRESET,
    CONFIG_FROM_FILE,
    CONFIG_FROM_VARIABLE,
    CONFIG_FROM_FLAG,
};

struct config_place {
    enum config_source source;
    bool is_refused; /* what is written there is not valid */
    const char
        *name;   /* the file, the preset, or a variable that is not named like the key; else NULL */
    size_t line; /* in the file, from 1 */
    const char *member; /* its path in a file with another form (config_override.h); else NULL */
};

/* The keys by number, in the order of config.def; behind them the old keys, whose names are settings
 * of models. */
enum config_id {
#define KEY(name, kind, initial, valid, help) CONFIG_KEY_##name,
#include "config/config.def"
#define MODEL_CHOICE(symbol, name, words, values, help)        /* has none */
#define MODEL_SETTING(symbol, name, kind, words, values, help) CONFIG_KEY_##name,
#include "wire/dialect/model_setting.def"
    CONFIG_KEYS
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one exists, in the table's order */
struct config {
#define KEY(name, kind, initial, valid, help) CONFIG_FIELD_##kind(name)
#include "config/config.def"
    const char *of_all_models[MODEL_SETTINGS]; /* words given by old keys; NULL: none */
    struct config_place places[CONFIG_KEYS];   /* of the values */
    struct arena memory;
};

/* What a configuration is made from. */
/* The variables as they are now, for config_sources.env: a list of its own, since setenv() moves that of the
 * process. The caller's to free(); NULL when out of memory. */
const char **config_env_list(char *const *env);

struct config_sources {
    const char *const *args; /* the n_args words after `serve` */
    int n_args;
    const char *const *env; /* "NAME=value", ends with NULL; or NULL: none */
    str file_text;          /* STR_NONE: read the file that --config or ANTIPHON_CONFIG names,
                             * if any; else this stands in its place and nothing is read */
    str dotenv_text;        /* the same for the file .env here, which the preset ors reads */
};

/* Fills *c from, later ones winning: defaults, the preset, the file, the file .env, variables of
 * other programs (moving.def), ANTIPHON_* variables, flags. A variable that is empty
 * counts as not set. A key's list is replaced by the next source; flags of one
 * key add to each other.
 *
 * Returns 0 when there is no error, else -1. *problems, which may hold some
 * already, gets everything found, also behind the first error: each line names
 * the flag, the variable, or the file with its line, what is written there and
 * what would be valid. Secrets never appear. Reads files; nothing of the
 * sources is kept. Finish *c with config_fini() either way. */
int config_load(struct config *c, const struct config_sources *sources,
                struct config_problems *problems);
/* In a configuration that was read again, puts the values of the start back for all keys that are not for
 * that (reload_key.def), and appends the names of those that would have changed. Texts are the start's,
 * which outlives it. */
void config_keep_rest(struct config *now, const struct config *start, struct buf *changed);

/* True when every key has the same value in both, and from the same place. */
bool config_is_same(const struct config *a, const struct config *b);

void config_fini(struct config *c);

/* Appends every key with its value and where that came from, as a file that
 * could be loaded; secrets are shown as ***, in comments. */
void config_show(const struct config *c, struct buf *out);

/* Reads a file that the operator named, of at most 1 MiB, and warns when others may
 * write it. False with the reason among the problems; buf_fini() *out either way. */
bool config_read_file(const char *path, struct buf *out, struct config_problems *problems);

/* Appends the token in a file: its first line, without white space around it. False when it cannot be read or
 * holds none that could stand in a header; wipe and finish *out either way. Blocks. */
bool config_read_token(const char *path, struct buf *out);

/* The upstream as a base to which "/chat/completions" can be appended: no
 * slash at the end and no two in a row, /v1 when there was no path. A copy in a; STR_NONE when out
 * of memory.
 *
 *     http://host:1          http://host:1/v1
 *     https://host/api/v3/   https://host/api/v3
 *     unix:/run/x.sock       unix:/run/x.sock:/v1 */
str config_upstream_base(struct arena *a, str upstream);

/* The set of 1 << enum config_retry that retry_on names. */
unsigned config_retry_set(const struct config *c);

/* The value of Authorization that upstream_key asks for, in the arena. STR_NONE when there is no
 * key, or out of memory. */
str config_upstream_authorization(struct arena *a, const struct config *c);

/* True when an element of listen has one of the marks (enum listen_mark), and an address that other
 * machines reach, as far as its text tells. */
bool config_listens_to_others(const char *listen, unsigned marks);

/* True when other machines are answered at this element of listen without having shown a certificate.
 * Of descriptors nothing is known. */
bool config_answers_strangers(const struct config *c, const char *listen);

/* Text of `antiphon serve --help`. */
void config_help(struct buf *out);

#endif
