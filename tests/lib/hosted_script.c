/* hosted_script.c -- reads the lines and plays them. */
#include "lib/hosted_script.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/num.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/turn_file.h"
#include "response/response_compaction.h"
#include "response/response_hosted.h"

enum { MAX_CALLS = 64 };

struct play {
    struct response *r;
    struct arena *a;
    struct buf *out;
};

/* The next line that is an object, NULL when there is none: a new reference. */
static json_t *next_line(str *lines)
{
    json_t *object = NULL;

    while (object == NULL && lines->len > 0) {
        str line = str_trim(turn_file_line(lines));

        if (line.len > 0)
            object = json_loadb(line.p, line.len, 0, NULL);
    }
    return object;
}

/* Escaped; STR_NONE when out of memory. */
static str text_member(struct arena *a, json_t *object, const char *member)
{
    json_t *value = json_object_get(object, member);
    struct buf text = {.limit = 0};
    str kept;

    json_text_escape(str_from(json_string_value(value), json_string_length(value)), &text);
    kept = buf_failed(&text) ? STR_NONE : arena_dup(a, text.len == 0 ? STR("") : buf_str(&text));
    buf_fini(&text);
    return kept;
}

/* STR_NONE when there is none, or out of memory. */
static str raw_member(struct arena *a, json_t *object, const char *member)
{
    json_t *value = json_object_get(object, member);
    char *raw = value == NULL ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    str kept = raw == NULL ? STR_NONE : arena_dup(a, str_from_c(raw));

    free(raw);
    return kept;
}

static bool fail(struct play *p)
{
    struct err e;

    response_failure(p->r, &e);
    response_fail(p->r, &e, p->out);
    return false;
}

/* ---- a summary */

static bool compact(struct play *p, json_t *line)
{
    const struct usage usage = {
        .known = true,
        .tells_reasoning = true,
        .input = json_integer_value(json_object_get(line, "input_tokens")),
        .output = json_integer_value(json_object_get(line, "output_tokens")),
    };
    struct buf sealed = {.limit = 0};

    buf_c(&sealed, json_string_value(json_object_get(line, "compaction")));
    response_add_summary_usage(p->r, &usage, 0);
    return response_compacted(p->r, &sealed, p->out) || fail(p);
}

/* ---- tools */

static void add_tool(json_t *line, struct tool_set *set, struct arena *a)
{
    const char *type = json_string_value(json_object_get(line, "type"));
    enum hosted_kind hosted = type == NULL ? HOSTED_NONE : hosted_of_type(str_from_c(type));
    str name = text_member(a, line, type == NULL ? "name" : "type");
    struct tool *tool = arena_alloc(a, sizeof(*tool));

    *tool = (struct tool){.kind = type == NULL ? TOOL_MCP : TOOL_HOSTED,
                          .hosted_kind = hosted,
                          .name = name,
                          .upstream_name = name,
                          .server_label = text_member(a, line, "server_label"),
                          .needs_approval = json_is_true(json_object_get(line, "needs_approval")),
                          .sent = !json_is_true(json_object_get(line, "not_allowed"))};
    *(set->last == NULL ? &set->first : &set->last->next) = tool;
    set->last = tool;
    set->n++;
    set->n_sent += tool->sent;
    set->is_restricted = set->is_restricted || !tool->sent;
}

void hosted_script_add_tools(const struct hosted_script *script, struct tool_set *set,
                             struct arena *a)
{
    str rest = script->tools;
    json_t *line;

    while ((line = next_line(&rest)) != NULL) {
        add_tool(line, set, a);
        json_decref(line);
    }
}

bool hosted_script_source(const struct hosted_script *script, const struct cite_marker *marker,
                          struct citation *ret)
{
    str rest = script->sources;

    while (rest.len > 0) {
        str line = str_trim(turn_file_line(&rest)), cursor = jr_member(line, STR("cursor"));
        uint64_t n;

        if (num_uint(cursor, &n) && n == marker->cursor) {
            ret->url = jr_member_string(line, STR("url"));
            ret->title = jr_member_string(line, STR("title"));
            return true;
        }
    }
    return false;
}

/* ---- calls */

/* An array without its brackets. */
static str elements(str array)
{
    return array.len < 2 ? STR("") : str_from(array.p + 1, array.len - 2);
}

static bool end_call(struct play *p, struct output_item *item, json_t *line)
{
    struct hosted_outcome outcome = {.is_failed = json_object_get(line, "error") != NULL};

    outcome.error = raw_member(p->a, line, "error");
    outcome.output = text_member(p->a, line, "output");
    outcome.outputs = raw_member(p->a, line, "outputs");
    outcome.shown = raw_member(p->a, line, "action");
    outcome.tools = elements(raw_member(p->a, line, "tools"));
    if (str_is_none(outcome.is_failed ? outcome.error : outcome.output))
        return fail(p);
    return response_call_ended(p->r, item, &outcome, p->out) || fail(p);
}

