/* event_check.c -- frames, sequence numbers and the life of the response. */
#include "lib/event_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "lib/event_check_internal.h"

static char words[1024];

bool fault(const struct check *c, const char *format, ...)
{
    int n = snprintf(words, sizeof(words), "frame %zu: ", c->frame);
    va_list args;

    va_start(args, format);
    vsnprintf(words + n, sizeof(words) - (size_t)n, format, args);
    va_end(args);
    return false;
}

const char *text_of(json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text == NULL ? "" : text;
}

/* ---- members */

/* Takes the next word off *list; *ret_optional: it ended in "?". */
static str next_word(const char **list, bool *ret_optional)
{
    size_t n;
    str word;

    *list += strspn(*list, " ");
    n = strcspn(*list, " ");
    word = str_from(*list, n);
    *list += n;
    *ret_optional = str_ends_with(word, STR("?"));
    word.len -= *ret_optional;
    return word;
}

static bool has_word(const char *list, const char *name)
{
    bool optional;

    for (str word = next_word(&list, &optional); word.len > 0; word = next_word(&list, &optional)) {
        if (str_eq(word, str_from_c(name)))
            return true;
    }
    return false;
}

bool check_members(const struct check *c, const char *what, json_t *object, const char *members)
{
    const char *list = members, *key;
    bool optional;
    json_t *value;

    if (!json_is_object(object))
        return fault(c, "%s is no object", what);
    for (str word = next_word(&list, &optional); word.len > 0; word = next_word(&list, &optional)) {
        value = json_object_getn(object, word.p, word.len);
        if (value == NULL && !optional)
            return fault(c, "%s has no %.*s", what, STR_ARG(word));
    }
    json_object_foreach(object, key, value)
    {
        if (!has_word(members, key))
            return fault(c, "%s must not have %s", what, key);
    }
    return true;
}

static bool check_logprob(const struct check *c, json_t *logprob, const char *members)
{
    return check_members(c, "logprob", logprob, members) &&
           ((json_is_string(json_object_get(logprob, "token")) &&
             json_is_number(json_object_get(logprob, "logprob")) &&
             json_is_array(json_object_get(logprob, "bytes"))) ||
            fault(c, "a logprob with members of other types"));
}

bool check_logprobs(const struct check *c, json_t *list)
{
    json_t *logprob, *top;
    size_t i, j;

    if (!json_is_array(list))
        return fault(c, "logprobs are no list");
    json_array_foreach(list, i, logprob)
    {
        if (!check_logprob(c, logprob, "token logprob bytes top_logprobs"))
            return false;
        if (!json_is_array(json_object_get(logprob, "top_logprobs")))
            return fault(c, "top_logprobs are no list");
        json_array_foreach(json_object_get(logprob, "top_logprobs"), j, top)
        {
            if (!check_logprob(c, top, "token logprob bytes"))
                return false;
        }
    }
    return true;
}

/* ---- the response object */

/* Usage may be missing while the response runs, and when it failed. */
static bool check_usage(const struct check *c, json_t *usage, const char *status)
{
    json_t *in = json_object_get(usage, "input_tokens_details");
    json_t *out = json_object_get(usage, "output_tokens_details");
    json_int_t input = json_integer_value(json_object_get(usage, "input_tokens"));
    json_int_t output = json_integer_value(json_object_get(usage, "output_tokens"));

    if (json_is_null(usage))
        return (strcmp(status, "completed") != 0 && strcmp(status, "incomplete") != 0) ||
               fault(c, "no usage in a response that is %s", status);
    return check_members(c, "usage", usage,
                         "input_tokens input_tokens_details output_tokens output_tokens_details "
                         "total_tokens") &&
           check_members(c, "input_tokens_details", in, "cached_tokens cache_write_tokens") &&
           check_members(c, "output_tokens_details", out, "reasoning_tokens") &&
           ((json_integer_value(json_object_get(usage, "total_tokens")) == input + output &&
             json_integer_value(json_object_get(in, "cached_tokens")) <= input &&
             json_integer_value(json_object_get(out, "reasoning_tokens")) <= output) ||
            fault(c, "usage does not add up"));
}

