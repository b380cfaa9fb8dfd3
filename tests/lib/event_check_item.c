/* event_check_item.c -- items, their parts, and that done repeats the deltas. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "lib/event_check_internal.h"

void seen_items_free(struct check *c)
{
    for (size_t i = 0; i < c->n_items; i++) {
        buf_fini(&c->items[i].text);
        json_decref(c->items[i].closed_parts);
        json_decref(c->items[i].logprobs);
        json_decref(c->items[i].annotations);
    }
    free(c->items);
}

static bool says(const struct seen_item *item, json_t *object, const char *member)
{
    json_t *value = json_object_get(object, member);

    return json_is_string(value) &&
           str_eq(str_from(json_string_value(value), json_string_length(value)),
                  buf_str(&item->text));
}

/* ---- the item an event is about */

/* Items that have an id of their own say so; the others only have an index. */
static struct seen_item *find_item(const struct check *c, json_t *event, const char *id)
{
    json_t *index = json_object_get(event, "output_index");
    size_t at = (size_t)json_integer_value(index);
    struct seen_item *item;

    if (!json_is_integer(index) || at >= c->n_items) {
        fault(c, "an event of an item that was never added");
        return NULL;
    }
    item = &c->items[at];
    if (strcmp(text_of(item->added, "id"), id) != 0) {
        fault(c, "item_id %s is not that of item %zu", id, at);
        return NULL;
    }
    if (item->done != NULL) {
        fault(c, "an event of item %zu after its done", at);
        return NULL;
    }
    return item;
}

/* A search for tools that the gateway runs is no call that anybody has to answer. */
static bool is_run_here(json_t *item)
{
    return strcmp(text_of(item, "execution"), "server") == 0 &&
           json_is_null(json_object_get(item, "call_id"));
}

static bool check_item(const struct check *c, const struct item_rule *rule, json_t *item)
{
    char members[256];

    snprintf(members, sizeof(members), "id type %s%s", rule->has_status ? "status " : "",
             rule->members);
    if (!check_members(c, rule->type, item, members))
        return false;
    if (!str_starts_with(str_from_c(text_of(item, "id")), str_from_c(rule->id_prefix)))
        return fault(c, "id %s of a %s", text_of(item, "id"), rule->type);
    if (json_object_get(item, "call_id") != NULL && !is_run_here(item) &&
        text_of(item, "call_id")[0] == '\0')
        return fault(c, "a call without call_id");
    if (json_object_get(item, "phase") != NULL &&
        strcmp(text_of(item, "phase"), "commentary") != 0 &&
        strcmp(text_of(item, "phase"), "final_answer") != 0)
        return fault(c, "phase %s of a %s", text_of(item, "phase"), rule->type);
    if (json_object_get(item, "name") != NULL &&
        json_string_length(json_object_get(item, "name")) == 0) /* it may begin with a NUL */
        return fault(c, "a call without name");
    return true;
}

/* ---- added */

static bool check_new_id(const struct check *c, json_t *item)
{
    const char *id = text_of(item, "id"), *call_id = text_of(item, "call_id");

    for (size_t i = 0; i < c->n_items; i++) {
        if (strcmp(text_of(c->items[i].added, "id"), id) == 0)
            return fault(c, "id %s was used before", id);
        if (call_id[0] != '\0' && strcmp(text_of(c->items[i].added, "call_id"), call_id) == 0)
            return fault(c, "call_id %s was used before", call_id);
    }
    return true;
}

static bool is_empty(json_t *value)
{
    return value == NULL || json_string_length(value) + json_array_size(value) == 0;
}

static bool check_scaffold(const struct check *c, const struct item_rule *rule, json_t *item)
{
    if (rule->has_status && strcmp(text_of(item, "status"), "in_progress") != 0)
        return fault(c, "added with status %s", text_of(item, "status"));
    if (!is_empty(json_object_get(item, "content")) ||
        !is_empty(json_object_get(item, "summary")) ||
        !is_empty(json_object_get(item, "encrypted_content")) ||
        (rule->is_prose && json_object_get(item, "encrypted_content") != NULL) ||
        (rule->text != NULL && !is_approved(item) && !is_empty(json_object_get(item, rule->text))))
        return fault(c, "a %s was added with content", rule->type);
    return check_hosted_added(c, rule, item);
}

