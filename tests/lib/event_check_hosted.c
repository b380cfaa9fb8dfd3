/* event_check_hosted.c -- what the gateway does itself: listings, calls of MCP tools and of those
 * that a model has by itself. */
#include "lib/event_check_internal.h"

static bool is_text(json_t *value)
{
    return json_string_length(value) > 0;
}

static bool is_given(json_t *value)
{
    return value != NULL && !json_is_null(value);
}

static bool state_is(const struct seen_item *item, const char *state)
{
    return item->state != NULL && strcmp(item->state, state) == 0;
}

bool is_approved(json_t *item)
{
    return is_given(json_object_get(item, "approval_request_id"));
}

/* ---- states */

bool check_state(const struct check *c, struct seen_item *item, const struct event_rule *rule)
{
    const char *running = item->rule->running == NULL ? "" : item->rule->running;
    bool begins = strcmp(rule->text, "in_progress") == 0 || strcmp(rule->text, "compacting") == 0;
    const char *before = strcmp(rule->text, running) == 0 ? "in_progress" : running;
    bool is_known = item->rule->text == NULL || item->has_text || is_approved(item->added);

    if (strcmp(item->rule->type, rule->about) != 0)
        return fault(c, "%s for a %s", rule->type, item->rule->type);
    if (begins ? item->state != NULL : !state_is(item, before))
        return fault(c, "%s after %s", rule->type, item->state == NULL ? "added" : item->state);
    if (!begins && !is_known)
        return fault(c, "%s before its arguments were known", rule->type);
    item->state = rule->text;
    return true;
}

/* ---- members */

static bool check_tools(const struct check *c, json_t *tools)
{
    json_t *tool;
    size_t i;

    if (!json_is_array(tools))
        return fault(c, "tools are no list");
    json_array_foreach(tools, i, tool)
    {
        json_t *description = json_object_get(tool, "description");
        json_t *annotations = json_object_get(tool, "annotations");

        if (!check_members(c, "tool", tool, "name input_schema description? annotations?"))
            return false;
        if (!is_text(json_object_get(tool, "name")) ||
            !json_is_object(json_object_get(tool, "input_schema")) ||
            (description != NULL && !json_is_string(description)) ||
            (annotations != NULL && !json_is_object(annotations)))
            return fault(c, "a tool with members of other types");
    }
    return true;
}

static bool check_action(const struct check *c, json_t *item)
{
    static const struct {
        const char *type, *members;
    } rules[] = {
        {"search", "type query queries? sources?"},
        {"open_page", "type url"},
        {"find_in_page", "type url pattern"},
        {"exec", "type command env timeout_ms? working_directory? user?"},
        {"", "commands timeout_ms max_output_length"},
    };
    json_t *action = json_object_get(item, "action");

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (strcmp(text_of(action, "type"), rules[i].type) == 0)
            return check_members(c, rules[i].type, action, rules[i].members);
    }
    return fault(c, "an action of type %s", text_of(action, "type"));
}

bool check_hosted_added(const struct check *c, const struct item_rule *rule, json_t *item)
{
    if (json_object_get(item, "server_label") != NULL &&
        !is_text(json_object_get(item, "server_label")))
        return fault(c, "a %s without server_label", rule->type);
    if (json_object_get(item, "action") != NULL && !check_action(c, item))
        return false;
    if (is_given(json_object_get(item, "outputs")) || is_given(json_object_get(item, "output")) ||
        is_given(json_object_get(item, "error")) ||
        json_object_get(json_object_get(item, "action"), "sources") != NULL ||
        json_array_size(json_object_get(item, "tools")) > 0)
        return fault(c, "a %s was added with what it came to", rule->type);
    return true;
}

static bool check_list_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    json_t *error = json_object_get(done, "error");

    if (!state_is(item, error == NULL ? "completed" : "failed"))
        return fault(c, "a listing closed after %s", item->state == NULL ? "added" : item->state);
    if (error != NULL && (!is_text(error) || json_array_size(json_object_get(done, "tools")) > 0))
        return fault(c, "a failed listing has an error text and no tools");
    return check_tools(c, json_object_get(done, "tools"));
}

/* A page that was named by its place gets its URL when it is known. */
static bool may_change(const char *key, json_t *value)
{
    return strcmp(key, "url") == 0 &&
           str_starts_with(str_from_c(json_string_value(value)), STR("cursor:"));
}

/* What is to be searched stays, what was found comes to it. */
static bool check_search_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(item->added, "action"), key, value)
    {
        if (!may_change(key, value) &&
            !json_equal(value, json_object_get(json_object_get(done, "action"), key)))
            return fault(c, "%s of the action changed", key);
    }
    return check_action(c, done);
}

static bool check_outputs(const struct check *c, json_t *outputs)
{
    json_t *output;
    size_t i;

    if (!json_is_null(outputs) && !json_is_array(outputs))
        return fault(c, "outputs are no list");
    json_array_foreach(outputs, i, output)
    {
        bool is_logs = strcmp(text_of(output, "type"), "logs") == 0;

        if (!is_logs && strcmp(text_of(output, "type"), "image") != 0)
            return fault(c, "an output of type %s", text_of(output, "type"));
        if (!check_members(c, "output", output, is_logs ? "type logs" : "type url"))
            return false;
    }
    return true;
}

/* There are no events for the failure of the model's own tools, and no incomplete searches. */
static bool check_builtin_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    bool is_completed = strcmp(text_of(done, "status"), "completed") == 0;
    bool is_incomplete = strcmp(text_of(done, "status"), "incomplete") == 0;

    if (is_completed != state_is(item, "completed") ||
        (is_incomplete && json_object_get(done, "action") != NULL))
        return fault(c, "a call done with status %s after %s", text_of(done, "status"),
                     item->state == NULL ? "added" : item->state);
    if (json_object_get(done, "action") != NULL)
        return check_search_done(c, item, done);
    return strcmp(item->rule->type, "code_interpreter_call") != 0 ||
           check_outputs(c, json_object_get(done, "outputs"));
}

static bool check_call_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    const char *status = text_of(done, "status");
    bool has_output = is_given(json_object_get(done, "output"));
    bool has_error = is_given(json_object_get(done, "error"));

    if (!state_is(item, strcmp(status, "incomplete") == 0 ? "in_progress" : status))
        return fault(c, "a call done with status %s after %s", status,
                     item->state == NULL ? "added" : item->state);
    if (has_output != state_is(item, "completed") || has_error != state_is(item, "failed"))
        return fault(c, "output and error do not fit status %s", status);
    return true;
}

/* A compaction is announced when all of it is known: it has no end of its own. */
static bool check_compaction_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    if (!state_is(item, "compacting"))
        return fault(c, "a compaction closed after %s",
                     item->state == NULL ? "added" : item->state);
    return is_text(json_object_get(done, "encrypted_content")) ||
           fault(c, "a compaction without encrypted_content");
}

bool check_hosted_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    if (strcmp(item->rule->type, "compaction") == 0)
        return check_compaction_done(c, item, done);
    if (!item->rule->has_status)
        return check_list_done(c, item, done);
    if (strcmp(item->rule->type, "mcp_call") != 0)
        return check_builtin_done(c, item, done);
    return check_call_done(c, item, done);
}
