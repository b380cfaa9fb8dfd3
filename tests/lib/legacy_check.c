/* legacy_check.c -- one pass over the frames. */
#include "lib/legacy_check.h"

#include <jansson.h>
#include <stdio.h>

#include "lib/event_check.h"

struct legacy_rule {
    const char *type;
    const char *members[5]; /* besides type; all are there, and no others */
};

static const struct legacy_rule rules[] = {
    {"response.created", {"response"}},
    {"response.in_progress", {"response"}},
    {"response.completed", {"response"}},
    {"response.output_text.delta", {"item_id", "output_index", "content_index", "delta"}},
    {"response.tool_calls.created", {"item_id", "output_index", "tool_call"}},
    {"response.function_call_arguments.delta", {"item_id", "output_index", "delta"}},
    {"response.function_call_arguments.done", {"id", "output_index", "arguments"}},
};

static const char *text_of(json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text == NULL ? "" : text;
}

static const struct legacy_rule *rule_of(json_t *event)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (strcmp(rules[i].type, text_of(event, "type")) == 0)
            return &rules[i];
    }
    return NULL;
}

static bool has_members(json_t *event, const struct legacy_rule *rule)
{
    size_t n = 0;

    while (n < 5 && rule->members[n] != NULL) {
        if (json_object_get(event, rule->members[n]) == NULL)
            return false;
        n++;
    }
    return json_object_size(event) == n + 1;
}

/* arguments: what deltas have said, by item_id. */
static const char *check_arguments(json_t *event, json_t *arguments)
{
    bool is_done = json_object_get(event, "id") != NULL;
    const char *id = text_of(event, is_done ? "id" : "item_id");
    const char *before = text_of(arguments, id), *delta = text_of(event, "delta");

    if (is_done)
        return strcmp(before, text_of(event, "arguments")) == 0 ? NULL
                                                                : "done differs from the deltas";
    if (delta[0] == '\0')
        return "an empty delta";
    json_object_set_new(arguments, id, json_sprintf("%s%s", before, delta));
    return NULL;
}

static const char *check_event(size_t i, size_t n, json_t *event, json_t *arguments)
{
    const struct legacy_rule *rule = rule_of(event);
    json_t *response = json_object_get(event, "response");
    bool is_last = i + 1 == n;

    if (rule == NULL)
        return "an event that the dialect does not have";
    if (!has_members(event, rule))
        return "an event with other members";
    if ((i == 0) != (rule == &rules[0]) || (i == 1 && rule != &rules[1]) ||
        is_last != (rule == &rules[2]))
        return "events in another order";
    if (response != NULL &&
        strcmp(text_of(response, "status"), is_last ? "completed" : "in_progress") != 0)
        return "another status";
    return strstr(rule->type, "arguments") == NULL ? NULL : check_arguments(event, arguments);
}

static const char *check_events(json_t *events)
{
    json_t *arguments = json_object(), *event;
    const char *what = json_array_size(events) < 3 ? "too few events" : NULL;
    size_t i;

    json_array_foreach(events, i, event)
    {
        if (what == NULL)
            what = check_event(i, json_array_size(events), event, arguments);
    }
    json_decref(arguments);
    return what;
}

/* Nothing but data lines and comments, each with a blank line behind. */
static const char *check_frames(str stream)
{
    while (stream.len > 0) {
        size_t end = str_find(stream, STR("\n\n"));
        str frame = str_from(stream.p, end);

        if (end == stream.len)
            return "no blank line at the end";
        if (!str_starts_with(frame, STR("data: {")) && !str_starts_with(frame, STR(":")))
            return "a frame of another kind";
        if (str_find_char(frame, '\n') < frame.len)
            return "a frame of several lines";
        stream = str_skip(stream, end + 2);
    }
    return NULL;
}

const char *legacy_check(str stream)
{
    const char *what = check_frames(stream);
    json_t *events;

    if (what != NULL)
        return what;
    events = event_list(stream);
    what = check_events(events);
    json_decref(events);
    return what;
}
