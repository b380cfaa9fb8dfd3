/* config_rule.c -- what a single value cannot tell: keys that contradict each
 * other, and files that are not there.
 *
 * A rule that looks at a value which was refused would only repeat that, so it
 * is not asked. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "base/num.h"
#include "base/url.h"
#include "config/config_key.h"

enum { COMMON_POOL_IDLE_MS = 90000 };

struct address {
    str host;
    uint64_t port; /* 0: none, or another each time */
};

static bool is_unix(const char *address)
{
    return address != NULL && str_starts_with(str_from_c(address), STR("unix:"));
}

static bool is_https(const struct config *c)
{
    struct url u = url_split(str_from_c(c->upstream));

    return url_is_https(&u);
}

/* Host and port of HOST:PORT, or of HOST with the port that is usual. */
static struct address address_of(str s, uint64_t usual_port)
{
    struct address a = {s, usual_port};
    str port;

    if (config_split_address(s, &a.host, &port))
        (void)num_uint(port, &a.port);
    if (str_eq_nocase(a.host, STR("localhost")))
        a.host = STR("127.0.0.1");
    return a;
}

static struct address upstream_address(const struct config *c)
{
    struct url u = url_split(str_from_c(c->upstream));

    return address_of(u.authority, url_is_https(&u) ? 443 : 80);
}

static bool is_loopback(str host)
{
    return str_starts_with(host, STR("127.")) || str_eq(host, STR("[::1]"));
}

/* Is it a TCP address, as far as the text tells? */
static bool has_address(const struct listen_spec *listen)
{
    return !listen_spec_is_unix(listen) && !listen_spec_is_descriptor(listen);
}

/* Does listening on these hosts take in connections to that one? */
static bool covers(str listen, str host)
{
    bool is_ipv6 = str_starts_with(host, STR("["));

    if (listen.len == 0 || str_eq(listen, STR("[::]")))
        return is_loopback(host);
    if (str_eq(listen, STR("0.0.0.0")))
        return is_loopback(host) && !is_ipv6;
    return str_eq_nocase(listen, host);
}

/* "unix:/a" and "unix:/a:/v1" are the same socket. */
static bool is_same_socket(const struct listen_spec *listen, const char *upstream)
{
    size_t path = strlen("unix:");

    return listen_spec_is_unix(listen) &&
           str_eq(listen->address, str_from(upstream, path + strcspn(upstream + path, ":")));
}

static bool calls_itself(const struct config *c)
{
    for (size_t i = 0; c->upstream != NULL && c->proxy == NULL && i < c->listen.n; i++) {
        const struct listen_spec listen = listen_spec_of(c->listen.items[i]);
        struct address own, theirs;

        if (is_unix(c->upstream)) {
            if (is_same_socket(&listen, c->upstream))
                return true;
            continue;
        }
        own = address_of(listen.address, 0);
        theirs = upstream_address(c);
        if (has_address(&listen) && own.port != 0 && own.port == theirs.port &&
            covers(own.host, theirs.host))
            return true;
    }
    return false;
}

static bool listens_nowhere(const struct config *c)
{
    return c->listen.n == 0;
}

static bool listens_too_often(const struct config *c)
{
    return c->listen.n > CONFIG_MAX_LISTEN;
}

/* An unset variable on the command line must not open the gateway to everybody. */
static bool key_is_empty(const struct config *c)
{
    return c->api_key.n == 0 && c->places[CONFIG_KEY_api_key].source == CONFIG_FROM_FLAG;
}

static bool keys_file_is_empty(const struct config *c)
{
    return c->api_keys_file == NULL &&
           c->places[CONFIG_KEY_api_keys_file].source == CONFIG_FROM_FLAG;
}

static bool encryption_key_is_empty(const struct config *c)
{
    return c->encryption_keys.n == 0 &&
           c->places[CONFIG_KEY_encryption_keys].source == CONFIG_FROM_FLAG;
}

static bool clients_know_encryption_key(const struct config *c)
{
    for (size_t i = 0; i < c->encryption_keys.n; i++) {
        for (size_t k = 0; k < c->api_key.n; k++) {
            if (strcmp(c->encryption_keys.items[i], c->api_key.items[k]) == 0)
                return true;
        }
    }
    return false;
}