/* Calls may be open side by side where that is allowed. */
static bool check_overlap(const struct check *c)
{
    for (size_t i = 0; i < c->n_items; i++) {
        if (c->items[i].done == NULL && (c->items[i].rule->is_prose || !c->allows_overlap))
            return fault(c, "an item was added while %s %zu was open", c->items[i].rule->type, i);
    }
    return true;
}

static bool item_added(struct check *c, json_t *event)
{
    json_t *item = json_object_get(event, "item"), *index = json_object_get(event, "output_index");
    const struct item_rule *rule = item_rule_find(text_of(item, "type"));
    struct seen_item *items;

    if (rule == NULL)
        return fault(c, "unknown item type %s", text_of(item, "type"));
    if (!json_is_integer(index) || json_integer_value(index) != (json_int_t)c->n_items)
        return fault(c, "output_index is not %zu", c->n_items);
    if (!check_item(c, rule, item) || !check_new_id(c, item) || !check_scaffold(c, rule, item) ||
        !check_overlap(c))
        return false;
    items = realloc(c->items, (c->n_items + 1) * sizeof(*items));
    if (items == NULL)
        return fault(c, "out of memory");
    c->items = items;
    items[c->n_items++] =
        (struct seen_item){.rule = rule,
                           .added = item,
                           .closed_parts = json_pack("{s:[],s:[]}", "content", "summary")};
    return true;
}

/* ---- done */

/* Do deltas make it grow? */
static bool grows(const struct seen_item *item)
{
    return item->rule->text != NULL && !is_approved(item->added);
}

/* An item keeps who it is: all but its status and what grew. */
static bool check_unchanged(const struct check *c, const struct seen_item *item, json_t *done)
{
    static const char *const grown[] = {"status", "content", "summary",
                                        "output", "outputs", "error",
                                        "tools",  "action",  "encrypted_content"};
    const char *key;
    json_t *value;

    json_object_foreach(done, key, value)
    {
        bool may_differ = grows(item) && strcmp(key, item->rule->text) == 0;

        for (size_t i = 0; i < sizeof(grown) / sizeof(*grown); i++)
            may_differ = may_differ || strcmp(key, grown[i]) == 0;
        if (!may_differ && !json_equal(value, json_object_get(item->added, key)))
            return fault(c, "%s changed between added and done", key);
    }
    json_object_foreach(item->added, key, value)
    {
        if (json_object_get(done, key) == NULL)
            return fault(c, "%s is gone when the item is done", key);
    }
    return true;
}

static bool check_content(const struct check *c, const struct seen_item *item, json_t *done)
{
    static const char *const lists[] = {"content", "summary"};

    if (item->part != NULL)
        return fault(c, "an item was closed while a part of it was open");
    for (size_t i = 0; i < 2; i++) {
        json_t *list = json_object_get(done, lists[i]);

        if (list != NULL && !json_equal(list, json_object_get(item->closed_parts, lists[i])))
            return fault(c, "%s differs from the parts as they were closed", lists[i]);
    }
    if (strcmp(item->rule->type, "message") == 0 &&
        strcmp(text_of(done, "status"), "completed") == 0 &&
        is_empty(json_object_get(done, "content")))
        return fault(c, "a completed message without a part");
    return true;
}

static bool item_done(struct check *c, json_t *event)
{
    json_t *done = json_object_get(event, "item");
    struct seen_item *item = find_item(c, event, text_of(done, "id"));
    const char *status = text_of(done, "status");

    if (item == NULL || !check_item(c, item->rule, done) || !check_unchanged(c, item, done))
        return false;
    if (item->rule->running != NULL && !check_hosted_done(c, item, done))
        return false;
    if (item->rule->has_status && item->rule->running == NULL && strcmp(status, "completed") != 0 &&
        strcmp(status, "incomplete") != 0)
        return fault(c, "done with status %s", status);
    if (item->rule->is_prose && !check_content(c, item, done))
        return false;
    if (grows(item) && !item->has_text)
        return fault(c, "a call was closed before the event that repeats its %s", item->rule->text);
    if (grows(item) && !says(item, done, item->rule->text))
        return fault(c, "%s differs from its deltas", item->rule->text);
    item->done = done;
    return true;
}

