/* mcp_config_rule.c -- what goes together in an entry (MCP 1.2, 1.4), and what
 * a URL, a header and a variable may be. */
#include "mcp/conf/mcp_config_entry.h"

#include "base/base64.h"
#include "base/header.h"
#include "base/secrets.h"
#include "base/url.h"
#include "conv/tool_name.h"
#include "http/percent.h"
#include "json/json_read.h"
#include "json/json_text.h"

static void refuse_key(struct mcp_entry *e, enum mcp_key key, const char *what)
{
    mcp_entry_refuse(e, mcp_where_key(key), "%s", what);
}

void mcp_entry_check_label(struct mcp_entry *e)
{
    if (!tool_name_is_clean(e->server->label))
        refuse_key(e, MCP_KEY_NONE, "the label must be 1 to 64 letters, digits, _ or -");
}

/* ---- transports */

static bool is_for_stdio(enum mcp_key key)
{
    return key == MCP_KEY_COMMAND || key == MCP_KEY_ARGS || key == MCP_KEY_ENV ||
           key == MCP_KEY_CWD || key == MCP_KEY_ENV_FILE || key == MCP_KEY_INHERIT_ENV;
}

static bool is_for_http(enum mcp_key key)
{
    return key == MCP_KEY_URL || key == MCP_KEY_HEADERS || key == MCP_KEY_BEARER_TOKEN ||
           key == MCP_KEY_BEARER_TOKEN_ENV || key == MCP_KEY_BEARER_TOKEN_FILE;
}

/* Some programs write every key they know: {} and [] say nothing. */
static bool is_empty_container(str raw)
{
    return (jr_type_of(raw) == JR_OBJECT || jr_type_of(raw) == JR_ARRAY) &&
           str_trim(str_from(raw.p + 1, raw.len - 2)).len == 0;
}

static void note_idle_keys(struct mcp_entry *e, bool (*is_idle)(enum mcp_key key), const char *what)
{
    for (enum mcp_key key = 0; key < MCP_KEYS; key++) {
        if (is_idle(key) && mcp_entry_has(e, key) && !is_empty_container(e->values[key].raw))
            mcp_entry_warn(e, mcp_where_key(key), "has no effect on a server that is %s", what);
    }
}

static bool is_mixed(struct mcp_entry *e)
{
    bool has_url = mcp_entry_has(e, MCP_KEY_URL);

    if (!mcp_entry_has(e, MCP_KEY_COMMAND) || !(has_url || mcp_entry_has(e, MCP_KEY_HEADERS)))
        return false;
    refuse_key(
        e, has_url ? MCP_KEY_URL : MCP_KEY_HEADERS,
        "an entry with a \"command\" has no \"url\" and no \"headers\"; remove one of them, or "
        "make two entries");
    return true;
}

/* Refuses an entry without what its transport needs, and says what it may have meant. */
static void refuse_missing(struct mcp_entry *e)
{
    if (e->is_guess)
        refuse_key(e, MCP_KEY_NONE, "needs a \"command\" to start, or a \"url\" to connect to");
    else if (e->server->transport == MCP_TRANSPORT_STDIO)
        refuse_key(e, MCP_KEY_TYPE,
                   "a stdio server needs a \"command\"; with a \"url\" the type is \"http\"");
    else
        refuse_key(e, MCP_KEY_TYPE,
                   "an HTTP server needs a \"url\"; with a \"command\" the type is \"stdio\"");
}

bool mcp_entry_settle_transport(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;

    if (e->is_guess)
        s->transport = mcp_entry_has(e, MCP_KEY_URL) ? MCP_TRANSPORT_HTTP : MCP_TRANSPORT_STDIO;
    if (is_mixed(e))
        return false;
    if (mcp_entry_has(e, s->transport == MCP_TRANSPORT_STDIO ? MCP_KEY_COMMAND : MCP_KEY_URL))
        return true;
    if (!e->is_guess || !mcp_entry_has(e, MCP_KEY_TYPE)) /* else the type was refused */
        refuse_missing(e);
    return false;
}

/* ---- stdio */

