/* event_check_hosted.c -- what the gateway does itself: listings, and calls of MCP tools. */
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
    bool begins = strcmp(rule->text, "in_progress") == 0;
    bool is_known = item->rule->text == NULL || item->has_text || is_approved(item->added);

    if (strcmp(item->rule->type, rule->about) != 0)
        return fault(c, "%s for a %s", rule->type, item->rule->type);
    if (begins ? item->state != NULL : !state_is(item, "in_progress"))
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

bool check_hosted_added(const struct check *c, const struct item_rule *rule, json_t *item)
{
    if (json_object_get(item, "server_label") != NULL &&
        !is_text(json_object_get(item, "server_label")))
        return fault(c, "a %s without server_label", rule->type);
    if (is_given(json_object_get(item, "output")) || is_given(json_object_get(item, "error")) ||
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

bool check_hosted_done(const struct check *c, const struct seen_item *item, json_t *done)
{
    return item->rule->has_status ? check_call_done(c, item, done) : check_list_done(c, item, done);
}