/* ---- parts */

static bool check_part(const struct check *c, const struct part_rule *rule, json_t *part)
{
    json_t *annotations = json_object_get(part, "annotations");

    return check_members(c, rule->type, part, rule->members) &&
           (annotations == NULL || json_is_array(annotations) ||
            fault(c, "annotations are no list"));
}

static json_t *parts_of(const struct seen_item *item, const struct part_rule *rule)
{
    return json_object_get(item->closed_parts, rule->list);
}

static bool check_part_index(const struct check *c, const struct seen_item *item,
                             const struct part_rule *rule, json_t *event)
{
    json_t *index = json_object_get(event, strcmp(rule->list, "summary") == 0 ? "summary_index"
                                                                              : "content_index");

    if (!json_is_integer(index) ||
        json_integer_value(index) != (json_int_t)json_array_size(parts_of(item, rule)))
        return fault(c, "the index of the part is not %zu", json_array_size(parts_of(item, rule)));
    return true;
}

static bool part_added(const struct check *c, struct seen_item *item, json_t *event)
{
    json_t *part = json_object_get(event, "part");
    const struct part_rule *rule = part_rule_find(text_of(part, "type"));

    if (rule == NULL || strcmp(rule->item, item->rule->type) != 0)
        return fault(c, "a part of type %s in a %s", text_of(part, "type"), item->rule->type);
    if (item->part != NULL)
        return fault(c, "a part was added while another was open");
    if (!check_part(c, rule, part) || !check_part_index(c, item, rule, event))
        return false;
    if (!is_empty(json_object_get(part, rule->text)) ||
        !is_empty(json_object_get(part, "logprobs")) ||
        !is_empty(json_object_get(part, "annotations")))
        return fault(c, "a part was added with content");
    item->part = rule;
    item->text_events = STR("");
    item->text.len = 0;
    item->has_text = false;
    json_decref(item->logprobs);
    item->logprobs = json_array();
    json_decref(item->annotations);
    item->annotations = json_array();
    return true;
}

/* Citations point into the text, which is counted in characters. */
static bool check_ranges(const struct check *c, const struct seen_item *item)
{
    json_int_t length = (json_int_t)utf8_count(buf_str(&item->text));
    json_t *annotation;
    size_t i;

    json_array_foreach(item->annotations, i, annotation)
    {
        json_t *start = json_object_get(annotation, "start_index");
        json_t *end = json_object_get(annotation, "end_index");

        if (start != NULL &&
            (json_integer_value(start) < 0 || json_integer_value(start) > json_integer_value(end) ||
             json_integer_value(end) > length))
            return fault(c, "the range of annotation %zu is not inside the text", i);
    }
    return true;
}

static bool part_done(const struct check *c, struct seen_item *item, json_t *event)
{
    json_t *part = json_object_get(event, "part"), *logprobs = json_object_get(part, "logprobs");

    if (item->part == NULL || strcmp(text_of(part, "type"), item->part->type) != 0)
        return fault(c, "a part of type %s was closed that was not open", text_of(part, "type"));
    if (!item->has_text)
        return fault(c, "a part was closed before the event that repeats its text");
    if (!check_part(c, item->part, part) || !check_part_index(c, item, item->part, event))
        return false;
    if (!says(item, part, item->part->text) ||
        (logprobs != NULL && !json_equal(logprobs, item->logprobs)))
        return fault(c, "a part differs from its deltas");
    if (json_object_get(part, "annotations") != NULL &&
        !json_equal(json_object_get(part, "annotations"), item->annotations))
        return fault(c, "annotations differ from those that were added");
    if (!check_ranges(c, item))
        return false;
    json_array_append(parts_of(item, item->part), part);
    item->part = NULL;
    return true;
}

/* ---- text */

static bool add_delta(const struct check *c, struct seen_item *item, json_t *event)
{
    json_t *delta = json_object_get(event, "delta");

    if (json_string_length(delta) == 0)
        return fault(c, "a delta that is empty or no text");
    if (item->has_text)
        return fault(c, "a delta after the event that repeats the text");
    buf_append(&item->text, str_from(json_string_value(delta), json_string_length(delta)));
    return true;
}