/* Which members belong to which status (CONTRACT 3). */
static bool check_status(const struct check *c, json_t *response, const char *status)
{
    json_t *at = json_object_get(response, "completed_at");
    json_int_t created = json_integer_value(json_object_get(response, "created_at"));

    if (strcmp(text_of(response, "status"), status) != 0)
        return fault(c, "status is %s, not %s", text_of(response, "status"), status);
    if ((strcmp(status, "failed") == 0) != json_is_object(json_object_get(response, "error")))
        return fault(c, "error does not fit status %s", status);
    if ((strcmp(status, "incomplete") == 0) !=
        json_is_object(json_object_get(response, "incomplete_details")))
        return fault(c, "incomplete_details do not fit status %s", status);
    if ((strcmp(status, "completed") == 0) != json_is_integer(at))
        return fault(c, "completed_at does not fit status %s", status);
    if (json_is_integer(at) && json_integer_value(at) < created)
        return fault(c, "completed before it was created");
    return true;
}

/* What the request said is repeated in every response object alike. */
static bool check_identity(const struct check *c, json_t *response)
{
    const char *key;
    json_t *value;

    json_object_foreach(c->first, key, value)
    {
        if (!has_word(response_running_members, key) &&
            !json_equal(value, json_object_get(response, key)))
            return fault(c, "%s of the response changed", key);
    }
    return true;
}

static bool check_snapshot(const struct check *c, json_t *response)
{
    if (json_array_size(json_object_get(response, "output")) > 0)
        return fault(c, "output is not empty while the response runs");
    if (!json_is_null(json_object_get(response, "usage")))
        return fault(c, "usage is known while the response runs");
    return true;
}

static bool check_output(const struct check *c, json_t *response, bool is_completed)
{
    json_t *output = json_object_get(response, "output");

    if (json_array_size(output) != c->n_items)
        return fault(c, "output has %zu items, the stream had %zu", json_array_size(output),
                     c->n_items);
    for (size_t i = 0; i < c->n_items; i++) {
        if (c->items[i].done == NULL)
            return fault(c, "item %zu is still open", i);
        if (!json_equal(c->items[i].done, json_array_get(output, i)))
            return fault(c, "output[%zu] differs from the item as it was closed", i);
        if (is_completed && strcmp(text_of(c->items[i].done, "status"), "incomplete") == 0)
            return fault(c, "item %zu is incomplete in a completed response", i);
    }
    return true;
}

static bool check_error(const struct check *c, json_t *response)
{
    json_t *error = json_object_get(response, "error");

    if (json_is_null(error))
        return true;
    if (!check_members(c, "error", error, "code message type param"))
        return false;
    if (c->error != NULL && (strcmp(text_of(error, "code"), text_of(c->error, "code")) != 0 ||
                             strcmp(text_of(error, "message"), text_of(c->error, "message")) != 0))
        return fault(c, "response.error differs from the error event");
    return true;
}

/* created, queued and in_progress: each once, in this order. A background response begins as
 * queued and says so in its second event; no other does (CONTRACT 4.8). */
static bool check_beginning(struct check *c, const struct event_rule *rule, json_t *response)
{
    bool is_background = json_is_true(json_object_get(response, "background"));
    bool is_queued = strcmp(rule->type, "response.queued") == 0;

    if (c->in_progress || (is_queued && c->queued))
        return fault(c, "%s twice or too late", rule->type);
    if (c->first == NULL) {
        c->first = response;
        return true;
    }
    if (is_queued != (is_background && !c->queued))
        return fault(c, "%s where the other of queued and in_progress belongs", rule->type);
    c->queued = true;
    c->in_progress = !is_queued;
    return true;
}

