/* mcp_config_entry.c -- an entry, key by key.
 *
 * The members are gathered by meaning first, whatever they are called; then
 * each is read by its kind, and then the entry is looked at as a whole. All of
 * that goes on behind a mistake, so that one look at the messages is enough. */
#include "mcp/conf/mcp_config_entry.h"

#include "base/secrets.h"
#include "child/child_spawn.h"
#include "json/json_read.h"
#include "json/json_relax.h"
#include "json/json_text.h"
#include "mcp/conf/mcp_env.h"
#include "mcp/proto/mcp_result.h"

/* Limits of values. */
enum {
    MAX_MS = 24 * 60 * 60 * 1000,
    SECONDS_BELOW = 1000, /* of "timeout" */
    MOST_CONCURRENCY = 1024,
    LEAST_BYTES = 1024,
    MOST_BYTES = 1024 * 1024 * 1024,
};

void mcp_entry_add_secret(struct mcp_entry *e, str text)
{
    struct mcp_secret_note *note = arena_alloc(e->reader->memory, sizeof(*note));

    if (note == NULL) {
        e->reader->no_memory = true;
        return;
    }
    *note = (struct mcp_secret_note){text, e->last_secret};
    e->last_secret = note;
    e->n_secrets++;
}

static void gather_member(struct mcp_entry *e, str name, str raw)
{
    enum mcp_key key = mcp_key_find(name);
    struct mcp_value *value;

    if (key == MCP_KEY_NONE) {
        mcp_entry_warn_unknown(e, name);
        return;
    }
    if (jr_type_of(raw) == JR_NULL)
        return;
    value = &e->values[key];
    if (mcp_entry_has(e, key))
        mcp_entry_warn(e, mcp_where_key(key), "%s; the last one counts",
                       str_eq(value->name, name) ? "is there twice"
                                                 : "is there under another name as well");
    *value = (struct mcp_value){raw, name};
}

static void gather_members(struct mcp_entry *e, str raw)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT)) {
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_NONE), "must be an object, { ... }");
        return;
    }
    while (jr_next_member(&j, &name)) {
        str copy = arena_dup(e->reader->memory, name); /* jr_raw() may overwrite it */

        gather_member(e, copy, jr_raw(&j));
    }
}

static void read_state(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;
    bool is_disabled = false;

    mcp_value_read_flag(e, MCP_KEY_REQUIRED, &s->is_required);
    mcp_value_read_flag(e, MCP_KEY_ENABLED, &s->is_enabled);
    mcp_value_read_flag(e, MCP_KEY_DISABLED, &is_disabled);
    s->is_enabled = s->is_enabled && !is_disabled;
    if (s->is_required && !s->is_enabled) {
        mcp_entry_warn(e, mcp_where_key(MCP_KEY_REQUIRED), "has no effect on a disabled server");
        s->is_required = false;
    }
}

static void read_transport(struct mcp_entry *e)
{
    static const struct mcp_word words[] = {
        {"stdio", MCP_TRANSPORT_STDIO},
        {"sse", MCP_TRANSPORT_SSE},
        {"http", MCP_TRANSPORT_HTTP},
        {"streamable-http", MCP_TRANSPORT_HTTP},
        {"streamable_http", MCP_TRANSPORT_HTTP},
        {"streamableHttp", MCP_TRANSPORT_HTTP},
        {NULL, 0},
    };
    const unsigned none = MCP_TRANSPORT_SSE + 1;
    unsigned transport = none;

    if (jr_type_of(e->values[MCP_KEY_TYPE].raw) == JR_OBJECT)
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_TYPE),
                         "must be a word; write the members of this object into the entry itself");
    else
        mcp_value_read_word(e, MCP_KEY_TYPE, words,
                            "\"stdio\", \"http\", \"streamable-http\" or \"sse\"", &transport);
    e->is_guess = transport == none;
    if (transport != none)
        e->server->transport = (enum mcp_transport)transport;
}