static bool repeat_text(const struct check *c, struct seen_item *item,
                        const struct event_rule *rule, json_t *event)
{
    if (item->has_text)
        return fault(c, "%s twice", rule->type);
    if (!says(item, event, rule->text))
        return fault(c, "%s differs from the deltas", rule->type);
    item->has_text = true;
    return true;
}

/* Some texts may have events of one name or of another, but not of both. */
static bool check_name(const struct check *c, struct seen_item *item, const struct event_rule *rule)
{
    str stem = str_from(rule->type, (size_t)(strrchr(rule->type, '.') - rule->type));

    if (item->text_events.len == 0)
        item->text_events = stem;
    return str_eq(item->text_events, stem) ||
           fault(c, "%s after %.*s", rule->type, STR_ARG(item->text_events));
}

static bool part_text(const struct check *c, struct seen_item *item, const struct event_rule *rule,
                      json_t *event)
{
    json_t *logprobs = json_object_get(event, "logprobs");

    if (item->part == NULL || strcmp(item->part->type, rule->about) != 0)
        return fault(c, "%s but no such part is open", rule->type);
    if (!check_name(c, item, rule) || !check_part_index(c, item, item->part, event) ||
        (logprobs != NULL && !check_logprobs(c, logprobs)))
        return false;
    if (rule->act == ACT_PART_DELTA) {
        json_array_extend(item->logprobs, logprobs);
        return add_delta(c, item, event);
    }
    if (logprobs != NULL && !json_equal(logprobs, item->logprobs))
        return fault(c, "logprobs differ from those of the deltas");
    return repeat_text(c, item, rule, event);
}

static bool part_annotation(const struct check *c, struct seen_item *item, json_t *event)
{
    json_t *annotation = json_object_get(event, "annotation");
    json_t *index = json_object_get(event, "annotation_index");

    if (item->part == NULL || strcmp(item->part->type, "output_text") != 0)
        return fault(c, "an annotation but no text is open");
    if (!check_part_index(c, item, item->part, event))
        return false;
    if (!json_is_integer(index) ||
        json_integer_value(index) != (json_int_t)json_array_size(item->annotations))
        return fault(c, "annotation_index is not %zu", json_array_size(item->annotations));
    if (!json_is_object(annotation))
        return fault(c, "an annotation that is no object");
    json_array_append(item->annotations, annotation);
    return true;
}

static bool call_text(const struct check *c, struct seen_item *item, const struct event_rule *rule,
                      json_t *event)
{
    json_t *name = json_object_get(event, "name");

    if (strcmp(item->rule->type, rule->about) != 0)
        return fault(c, "%s for a %s", rule->type, item->rule->type);
    if (!grows(item))
        return fault(c, "%s of a call whose arguments were known", rule->type);
    if (item->rule->running != NULL && item->state == NULL)
        return fault(c, "%s before in_progress", rule->type);
    if (rule->act == ACT_CALL_DELTA)
        return add_delta(c, item, event);
    if (name != NULL && !json_equal(name, json_object_get(item->added, "name")))
        return fault(c, "%s has another name", rule->type);
    return repeat_text(c, item, rule, event);
}

bool check_item_event(struct check *c, const struct event_rule *rule, json_t *event)
{
    struct seen_item *item;

    if (rule->act == ACT_ITEM_ADDED)
        return item_added(c, event);
    if (rule->act == ACT_ITEM_DONE)
        return item_done(c, event);
    item = find_item(c, event, text_of(event, "item_id"));
    if (item == NULL)
        return false;
    switch (rule->act) {
    case ACT_PART_ADDED:
        return part_added(c, item, event);
    case ACT_PART_DONE:
        return part_done(c, item, event);
    case ACT_PART_DELTA:
    case ACT_PART_TEXT:
        return part_text(c, item, rule, event);
    case ACT_PART_ANNOTATION:
        return part_annotation(c, item, event);
    case ACT_STATE:
        return check_state(c, item, rule);
    default:
        return call_text(c, item, rule, event);
    }
}