/* The status an event of this rule shows. */
static const char *shown_status(const struct event_rule *rule, json_t *response)
{
    bool is_queued = strcmp(rule->type, "response.created") == 0 &&
                     json_is_true(json_object_get(response, "background"));

    return is_queued ? "queued" : rule->about;
}

static bool check_response(struct check *c, const struct event_rule *rule, json_t *response)
{
    bool is_created = strcmp(rule->type, "response.created") == 0;
    const char *status = shown_status(rule, response);

    if (is_created != (c->first == NULL))
        return fault(c, is_created ? "created twice" : "not created first");
    if (!check_members(c, "response", response, response_members) ||
        !check_status(c, response, status) || !check_error(c, response) ||
        !check_usage(c, json_object_get(response, "usage"), status) || !check_identity(c, response))
        return false;
    if (strcmp(status, "queued") == 0 || strcmp(status, "in_progress") == 0)
        return check_beginning(c, rule, response) && check_snapshot(c, response);
    c->terminal = response;
    return check_output(c, response, strcmp(status, "completed") == 0);
}

/* ---- one event */

static bool check_order(struct check *c, const struct event_rule *rule)
{
    if (c->terminal != NULL)
        return fault(c, "%s after the terminal event", rule->type);
    if (c->error != NULL && strcmp(rule->type, "response.failed") != 0)
        return fault(c, "%s between error and response.failed", rule->type);
    if (!c->in_progress && strcmp(rule->type, "response.created") != 0 &&
        strcmp(rule->type, "response.queued") != 0 &&
        strcmp(rule->type, "response.in_progress") != 0)
        return fault(c, "%s before response.in_progress", rule->type);
    return true;
}

static bool check_event(struct check *c, const struct event_rule *rule, json_t *event)
{
    if (!check_order(c, rule))
        return false;
    switch (rule->act) {
    case ACT_RESPONSE:
        return check_response(c, rule, json_object_get(event, "response"));
    case ACT_ERROR:
        c->error = event;
        return check_members(c, "error.error", json_object_get(event, "error"),
                             "type code message param") &&
               ((strcmp(text_of(event, "code"), text_of(json_object_get(event, "error"), "code")) ==
                     0 &&
                 strcmp(text_of(event, "message"),
                        text_of(json_object_get(event, "error"), "message")) == 0) ||
                fault(c, "the two halves of the error event differ"));
    case ACT_KEEPALIVE:
        return true;
    default:
        return check_item_event(c, rule, event);
    }
}

static bool is_compact(str json)
{
    bool inside = false;

    for (size_t i = 0; i < json.len; i++) {
        if (inside && json.p[i] == '\\')
            i++;
        else if (json.p[i] == '"')
            inside = !inside;
        else if (!inside && strchr(" \t\n", json.p[i]) != NULL)
            return false;
    }
    return true;
}