/* A text of the file as it is written there: its references hide what is secret. */
static const char *shown_of(struct mcp_entry *e, enum mcp_key key)
{
    str raw = e->values[key].raw;
    str text = json_text_copy(e->reader->memory, str_from(raw.p + 1, raw.len - 2));

    e->reader->no_memory |= str_is_none(text);
    return text.p;
}

static void check_variables(struct mcp_entry *e)
{
    for (size_t i = 0; i < e->server->env.n; i++) {
        str name = e->server->env.items[i].name;

        if (name.len == 0 || str_find_char(name, '=') < name.len ||
            str_find_char(name, '\0') < name.len)
            refuse_key(e, MCP_KEY_ENV, "a name is empty or has a character that none can have");
    }
}

void mcp_entry_check_stdio(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;

    note_idle_keys(e, is_for_http, "started by a command");
    check_variables(e);
    if (s->argv == NULL)
        return;
    s->shown = shown_of(e, MCP_KEY_COMMAND);
    if (s->argv[1] == NULL && strchr(s->argv[0], ' ') != NULL && strchr(s->argv[0], '/') == NULL)
        mcp_entry_warn(e, mcp_where_key(MCP_KEY_COMMAND),
                       "is one word, since no shell reads it; put the others into \"args\"");
}

/* ---- HTTP */

/* A value may have blanks and tabs inside, but not at its ends. */
static bool is_header_value(str s)
{
    return header_is_value(s) && str_trim(s).len == s.len;
}

/* The transport writes these itself (MCP 5.1, 6.1). */
static bool is_set_by_transport(str name)
{
    static const str names[] = {
        STR_INIT("Accept"),  STR_INIT("Accept-Encoding"), STR_INIT("Connection"),
        STR_INIT("Expect"),  STR_INIT("Keep-Alive"),      STR_INIT("Last-Event-ID"),
        STR_INIT("TE"),      STR_INIT("Trailer"),         STR_INIT("Transfer-Encoding"),
        STR_INIT("Upgrade"),
    };
    static const str starts[] = {STR_INIT("Content-"), STR_INIT("Mcp-")};

    if (str_is_one_of_nocase(name, LIST_OF(names)))
        return true;
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (str_starts_with_nocase(name, starts[i]))
            return true;
    }
    return false;
}

static bool has_bearer(const struct mcp_entry *e)
{
    return mcp_entry_has(e, MCP_KEY_BEARER_TOKEN) || mcp_entry_has(e, MCP_KEY_BEARER_TOKEN_ENV) ||
           mcp_entry_has(e, MCP_KEY_BEARER_TOKEN_FILE);
}

/* True when the header is to be sent. */
static bool check_header(struct mcp_entry *e, const struct mcp_pair *header)
{
    struct mcp_where where = {MCP_KEY_HEADERS, header->name, SIZE_MAX};
    str value = header->value.hidden;
    size_t n = str_find_char(value, ' ');

    if (!header_is_name(header->name)) {
        mcp_entry_refuse(e, where, "is not the name of a header");
        return false;
    }
    if (!is_header_value(value)) {
        mcp_entry_refuse(e, where, "must be printable ASCII without white space at its ends");
        return false;
    }
    if (is_set_by_transport(header->name)) {
        mcp_entry_warn(e, where, "is set by the gateway itself; this one is not sent");
        return false;
    }
    if (has_bearer(e) && str_eq_nocase(header->name, STR("Authorization"))) {
        mcp_entry_warn(e, where, "is not sent, since there is a bearer token");
        return false;
    }
    if (n < value.len) /* "Bearer x": x alone is a secret, too */
        mcp_entry_add_secret(e, str_skip(value, n + 1));
    return true;
}

static void check_headers(struct mcp_entry *e)
{
    struct mcp_pairs *headers = &e->server->headers;
    struct mcp_pair *kept = arena_array(e->reader->memory, headers->n, sizeof(*kept));
    size_t n = 0;

    e->reader->no_memory |= kept == NULL;
    for (size_t i = 0; kept != NULL && i < headers->n; i++) {
        if (check_header(e, &headers->items[i]))
            kept[n++] = headers->items[i];
    }
    *headers = (struct mcp_pairs){kept, n};
}

