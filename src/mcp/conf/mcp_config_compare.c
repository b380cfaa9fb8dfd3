/* mcp_config_compare.c -- which servers a new file leaves as they are (MCP 1.6).
 *
 * A server's canonical form is what its entry came to mean: after defaults,
 * other names of keys and variables, with pairs in order of their names. What
 * is written differently and means the same does not restart a server. */
#include <stdlib.h>

#include "json/json_write.h"
#include "mcp/conf/mcp_config.h"
#include "mcp/conf/mcp_config_entry.h"

static int compare_names(const void *a, const void *b)
{
    return str_order(((const struct mcp_pair *)a)->name, ((const struct mcp_pair *)b)->name);
}

static void write_pairs(struct jw *w, const char *key, const struct mcp_pairs *pairs)
{
    struct mcp_pair *sorted = calloc(pairs->n + 1, sizeof(*sorted));

    if (sorted == NULL) {
        w->out->failed = true;
        return;
    }
    for (size_t i = 0; i < pairs->n; i++)
        sorted[i] = pairs->items[i];
    qsort(sorted, pairs->n, sizeof(*sorted), compare_names);
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < pairs->n; i++) {
        jw_string(w, sorted[i].name);
        jw_string(w, sorted[i].value.hidden);
    }
    jw_array_end(w);
    free(sorted);
}

static void write_names(struct jw *w, const char *key, const struct mcp_name_list *names)
{
    jw_key(w, key);
    if (!names->is_given) {
        jw_null(w);
        return;
    }
    jw_array(w);
    for (size_t i = 0; i < names->n; i++)
        jw_string(w, names->items[i]);
    jw_array_end(w);
}

static void write_words(struct jw *w, const char *key, const char *const *words)
{
    jw_key(w, key);
    jw_array(w);
    for (; words != NULL && *words != NULL; words++)
        jw_string(w, str_from_c(*words));
    jw_array_end(w);
}

static void write_filter(struct jw *w, const char *key, const struct mcp_filter *f)
{
    jw_key(w, key);
    jw_object(w);
    write_names(w, "tool_names", &f->names);
    jw_key_int(w, "hint", f->hint);
    jw_object_end(w);
}

static void write_approval(struct jw *w, const struct mcp_approval *a)
{
    jw_key(w, "approval");
    jw_object(w);
    jw_key_int(w, "mode", a->mode);
    write_filter(w, "always", &a->always);
    write_filter(w, "never", &a->never);
    write_names(w, "also_never", &a->also_never);
    jw_object_end(w);
}

static void write_connection(struct jw *w, const struct mcp_server_conf *s)
{
    jw_key_int(w, "transport", s->transport);
    jw_key_bool(w, "is_sse_guess", s->is_sse_guess);
    write_words(w, "argv", s->argv);
    write_pairs(w, "env", &s->env);
    write_names(w, "inherit_env", &s->inherit_env);
    jw_key_bool(w, "inherits_all", s->inherits_all);
    jw_key_string(w, "cwd", str_from_c(s->cwd));
    jw_key_string(w, "env_file", str_from_c(s->env_file));
    jw_key_string(w, "url", s->url.hidden);
    write_pairs(w, "headers", &s->headers);
    jw_key_string(w, "bearer_token", s->bearer_token.hidden);
    jw_key_string(w, "bearer_token_file", str_from_c(s->bearer_token_file));
}

static void write_limits(struct jw *w, const struct mcp_server_conf *s)
{
    jw_key_int(w, "startup_timeout", (int64_t)s->startup_timeout_ms);
    jw_key_int(w, "call_timeout", (int64_t)s->call_timeout_ms);
    jw_key_int(w, "max_call", (int64_t)s->max_call_ms);
    jw_key_int(w, "refresh_interval", (int64_t)s->refresh_interval_ms);
    jw_key_int(w, "max_concurrency", (int64_t)s->max_concurrency);
    jw_key_int(w, "max_message", (int64_t)s->max_message_bytes);
    jw_key_int(w, "max_result", (int64_t)s->max_result_bytes);
}

void mcp_config_canonical(const struct mcp_server_conf *s, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "problem", str_from_c(s->problem));
    jw_key_bool(&w, "is_enabled", s->is_enabled);
    jw_key_bool(&w, "is_required", s->is_required);
    write_connection(&w, s);
    write_limits(&w, s);
    jw_key_int(&w, "protocol", s->protocol);
    jw_key_int(&w, "inject", s->inject);
    write_names(&w, "allowed_tools", &s->allowed_tools);
    write_names(&w, "excluded_tools", &s->excluded_tools);
    write_approval(&w, &s->approval);
    jw_object_end(&w);
}

void mcp_config_compare(const struct mcp_config *old, const struct mcp_config *now,
                        void (*on_server)(void *arg, enum mcp_change change,
                                          const struct mcp_server_conf *old,
                                          const struct mcp_server_conf *now),
                        void *arg)
{
    static const struct mcp_config empty;

    old = old == NULL ? &empty : old;
    now = now == NULL ? &empty : now;
    for (size_t i = 0; i < now->n; i++) {
        const struct mcp_server_conf *after = &now->servers[i];
        const struct mcp_server_conf *before = mcp_config_find(old, after->label);

        if (before == NULL)
            on_server(arg, MCP_NEW, NULL, after);
        else if (str_eq(before->canonical.hidden, after->canonical.hidden))
            on_server(arg, MCP_UNCHANGED, before, after);
        else
            on_server(arg, MCP_CHANGED, before, after);
    }
    for (size_t i = 0; i < old->n; i++) {
        if (mcp_config_find(now, old->servers[i].label) == NULL)
            on_server(arg, MCP_GONE, &old->servers[i], NULL);
    }
}