static bool asks_for_no_key(const struct config *c)
{
    return c->api_key.n == 0 && c->api_keys_file == NULL;
}

static bool every_page_is_served(const struct config *c)
{
    bool is_every = false;

    for (size_t i = 0; i < c->cors_origins.n; i++)
        is_every |= strcmp(c->cors_origins.items[i], "*") == 0;
    return is_every && asks_for_no_key(c);
}

/* Can other machines connect? Of a descriptor nothing is known yet. */
static bool is_public(const struct listen_spec *listen)
{
    return has_address(listen) && !is_loopback(address_of(listen->address, 0).host);
}

bool config_listens_to_others(const char *text, unsigned marks)
{
    const struct listen_spec listen = listen_spec_of(text);

    return is_public(&listen) && (listen.marks & marks) != 0;
}

/* Listeners with +metrics and +admin have rules of their own for keys. */
bool config_answers_strangers(const struct config *c, const char *text)
{
    const struct listen_spec listen = listen_spec_of(text);
    const bool knows_clients =
        (listen.marks & LISTEN_TLS) != 0 && c->tls_client_auth == CONFIG_TLS_CLIENT_AUTH_REQUIRE;

    return is_public(&listen) && !knows_clients &&
           (listen.marks & (LISTEN_METRICS | LISTEN_ADMIN)) == 0;
}

static bool anyone_is_served(const struct config *c)
{
    const unsigned excused = LISTEN_TLS | LISTEN_METRICS | LISTEN_ADMIN;
    bool is_open = false;

    for (size_t i = 0; i < c->listen.n; i++) {
        const struct listen_spec listen = listen_spec_of(c->listen.items[i]);

        is_open |= is_public(&listen) && (listen.marks & excused) == 0;
    }
    return is_open && asks_for_no_key(c);
}

static bool has_mark(const struct config *c, unsigned mark)
{
    bool is_there = false;

    for (size_t i = 0; i < c->listen.n; i++)
        is_there |= (listen_spec_of(c->listen.items[i]).marks & mark) != 0;
    return is_there;
}

static bool tls_lacks_certificate(const struct config *c)
{
    return has_mark(c, LISTEN_TLS) && c->tls_cert.n == 0;
}

static bool tls_is_idle(const struct config *c)
{
    return !has_mark(c, LISTEN_TLS) && c->tls_cert.n > 0;
}

static bool keys_are_not_paired(const struct config *c)
{
    return c->tls_cert.n != c->tls_key.n;
}

static bool clients_have_no_ca(const struct config *c)
{
    return c->tls_client_auth != CONFIG_TLS_CLIENT_AUTH_OFF && c->tls_client_ca == NULL;
}

static bool client_ca_is_idle(const struct config *c)
{
    return c->tls_client_auth == CONFIG_TLS_CLIENT_AUTH_OFF && c->tls_client_ca != NULL;
}

static bool nobody_shows_certificates(const struct config *c)
{
    return c->tls_owner != CONFIG_TLS_OWNER_NONE &&
           c->tls_client_auth == CONFIG_TLS_CLIENT_AUTH_OFF;
}

static bool ca_file_is_missing(const struct config *c)
{
    return c->ca_file != NULL && access(c->ca_file, R_OK) == -1 && errno != EACCES;
}