/* The action of a search with what was found, or STR_NONE. */
static str with_sources(const struct output_item *item, struct arena *a)
{
    str action = buf_str(&item->text), kept;
    struct buf json = {.limit = 0};

    if (item->kind != OUTPUT_WEB_SEARCH_CALL ||
        str_find(action, STR("{\"type\":\"search\"")) == action.len)
        return STR_NONE;
    buf_append(&json, str_from(action.p, action.len - 1));
    buf_c(&json, ",\"sources\":[{\"type\":\"url\",\"url\":\"https://example.com\"}]}");
    kept = buf_failed(&json) ? STR_NONE : arena_dup(a, buf_str(&json));
    buf_fini(&json);
    return kept;
}

static bool end_unscripted(struct play *p, struct output_item *item, size_t number)
{
    static const struct hosted_outcome outcomes[] = {
        {.output = STR_INIT("found"), .outputs = STR_INIT("[]")},
        {.is_failed = true, .error = STR_INIT("\"timeout\"")},
        {.output = STR_INIT(""), .outputs = STR_INIT("[{\"type\":\"logs\",\"logs\":\"1\"}]")},
        {.is_failed = true,
         .error = STR_INIT("{\"type\":\"http_error\",\"code\":502,\"message\":\"bad gateway\"}")},
    };
    const bool may_fail = item->kind != OUTPUT_TOOL_SEARCH_CALL; /* no search does (CONTRACT 1.9) */
    struct hosted_outcome outcome = outcomes[number % 4 & (may_fail ? 3 : 2)];

    if (may_fail && number % 4 == 2)
        outcome.shown = with_sources(item, p->a);
    return response_call_ended(p->r, item, &outcome, p->out) || fail(p);
}

bool hosted_script_play(str outcomes, struct response *r, struct arena *a, struct buf *out)
{
    struct play p = {.r = r, .a = a, .out = out};
    struct output_item *calls[MAX_CALLS], *call = NULL;
    size_t n = 0;
    bool ok = true;
    json_t *line, *compaction = NULL;

    while (n < MAX_CALLS && (call = response_next_call(r, call)) != NULL)
        calls[n++] = call;
    while (ok && (line = next_line(&outcomes)) != NULL) {
        size_t at = (size_t)json_integer_value(json_object_get(line, "call"));

        if (json_object_get(line, "compaction") != NULL) {
            compaction = line;
            break;
        }
        ok = at >= n || end_call(&p, calls[at], line);
        json_decref(line);
    }
    while (ok && n-- > 0)
        ok = calls[n]->status != OUTPUT_IN_PROGRESS || end_unscripted(&p, calls[n], n);
    ok = ok && (compaction == NULL || compact(&p, compaction));
    json_decref(compaction);
    return ok;
}

/* ---- before the first round */

static bool list(struct play *p, json_t *line)
{
    str label = text_member(p->a, line, "list"), tools = raw_member(p->a, line, "tools");
    struct output_item *item = NULL;
    struct err e;

    if (!str_is_none(label))
        item = response_begin_listing(p->r, label, p->out);
    if (item == NULL)
        return fail(p);
    if (json_object_get(line, "error") == NULL)
        return (!str_is_none(tools) &&
                response_end_listing(p->r, item, str_from(tools.p + 1, tools.len - 2), p->out)) ||
               fail(p);
    tools = text_member(p->a, line, "error");
    if (str_is_none(tools) || !response_fail_listing(p->r, item, tools, p->out))
        return fail(p);
    err_set(&e, ERR_INTERNAL, "Error retrieving tool list from MCP server: '%s'.",
            json_string_value(json_object_get(line, "list")));
    response_fail(p->r, &e, p->out);
    return false;
}

static bool run_approved(struct play *p, json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "approved"));
    str arguments = text_member(p->a, line, "arguments");
    str id = text_member(p->a, line, "approval_request_id");
    struct output_item *item = NULL;

    if (!str_is_none(arguments) && !str_is_none(id))
        item = response_approved_call(p->r, tool_set_find(p->r->conf.tools, str_from_c(name)),
                                      arguments, id, p->out);
    return item == NULL ? fail(p) : end_call(p, item, line);
}

bool hosted_script_begin(const struct hosted_script *script, struct response *r, struct arena *a,
                         struct buf *out)
{
    struct play p = {.r = r, .a = a, .out = out};
    str rest = script->before;
    bool ok = true;
    json_t *line;

    while (ok && (line = next_line(&rest)) != NULL) {
        if (json_object_get(line, "compaction") != NULL)
            ok = compact(&p, line);
        else
            ok = json_object_get(line, "list") != NULL ? list(&p, line) : run_approved(&p, line);
        json_decref(line);
    }
    return ok;
}
