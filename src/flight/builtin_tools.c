/* builtin_tools.c -- from the configuration to sandboxes and searchers. */
#include "flight/builtin_tools.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "ev/log.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "net/address_public.h"
#include "sandbox/sandbox.h"

enum { MAX_SEARCH_ANSWER_BYTES = 4 * 1024 * 1024, MAX_FILE_BYTES = 64 * 1024 * 1024 };

/* ---- code interpreter */

struct egress_policy builtin_egress_policy(const struct config *c)
{
    const struct config_list *allow = &c->code_network_allow, *deny = &c->code_network_deny;

    return (struct egress_policy){
        .mode = c->code_network == CONFIG_CODE_NETWORK_PUBLIC ? EGRESS_PUBLIC : EGRESS_LISTED,
        .allowed = {(const char *const *)allow->items, allow->n},
        .denied = {(const char *const *)deny->items, deny->n},
    };
}

struct sandbox_conf builtin_sandbox_conf(const struct config *c, const struct egress_policy *egress)
{
    static const enum jail_cgroup cgroup[] = {
        [CONFIG_CODE_CGROUP_AUTO] = JAIL_CGROUP_AUTO,
        [CONFIG_CODE_CGROUP_REQUIRE] = JAIL_CGROUP_REQUIRE,
        [CONFIG_CODE_CGROUP_OFF] = JAIL_CGROUP_OFF,
    };

    return (struct sandbox_conf){
        .jail = {.python = c->code_python,
                 .env = (const char *const *)environ,
                 .paths = (const char *const *)c->code_paths.items,
                 .n_paths = c->code_paths.n,
                 .user = c->code_user,
                 .cgroup = cgroup[c->code_cgroup],
                 .disk_bytes = c->code_disk_bytes,
                 .max_files = c->code_files,
                 .max_processes = c->code_processes,
                 .cpu_percent = c->code_cpu},
        .run_timeout_ms = c->code_timeout_ms,
        .idle_ms = c->code_idle_ms,
        .memory_bytes = c->code_memory_bytes,
        .output_bytes = c->code_output_bytes,
        .image_bytes = c->code_image_bytes,
        .file_bytes = MAX_FILE_BYTES,
        .max_containers = c->code_containers,
        .max_per_owner = c->code_containers_per_client,
        .max_file_requests = c->code_file_requests,
        .max_file_requests_per_owner = c->code_file_requests_per_client,
        .max_connections = c->code_network_connections,
        .max_connections_per_owner = c->code_network_connections_per_client,
        .egress = c->code_network == CONFIG_CODE_NETWORK_OFF ? NULL : egress,
    };
}

/* "4g" is how the API writes sizes. */
size_t builtin_memory_limit(const struct config *c, str escaped)
{
    char text[16];
    uint64_t bytes;

    if (str_is_none(escaped) || escaped.len + sizeof("iB") > sizeof(text))
        return 0;
    for (size_t i = 0; i < escaped.len; i++)
        text[i] = (char)toupper((unsigned char)escaped.p[i]);
    memcpy(text + escaped.len, "iB", sizeof("iB"));
    if (!num_size_bytes(str_from_c(text), &bytes) || bytes >= c->code_memory_bytes)
        return 0;
    return (size_t)bytes;
}

int builtin_check_network(const struct config *c, str network_policy, str container,
                          struct err *reterr)
{
    str type =
        str_is_none(network_policy) ? STR_NONE : jr_member_string(network_policy, STR("type"));
    char at[64];

    if (str_is_none(network_policy) || (c->code_network == CONFIG_CODE_NETWORK_OFF &&
                                        !str_is_none(type) && json_text_eq(type, STR("disabled"))))
        return 0;
    (void)snprintf(at, sizeof(at), "%.*s%snetwork_policy", STR_ARG(container),
                   str_is_none(container) ? "" : ".");
    err_set_param(
        reterr, ERR_UNSUPPORTED_PARAMETER, at,
        "Unsupported parameter: '%s'. What code may reach is set by the gateway's operator "
        "(code_network).",
        at);
    return -1;
}

static void log_sandboxes(const struct builtin_tools *b)
{
    struct buf text = {.limit = 0};

    sandbox_hub_describe(b->sandboxes, &text);
    log_line(LOG_INFO, "code_interpreter",
             (struct log_field[]){LOG_STR("sandbox", buf_str(&text)), LOG_END});
    buf_fini(&text);
}