static bool ca_file_is_folder(const struct config *c)
{
    struct stat s;

    return c->ca_file != NULL && stat(c->ca_file, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool ca_file_is_closed(const struct config *c)
{
    return c->ca_file != NULL && access(c->ca_file, R_OK) == -1 && errno == EACCES;
}

static bool proxy_leads_nowhere(const struct config *c)
{
    return c->proxy != NULL && c->upstream == NULL && c->upstreams_file == NULL;
}

static bool upstreams_stand_elsewhere(const struct config *c)
{
    return c->upstream != NULL && c->upstreams_file != NULL;
}

static bool keys_stand_elsewhere(const struct config *c)
{
    return c->upstream_key != NULL && c->upstreams_file != NULL;
}

static bool proxy_is_idle(const struct config *c)
{
    return c->proxy != NULL && is_unix(c->upstream);
}

static bool key_can_be_read(const struct config *c)
{
    return c->upstream_key != NULL && c->upstream != NULL && !is_unix(c->upstream) &&
           !is_https(c) && !is_loopback(upstream_address(c).host);
}

static bool certificate_is_not_checked(const struct config *c)
{
    return !c->tls_verify && is_https(c);
}

static bool connections_end_early(const struct config *c)
{
    return c->keep_alive_ms > 0 && c->keep_alive_ms < COMMON_POOL_IDLE_MS;
}

static bool searxng_is_nowhere(const struct config *c)
{
    return c->search_provider == CONFIG_SEARCH_PROVIDER_SEARXNG && c->search_url == NULL;
}

/* HTTP requests to a socket have no name that the service could be asked by. */
static bool search_is_at_a_socket(const struct config *c)
{
    return c->search_url != NULL && is_unix(c->search_url);
}

static bool search_lacks_key(const struct config *c)
{
    return c->search_key == NULL && (c->search_provider == CONFIG_SEARCH_PROVIDER_BRAVE ||
                                     c->search_provider == CONFIG_SEARCH_PROVIDER_TAVILY ||
                                     c->search_provider == CONFIG_SEARCH_PROVIDER_EXA);
}

static bool search_lacks_tool(const struct config *c)
{
    return c->search_provider == CONFIG_SEARCH_PROVIDER_MCP &&
           (c->search_mcp == NULL || c->mcp_config == NULL);
}

static bool egress_is_idle(const struct config *c)
{
    return c->code_network == CONFIG_CODE_NETWORK_OFF && c->code_network_allow.n > 0;
}

struct rule {
    const char *key;   /* the message is about it */
    const char *other; /* the rule looks at it as well; NULL: at none */
    bool is_warning;
    bool (*is_broken)(const struct config *c);
    const char *message;
};

static const struct rule rules[] = {
    {"listen", NULL, false, listens_nowhere, "give at least one address"},
    {"listen", NULL, false, listens_too_often, "more than 16 addresses; remove some"},
    {"listen", "tls_cert", false, tls_lacks_certificate,
     "+tls needs a certificate; give --tls-cert and --tls-key"},
    {"tls_key", "tls_cert", false, keys_are_not_paired,
     "there must be one key for each certificate in tls_cert, in the same order"},
    {"tls_cert", "listen", true, tls_is_idle, "no address in `listen` is marked +tls"},
    {"tls_client_auth", "tls_client_ca", false, clients_have_no_ca,
     "nobody is known who may sign certificates of clients; give --tls-client-ca"},
    {"tls_client_ca", "tls_client_auth", true, client_ca_is_idle,
     "has no effect as long as tls_client_auth is off"},
    {"tls_owner", "tls_client_auth", false, nobody_shows_certificates,
     "clients are not asked for certificates; set tls_client_auth to optional or require"},
    {"api_key", NULL, false, key_is_empty, "the value is empty; give a key, or leave the flag out"},
    {"api_keys_file", NULL, false, keys_file_is_empty,
     "the value is empty; give a file, or leave the flag out"},
    {"encryption_keys", NULL, false, encryption_key_is_empty,
     "the value is empty; give a secret, or leave the flag out"},
    {"encryption_keys", "api_key", false, clients_know_encryption_key,
     "a value is also an api_key, which clients know; give another"},
    {"listen", "api_key", true, anyone_is_served,
     "other machines may connect and no key is asked for; give --api-key or --api-keys-file"},
    {"cors_origins", "api_key", true, every_page_is_served,
     "every web page that somebody opens may read and run everything here, since no key is asked "
     "for; name the pages, or give --api-key or --api-keys-file"},
    {"proxy", "upstream", false, proxy_leads_nowhere,
     "there is no upstream to reach through it; give --upstream as well"},
    {"upstream", "upstreams_file", false, upstreams_stand_elsewhere,
     "upstreams stand in upstreams_file; leave one of the two out"},
    {"upstream_key", "upstreams_file", false, keys_stand_elsewhere,
     "keys of upstreams stand in upstreams_file, as key, key_env or key_file; leave one of the two "
     "out"},
    {"keep_alive", NULL, true, connections_end_early,
     "common clients keep idle connections for 90s and may meet one that is closing"},
    {"search_provider", "search_url", false, searxng_is_nowhere,
     "needs the address of the SearXNG instance; give --search-url"},
    {"search_url", NULL, false, search_is_at_a_socket,
     "searches are not made over unix: sockets; give an http:// or https:// address"},
    {"search_provider", "search_key", false, search_lacks_key,
     "the service wants a key; give it as ANTIPHON_SEARCH_KEY"},
    {"search_provider", "search_mcp", false, search_lacks_tool,
     "needs the server and the tool that searches; give --search-mcp LABEL/TOOL and --mcp-config"},
    {"code_network_allow", "code_network", true, egress_is_idle,
     "has no effect as long as code_network is off"},
};

/* Rules about one upstream; where there are several, each is checked. */
static const struct rule upstream_rules[] = {
    {"upstream", "listen", false, calls_itself,
     "this gateway listens there itself; change the port of one of the two"},
    {"ca_file", NULL, false, ca_file_is_missing, "there is no such file; check its path"},
    {"ca_file", NULL, false, ca_file_is_folder,
     "this is a directory; give a file of certificates in PEM form"},
    {"ca_file", NULL, false, ca_file_is_closed,
     "the gateway's user may not read this file; change its permissions"},
    {"proxy", "upstream", true, proxy_is_idle, "has no effect on a unix: upstream"},
    {"upstream_key", "upstream", true, key_can_be_read,
     "is sent unencrypted to another machine; use https:// if you can"},
    {"tls_verify", "upstream", true, certificate_is_not_checked,
     "anyone on the way to the upstream can read and change everything"},
};

static const struct config_place *place_of(const struct config *c, const char *key)
{
    return &c->places[config_key_find(str_from_c(key))->id];
}

static bool is_usable(const struct config *c, const char *key)
{
    return key == NULL || !place_of(c, key)->is_refused;
}

static bool is_broken(const struct config *c, const struct rule *rule)
{
    return is_usable(c, rule->key) && is_usable(c, rule->other) && rule->is_broken(c);
}

static void report_rule(const struct rule *rule, struct buf *where,
                        struct config_problems *problems)
{
    if (rule->is_warning)
        config_warning(problems, "%s: %s", buf_cstr(where), rule->message);
    else
        config_error(problems, "%s: %s", buf_cstr(where), rule->message);
}

static void append_where(const struct config *c, const char *key, struct buf *out)
{
    config_key_where(c, config_key_find(str_from_c(key)), out);
}

static void check_rules(const struct config *c, const struct rule *list, size_t n,
                        struct config_problems *problems)
{
    for (size_t i = 0; i < n; i++) {
        struct buf where = {0};

        if (!is_broken(c, &list[i]))
            continue;
        append_where(c, list[i].key, &where);
        report_rule(&list[i], &where, problems);
        buf_fini(&where);
    }
}

void config_rules_check(const struct config *c, struct config_problems *problems)
{
    check_rules(c, LIST_OF(rules), problems);
    check_rules(c, LIST_OF(upstream_rules), problems);
}

static bool is_member(const struct config *c, const char *key)
{
    return key != NULL && place_of(c, key)->member != NULL;
}

void config_rules_check_members(const struct config *c, struct config_problems *problems)
{
    for (size_t i = 0; i < COUNT_OF(upstream_rules); i++) {
        const struct rule *rule = &upstream_rules[i];
        struct buf where = {0};

        if ((!is_member(c, rule->key) && !is_member(c, rule->other)) || !is_broken(c, rule))
            continue;
        if (!is_member(c, rule->key)) {
            append_where(c, rule->other, &where);
            buf_c(&where, ": with ");
        }
        append_where(c, rule->key, &where);
        report_rule(rule, &where, problems);
        buf_fini(&where);
    }
}