static void read_limits(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;
    uint64_t timeout = 0, message = s->max_message_bytes, result = s->max_result_bytes;

    mcp_value_read_count(e, MCP_KEY_STARTUP_TIMEOUT, 1, MAX_MS, &s->startup_timeout_ms);
    mcp_value_read_count(e, MCP_KEY_TIMEOUT, 1, MAX_MS, &timeout);
    if (timeout != 0)
        s->call_timeout_ms = timeout < SECONDS_BELOW ? timeout * 1000 : timeout;
    mcp_value_read_count(e, MCP_KEY_CALL_TIMEOUT, 1, MAX_MS, &s->call_timeout_ms);
    s->max_call_ms = MCP_MAX_CALL_FACTOR * s->call_timeout_ms;
    mcp_value_read_count(e, MCP_KEY_MAX_CALL, 1, MAX_MS, &s->max_call_ms);
    mcp_value_read_count(e, MCP_KEY_REFRESH_INTERVAL, 1, MAX_MS, &s->refresh_interval_ms);
    mcp_value_read_count(e, MCP_KEY_MAX_CONCURRENCY, 1, MOST_CONCURRENCY, &s->max_concurrency);
    mcp_value_read_count(e, MCP_KEY_MAX_MESSAGE, LEAST_BYTES, MOST_BYTES, &message);
    mcp_value_read_count(e, MCP_KEY_MAX_RESULT, LEAST_BYTES, MOST_BYTES, &result);
    s->max_message_bytes = (size_t)message;
    s->max_result_bytes = (size_t)result;
}

static void read_choices(struct mcp_entry *e)
{
    static const struct mcp_word protocols[] = {
        {"auto", MCP_PROTOCOL_AUTO},
        {"legacy", MCP_PROTOCOL_LEGACY},
        {"2026-07-28", MCP_PROTOCOL_2026_07_28},
        {NULL, 0},
    };
    static const struct mcp_word injects[] = {
        {"declared", MCP_INJECT_DECLARED},
        {"always", MCP_INJECT_ALWAYS},
        {NULL, 0},
    };
    unsigned protocol = MCP_PROTOCOL_AUTO, inject = MCP_INJECT_DEFAULT;

    mcp_value_read_word(e, MCP_KEY_PROTOCOL, protocols, "\"auto\", \"legacy\" or \"2026-07-28\"",
                        &protocol);
    mcp_value_read_word(e, MCP_KEY_INJECT, injects, "\"declared\" or \"always\"", &inject);
    e->server->protocol = (enum mcp_protocol)protocol;
    e->server->inject = (enum mcp_inject)inject;
}

static void read_tools(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;
    str approval = e->values[MCP_KEY_REQUIRE_APPROVAL].raw;
    struct buf why = {0};

    mcp_value_read_names(e, MCP_KEY_ALLOWED_TOOLS, &s->allowed_tools);
    mcp_value_read_names(e, MCP_KEY_EXCLUDED_TOOLS, &s->excluded_tools);
    if (!str_is_none(approval) &&
        mcp_approval_read(approval, e->reader->memory, &s->approval, &why) == -1)
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_REQUIRE_APPROVAL), "%s", buf_cstr(&why));
    mcp_value_read_names(e, MCP_KEY_ALWAYS_ALLOW, &s->approval.also_never);
    buf_fini(&why);
}

static void read_inherited(struct mcp_entry *e)
{
    str raw = e->values[MCP_KEY_INHERIT_ENV].raw;

    e->server->inherits_all = str_eq(raw, STR("\"all\""));
    if (e->server->inherits_all)
        return;
    if (jr_type_of(raw) == JR_STRING)
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_INHERIT_ENV),
                         "must be \"all\" or an array of names");
    else
        mcp_value_read_names(e, MCP_KEY_INHERIT_ENV, &e->server->inherit_env);
}

static void read_stdio(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;

    mcp_value_read_argv(e, &s->argv);
    mcp_value_read_pairs(e, MCP_KEY_ENV, &s->env);
    mcp_value_read_text(e, MCP_KEY_CWD, &s->cwd);
    mcp_value_read_text(e, MCP_KEY_ENV_FILE, &s->env_file);
    read_inherited(e);
    mcp_entry_check_stdio(e);
}