/* Each is a line of its own; a gateway that is strict does not start. */
static int check_promises(struct builtin_tools *b, const struct config *c, struct err *reterr)
{
    struct buf all = {.limit = 0};
    str rest;

    (void)sandbox_hub_shortfalls(b->sandboxes, &all);
    rest = buf_str(&all);
    if (rest.len > 0 && c->code_interpreter == CONFIG_CODE_INTERPRETER_STRICT) {
        err_set(reterr, ERR_INTERNAL, "code_interpreter is strict, but %.*s",
                (int)str_find_char(rest, '\n'), rest.p);
        (void)sandbox_hub_free(b->sandboxes);
        b->sandboxes = NULL;
    }
    while (rest.len > 0 && b->sandboxes != NULL) {
        size_t len = str_find_char(rest, '\n');

        log_line(LOG_WARN, "code_interpreter",
                 (struct log_field[]){LOG_STR("weakness", str_from(rest.p, len)), LOG_END});
        rest = str_skip(rest, len < rest.len ? len + 1 : len);
    }
    buf_fini(&all);
    return b->sandboxes == NULL ? -1 : 0;
}

static int open_code(struct builtin_tools *b, const struct config *c, struct err *reterr)
{
    const struct sandbox_conf conf = builtin_sandbox_conf(c, &b->egress);
    struct err e;

    if (c->code_interpreter == CONFIG_CODE_INTERPRETER_OFF) {
        b->why_not[HOSTED_CODE_INTERPRETER] = "It is switched off (code_interpreter).";
        return 0;
    }
    b->sandboxes = sandbox_hub_new(&conf, &e);
    if (b->sandboxes != NULL) {
        log_sandboxes(b);
        return check_promises(b, c, reterr);
    }
    if (c->code_interpreter != CONFIG_CODE_INTERPRETER_AUTO) {
        err_set(reterr, ERR_INTERNAL, "code_interpreter is required and does not work: %s", e.msg);
        return -1;
    }
    (void)snprintf(b->reason, sizeof(b->reason), "%s%s", e.msg,
                   str_ends_with(str_from_c(e.msg), STR(".")) ? "" : ".");
    b->why_not[HOSTED_CODE_INTERPRETER] = b->reason;
    log_msg(LOG_INFO, "the code interpreter is off: %s", b->reason);
    return 0;
}

int builtin_tools_open(struct builtin_tools *b, const struct config *c, struct err *reterr)
{
    *b = (struct builtin_tools){.egress = builtin_egress_policy(c)};
    if (c->search_provider == CONFIG_SEARCH_PROVIDER_OFF)
        b->why_not[HOSTED_WEB_SEARCH] = "No search service is configured (search_provider).";
    return open_code(b, c, reterr);
}

bool builtin_tools_close(struct builtin_tools *b)
{
    return sandbox_hub_free(b->sandboxes);
}

void builtin_tools_health(const struct builtin_tools *b, struct jw *w)
{
    if (b->reason[0] == '\0')
        return;
    jw_key(w, "code_interpreter");
    jw_object(w);
    jw_key_bool(w, "available", false);
    jw_key_string(w, "reason", str_from_c(b->reason));
    jw_object_end(w);
}

/* ---- web search */

bool builtin_searches_by_http(const struct config *c)
{
    return c->search_provider != CONFIG_SEARCH_PROVIDER_OFF &&
           c->search_provider != CONFIG_SEARCH_PROVIDER_MCP;
}

struct search_http_conf builtin_search_conf(const struct config *c)
{
    static const enum search_service services[] = {
        [CONFIG_SEARCH_PROVIDER_SEARXNG] = SEARCH_SEARXNG,
        [CONFIG_SEARCH_PROVIDER_BRAVE] = SEARCH_BRAVE,
        [CONFIG_SEARCH_PROVIDER_TAVILY] = SEARCH_TAVILY,
        [CONFIG_SEARCH_PROVIDER_EXA] = SEARCH_EXA,
    };

    return (struct search_http_conf){
        .service = services[c->search_provider],
        .url = c->search_url,
        .key = c->search_key,
        .timeout_ms = c->search_timeout_ms,
        .max_answer_bytes = MAX_SEARCH_ANSWER_BYTES,
    };
}

struct url_policy builtin_page_policy(const struct config *c)
{
    return (struct url_policy){
        .mode = c->page_fetch == CONFIG_PAGE_FETCH_ANY ? URL_ANY : URL_WEB,
        .allowed = {(const char *const *)c->page_allow.items, c->page_allow.n},
        .denied = {(const char *const *)c->page_deny.items, c->page_deny.n},
    };
}

bool (*builtin_page_guard(const struct config *c))(const struct sockaddr *to)
{
    return c->page_fetch == CONFIG_PAGE_FETCH_ANY ? NULL : address_is_public;
}