static void check_bearer(struct mcp_entry *e)
{
    str token = e->server->bearer_token.hidden;

    if (mcp_entry_has(e, MCP_KEY_BEARER_TOKEN) + mcp_entry_has(e, MCP_KEY_BEARER_TOKEN_ENV) +
            mcp_entry_has(e, MCP_KEY_BEARER_TOKEN_FILE) >
        1)
        refuse_key(
            e, MCP_KEY_NONE,
            "has several of \"bearerToken\", \"bearerTokenEnv\" and \"bearerTokenFile\"; keep "
            "one");
    if (str_is_none(token))
        return;
    mcp_entry_add_secret(e, token);
    if (!is_header_value(token) || str_find_char(token, ' ') < token.len)
        refuse_key(e,
                   mcp_entry_has(e, MCP_KEY_BEARER_TOKEN) ? MCP_KEY_BEARER_TOKEN
                                                          : MCP_KEY_BEARER_TOKEN_ENV,
                   "the token must be printable ASCII without white space");
}

/* The URL is sent as it is, so what would end a line or a word in it is none. */
static bool is_url(const struct url *u, str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7F)
            return false;
    }
    return url_is_http(u) && u->host.len > 0;
}

static void add_credentials(struct mcp_entry *e, str credentials)
{
    mcp_entry_add_secret(e, credentials);
    mcp_entry_add_secret(e, str_skip(credentials, str_find_char(credentials, ':') + 1));
}

/* Adds credentials as the URL has them, and as the server gets them: without %XX, and as Basic. */
static void add_credential_secrets(struct mcp_entry *e, str credentials)
{
    str plain = percent_decode(e->reader->memory, credentials), basic;
    struct buf text = {0};

    base64_write(plain, &text);
    basic = arena_dup(e->reader->memory, buf_str(&text));
    e->reader->no_memory |= str_is_none(plain) || str_is_none(basic) || buf_failed(&text);
    secret_buf_fini(&text);
    add_credentials(e, credentials);
    add_credentials(e, plain);
    mcp_entry_add_secret(e, basic);
}

/* Adds the URL's credentials and query, whole and in pieces. */
static void add_url_secrets(struct mcp_entry *e, const struct url *u)
{
    str rest = u->query;

    if (u->userinfo.len > 0)
        add_credential_secrets(e, u->userinfo);
    if (u->query.len > 0)
        mcp_entry_add_secret(e, u->query);
    while (rest.len > 0) {
        str pair = str_from(rest.p, str_find_char(rest, '&'));

        mcp_entry_add_secret(e, str_skip(pair, str_find_char(pair, '=') + 1));
        rest = str_skip(rest, pair.len + 1);
    }
}

/* The URL as the file has it, without credentials and query. */
static const char *shown_url(struct mcp_entry *e)
{
    const char *written = shown_of(e, MCP_KEY_URL);
    struct buf text = {0};
    str shown;

    url_write_shown(str_from_c(written == NULL ? "" : written), &text);
    shown = arena_dup(e->reader->memory, buf_str(&text));
    e->reader->no_memory |= buf_failed(&text) || str_is_none(shown);
    buf_fini(&text);
    return shown.p;
}

static void check_url(struct mcp_entry *e)
{
    struct mcp_server_conf *s = e->server;
    struct url u = url_split(s->url.hidden);

    s->shown = shown_url(e);
    add_url_secrets(e, &u);
    if (!is_url(&u, s->url.hidden))
        refuse_key(e, MCP_KEY_URL, "must begin with http:// or https:// and a host");
    else if (!url_host_is_clear(&u))
        refuse_key(e, MCP_KEY_URL,
                   "has a host or port that is malformed or can be read in two ways; in a user or "
                   "password write @ as %40, / as %2F, \\ as %5C, [ as %5B, ] as %5D");
    while (str_ends_with(u.path, STR("/")))
        u.path.len--;
    s->is_sse_guess = e->is_guess && str_ends_with(u.path, STR("/sse"));
    if (s->is_sse_guess)
        s->transport = MCP_TRANSPORT_SSE;
}

void mcp_entry_check_http(struct mcp_entry *e)
{
    note_idle_keys(e, is_for_stdio, "connected to by its URL");
    if (!str_is_none(e->server->url.hidden))
        check_url(e);
    check_headers(e);
    check_bearer(e);
}