static void read_bearer_variable(struct mcp_entry *e)
{
    const char *name = NULL;
    str value;

    mcp_value_read_text(e, MCP_KEY_BEARER_TOKEN_ENV, &name);
    if (name == NULL)
        return;
    value = child_env_get(e->reader->source->env, str_from_c(name));
    if (value.len == 0) {
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_BEARER_TOKEN_ENV),
                         "the environment variable %s is not set",
                         config_quote(str_from_c(name)).text);
        return;
    }
    e->server->bearer_token.hidden = arena_dup(e->reader->memory, value);
    e->reader->no_memory |= str_is_none(e->server->bearer_token.hidden);
}

static void read_http(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;

    mcp_value_read_secret(e, MCP_KEY_URL, &s->url);
    mcp_value_read_pairs(e, MCP_KEY_HEADERS, &s->headers);
    mcp_value_read_secret(e, MCP_KEY_BEARER_TOKEN, &s->bearer_token);
    read_bearer_variable(e);
    mcp_value_read_text(e, MCP_KEY_BEARER_TOKEN_FILE, &s->bearer_token_file);
    mcp_entry_check_http(e);
}

/* Values that make MCP 1.7 ask who else may read the file. */
static bool holds_secrets(const struct mcp_entry *e)
{
    return e->server->env.n > 0 || e->server->headers.n > 0 ||
           mcp_entry_has(e, MCP_KEY_BEARER_TOKEN);
}

static void keep_secrets(struct mcp_entry *e)
{
    str *secrets = arena_array(e->reader->memory, e->n_secrets, sizeof(*secrets));
    size_t n = 0;

    if (secrets == NULL) {
        e->reader->no_memory = true;
        return;
    }
    for (const struct mcp_secret_note *note = e->last_secret; note != NULL; note = note->before)
        secrets[n++] = note->text;
    e->server->secrets = secrets;
    e->server->n_secrets = n;
}

static void keep_canonical(struct mcp_entry *e)
{
    struct buf form = {0};

    mcp_config_canonical(e->server, &form);
    if (!buf_failed(&form))
        e->server->canonical.hidden = arena_dup(e->reader->memory, buf_str(&form));
    e->reader->no_memory |= str_is_none(e->server->canonical.hidden);
    secret_buf_fini(&form);
}

void mcp_entry_read(struct mcp_reader *r, str label_raw, str raw, struct mcp_server_conf *server)
{
    const struct mcp_config_defaults *d = &r->source->defaults;
    const uint64_t call_ms = d->call_timeout_ms != 0 ? d->call_timeout_ms : MCP_CALL_TIMEOUT_MS;
    struct mcp_entry e = {.reader = r, .server = server, .label_raw = label_raw};

    *server = (struct mcp_server_conf){
        .label = json_text_copy(r->memory, label_raw),
        .is_enabled = true,
        .shown = "",
        .startup_timeout_ms = MCP_STARTUP_TIMEOUT_MS,
        .call_timeout_ms = call_ms,
        .max_call_ms = MCP_MAX_CALL_FACTOR * call_ms,
        .max_concurrency = MCP_MAX_CONCURRENCY,
        .max_message_bytes = MCP_MAX_MESSAGE_BYTES,
        .max_result_bytes = d->result_bytes != 0 ? d->result_bytes : MCP_RESULT_LIMIT_BYTES,
    };
    r->no_memory |= str_is_none(server->label);
    json_relax_place(r->text, (size_t)(label_raw.p - r->text.p), &server->line, &(size_t){0});
    gather_members(&e, raw);
    read_state(&e);
    mcp_entry_check_label(&e);
    if (jr_type_of(raw) == JR_OBJECT) {
        read_transport(&e);
        if (mcp_entry_settle_transport(&e))
            (server->transport == MCP_TRANSPORT_STDIO ? read_stdio : read_http)(&e);
        read_limits(&e);
        read_choices(&e);
        read_tools(&e);
    }
    r->has_secrets |= holds_secrets(&e);
    keep_secrets(&e);
    keep_canonical(&e);
}