static bool check_data(struct check *c, str name, str data)
{
    size_t expected = json_array_size(c->events);
    json_t *event = json_loadb(data.p, data.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const struct event_rule *rule;
    char members[256];

    if (!json_is_object(event)) {
        json_decref(event);
        return fault(c, "data is no JSON object");
    }
    json_array_append_new(c->events, event);
    rule = event_rule_find(text_of(event, "type"));
    if (rule == NULL)
        return fault(c, "unknown event %s", text_of(event, "type"));
    if (!str_eq(name, str_from_c(rule->type)))
        return fault(c, "event: %.*s but type %s", STR_ARG(name), rule->type);
    if (!is_compact(data))
        return fault(c, "JSON with white space");
    if (!json_is_integer(json_object_get(event, "sequence_number")) ||
        json_integer_value(json_object_get(event, "sequence_number")) != (json_int_t)expected)
        return fault(c, "sequence_number is not %zu", expected);
    snprintf(members, sizeof(members), "type sequence_number %s", rule->members);
    return check_members(c, rule->type, event, members) && check_event(c, rule, event);
}

/* ---- frames */

/* What breaks readers that split lines their own way. */
static bool check_bytes(const struct check *c, str stream)
{
    if (!utf8_is_valid(stream))
        return fault(c, "the stream is no UTF-8");
    if (str_starts_with(stream, STR("\xEF\xBB\xBF")))
        return fault(c, "the stream starts with a byte order mark");
    if (str_find_char(stream, '\r') < stream.len)
        return fault(c, "a carriage return");
    if (str_find(stream, STR("\xC2\x85")) < stream.len ||
        str_find(stream, STR("\xE2\x80\xA8")) < stream.len ||
        str_find(stream, STR("\xE2\x80\xA9")) < stream.len)
        return fault(c, "a raw U+0085, U+2028 or U+2029");
    return true;
}

/* frame: its lines, without the blank one. */
static bool check_frame(struct check *c, str frame)
{
    size_t line_end = str_find_char(frame, '\n');
    str first = str_from(frame.p, line_end), second = str_skip(frame, line_end + 1);

    if (str_starts_with(frame, STR(":")))
        return line_end == frame.len || fault(c, "a comment inside a frame");
    if (c->is_done)
        return fault(c, "a frame after [DONE]");
    if (str_eq(frame, STR("data: [DONE]"))) {
        c->is_done = true;
        return c->terminal != NULL || fault(c, "[DONE] before the terminal event");
    }
    if (!str_starts_with(first, STR("event: ")))
        return fault(c, "no event line first");
    if (!str_starts_with(second, STR("data: ")))
        return fault(c, "no data line second");
    if (str_find_char(second, '\n') < second.len)
        return fault(c, "more than one data line");
    return check_data(c, str_skip(first, 7), str_skip(second, 6));
}

static bool check_stream(struct check *c, str stream)
{
    if (!check_bytes(c, stream))
        return false;
    while (stream.len > 0) {
        size_t end = str_find(stream, STR("\n\n"));

        c->frame++;
        if (end == stream.len)
            return fault(c, "no blank line at the end");
        if (!check_frame(c, str_from(stream.p, end)))
            return false;
        stream = str_skip(stream, end + 2);
    }
    if (!c->is_done && !c->allows_cut)
        return fault(c, c->terminal == NULL ? "no terminal event" : "no [DONE]");
    return true;
}

static const char *run(struct check *c, str stream)
{
    bool ok;

    c->events = json_array();
    ok = check_stream(c, stream);
    seen_items_free(c);
    return ok ? NULL : words;
}

const char *event_check(str stream)
{
    struct check c = {.frame = 0};
    const char *what = run(&c, stream);

    json_decref(c.events);
    return what;
}

const char *event_check_interleaved(str stream)
{
    struct check c = {.allows_overlap = true};
    const char *what = run(&c, stream);

    json_decref(c.events);
    return what;
}

const char *event_check_cut(str stream)
{
    struct check c = {.allows_cut = true};
    const char *what = run(&c, stream);

    json_decref(c.events);
    return what;
}

json_t *event_list(str stream)
{
    json_t *events = json_array();

    while (stream.len > 0) {
        size_t end = str_find_char(stream, '\n');
        str line = str_from(stream.p, end);

        if (str_starts_with(line, STR("data: {")))
            json_array_append_new(events, json_loadb(line.p + 6, line.len - 6, 0, NULL));
        stream = str_skip(stream, end + 1);
    }
    return events;
}

/* Start of the last data line that holds an event. */
static str last_event(str stream)
{
    static const str head = STR_INIT("\ndata: {");
    str line = STR("");

    for (size_t at = str_find(stream, head); at < stream.len; at = str_find(stream, head)) {
        stream = str_skip(stream, at + head.len);
        line = stream;
    }
    line.len = str_find_char(line, '\n');
    return line;
}

str event_response(str stream)
{
    static const str before = STR_INIT("\"response\":");
    str line = last_event(stream);
    str response = str_skip(line, str_find(line, before) + before.len);

    if (response.len > 0)
        response.len--; /* the brace that closes the event */
    return response;
}
