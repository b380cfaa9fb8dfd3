/* item.c -- one input item at a time, by a table of types. */
#include "conv/item_internal.h"

#include "conv/fields.h"
#include "conv/tool_name.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

static const struct field item_table[] = {
    FIELD(struct item_fields, type, FIELD_TEXT),
    FIELD(struct item_fields, id, FIELD_TEXT),
    FIELD(struct item_fields, role, FIELD_TEXT),
    FIELD(struct item_fields, phase, FIELD_ANY),
    FIELD(struct item_fields, status, FIELD_TEXT),
    FIELD(struct item_fields, content, FIELD_ANY),
    FIELD(struct item_fields, call_id, FIELD_TEXT),
    FIELD(struct item_fields, name, FIELD_TEXT),
    {STR_INIT("namespace"), FIELD_TEXT, offsetof(struct item_fields, name_space)},
    FIELD(struct item_fields, arguments, FIELD_ANY),
    FIELD(struct item_fields, input, FIELD_TEXT),
    FIELD(struct item_fields, output, FIELD_ANY),
    FIELD(struct item_fields, error, FIELD_ANY),
    FIELD(struct item_fields, action, FIELD_OBJECT),
    FIELD(struct item_fields, operation, FIELD_OBJECT),
    FIELD(struct item_fields, code, FIELD_TEXT),
    FIELD(struct item_fields, outputs, FIELD_ANY),
    FIELD(struct item_fields, tools, FIELD_ARRAY),
    FIELD(struct item_fields, approval_request_id, FIELD_TEXT),
    FIELD(struct item_fields, summary, FIELD_ANY),
    FIELD(struct item_fields, server_label, FIELD_ANY),
    FIELD(struct item_fields, approve, FIELD_ANY),
    FIELD(struct item_fields, reason, FIELD_ANY),
    FIELD(struct item_fields, encrypted_content, FIELD_ANY),
    FIELD(struct item_fields, container_id, FIELD_ANY),
    FIELD(struct item_fields, upstream_id, FIELD_ANY),
    FIELD(struct item_fields, upstream_arguments, FIELD_ANY),
    FIELD(struct item_fields, ends_round, FIELD_ANY),
    FIELD(struct item_fields, reasoning, FIELD_ANY),
    FIELD(struct item_fields, text, FIELD_ANY),
    FIELD(struct item_fields, execution, FIELD_ANY),
};

/* ---- pieces that several types share */

int item_need(const struct item_reading *r, str value, str member)
{
    struct path at = path_member(r->at, member);

    return str_is_none(value) ? reject_missing(&at, r->reterr) : 0;
}

int item_set_call_id(const struct item_reading *r)
{
    struct id made;

    r->item->call_id = r->f.call_id.len > 0 ? r->f.call_id : r->f.id;
    if (r->item->call_id.len > 0)
        return 0;
    made = id_make(r->ids, "call_", ID_CALL_CHARS);
    r->item->call_id = arena_dup(r->arena, id_str(&made));
    return str_is_none(r->item->call_id) ? err_set_no_memory(r->reterr) : 0;
}

int item_set_name(const struct item_reading *r, str name)
{
    r->item->name = tool_name_for_upstream(r->arena, r->f.name_space, name);
    return str_is_none(r->item->name) ? err_set_no_memory(r->reterr) : 0;
}

/* Takes JSON that was built in a buf as the argument text. */
static int take_arguments(const struct item_reading *r, struct buf *json)
{
    r->item->arguments = json_copy_quote_take(r->arena, json);
    return str_is_none(r->item->arguments) ? err_set_no_memory(r->reterr) : 0;
}

int item_set_arguments(const struct item_reading *r)
{
    str raw = r->f.arguments;
    struct buf json = {0};

    if (jr_type_of(raw) == JR_STRING)
        raw = field_text(raw);
    if (raw.len == 0) {
        r->item->arguments = STR("{}");
        return 0;
    }
    if (jr_type_of(r->f.arguments) == JR_STRING) {
        r->item->arguments = raw;
        return 0;
    }
    json_copy_value(raw, &json);
    return take_arguments(r, &json);
}

int item_set_text_argument(const struct item_reading *r, const char *member, str text)
{
    struct buf json = {0};
    struct jw w = jw_to(&json);

    jw_object(&w);
    json_copy_key_text(&w, member, str_is_none(text) ? STR("") : text);
    jw_object_end(&w);
    return take_arguments(r, &json);
}

static bool is_empty_object(str raw)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    return jr_type_of(raw) == JR_OBJECT && jr_enter(&j, JR_OBJECT) && !jr_next_member(&j, &name);
}

/* What a shell is to run or a patch to change: the members that say something become the arguments,
 * in this order. */
static const char *const action_members[] = {"command", "commands",   "working_directory", "env",
                                             "user",    "timeout_ms", "max_output_length"};
static const char *const operation_members[] = {"type", "path", "diff"};

static int set_member_arguments(const struct item_reading *r, str raw, const char *const *members,
                                size_t n)
{
    struct buf json = {0};
    struct jw w = jw_to(&json);

    jw_object(&w);
    for (size_t i = 0; i < n; i++) {
        const str value = jr_member(raw, str_from_c(members[i]));

        if (!str_is_none(value) && jr_type_of(value) != JR_NULL && !is_empty_object(value))
            json_copy_key_value(&w, members[i], value);
    }
    jw_object_end(&w);
    return take_arguments(r, &json);
}

bool item_hosted_call_ended(const struct item_reading *r)
{
    str status = r->f.status;

    if (str_is_none(status) || json_text_eq(status, STR("completed")) ||
        json_text_eq(status, STR("failed")))
        return true;
    r->item->kind = ITEM_IGNORED;
    return false;
}

/* ---- item types */

/* What else a phase may be means nothing to us, and is no reason to refuse a message. */
static enum phase phase_of(str raw)
{
    str name = jr_type_of(raw) == JR_STRING ? field_text(raw) : STR("");

    if (json_text_eq(name, STR("commentary")))
        return PHASE_COMMENTARY;
    return json_text_eq(name, STR("final_answer")) ? PHASE_FINAL_ANSWER : PHASE_NONE;
}

static int read_message(const struct item_reading *r)
{
    static const str names[] = {STR_INIT("user"), STR_INIT("assistant"), STR_INIT("system"),
                                STR_INIT("developer")};
    struct path role_at = path_member(r->at, STR("role"));
    struct path content_at = path_member(r->at, STR("content"));
    str role = r->f.role;

    if (str_is_none(role))
        return reject_missing(&role_at, r->reterr);
    if (check_value(&role_at, role, LIST_OF(names), r->reterr) == -1)
        return -1;
    if (json_text_eq(role, STR("user")))
        r->item->role = ROLE_USER;
    else if (json_text_eq(role, STR("assistant")))
        r->item->role = ROLE_ASSISTANT;
    else
        r->item->role = ROLE_SYSTEM;
    if (r->item->role == ROLE_ASSISTANT)
        r->item->phase = phase_of(r->f.phase);
    if (!str_is_none(r->f.status) && json_text_eq(r->f.status, STR("in_progress")))
        r->item->is_cut_off = true;
    return content_parse(r->f.content, &content_at, r->options, r->arena, &r->item->content,
                         r->reterr);
}

static int read_function_call(const struct item_reading *r)
{
    if (item_need(r, r->f.name, STR("name")) == -1 || item_set_name(r, r->f.name) == -1 ||
        item_set_call_id(r) == -1)
        return -1;
    return item_set_arguments(r);
}

static int read_custom_call(const struct item_reading *r)
{
    if (item_need(r, r->f.name, STR("name")) == -1 || item_set_name(r, r->f.name) == -1 ||
        item_set_call_id(r) == -1)
        return -1;
    return item_set_text_argument(r, "input", r->f.input);
}

static int read_local_shell_call(const struct item_reading *r)
{
    r->item->name = STR("local_shell");
    return item_set_call_id(r) == -1
               ? -1
               : set_member_arguments(r, r->f.action, LIST_OF(action_members));
}

static int read_shell_call(const struct item_reading *r)
{
    r->item->name = STR("shell");
    return item_set_call_id(r) == -1
               ? -1
               : set_member_arguments(r, r->f.action, LIST_OF(action_members));
}

static int read_apply_patch_call(const struct item_reading *r)
{
    r->item->name = STR("apply_patch");
    return item_set_call_id(r) == -1
               ? -1
               : set_member_arguments(r, r->f.operation, LIST_OF(operation_members));
}

static int read_output(const struct item_reading *r)
{
    struct path at = path_member(r->at, STR("output"));

    if (item_set_call_id(r) == -1 || item_set_arguments(r) == -1)
        return -1;
    if (r->f.name.len > 0 && item_set_name(r, r->f.name) == -1)
        return -1;
    return content_parse_output(r->f.output, &at, r->options, r->arena, &r->item->content,
                                r->reterr);
}

/* That a patch could not be applied is said by its status alone. */
static int read_patch_output(const struct item_reading *r)
{
    struct buf json = {0};
    struct jw w = jw_to(&json);
    str text;

    jw_object(&w);
    json_copy_key_text(&w, "status", r->f.status.len == 0 ? STR("completed") : r->f.status);
    json_copy_given_value(&w, "output", r->f.output);
    jw_object_end(&w);
    text = json_copy_quote_take(r->arena, &json);
    if (str_is_none(text))
        return err_set_no_memory(r->reterr);
    if (item_set_call_id(r) == -1)
        return -1;
    return content_from_text(text, r->arena, &r->item->content, r->reterr);
}

static int read_reference(const struct item_reading *r)
{
    return item_need(r, r->f.id, STR("id"));
}

static int read_additional_tools(const struct item_reading *r)
{
    r->item->tools = r->f.tools;
    return item_need(r, r->f.tools, STR("tools"));
}

static int check_object(const struct item_reading *r, str raw, str member)
{
    const struct path at = path_member(r->at, member);

    return str_is_none(raw) ? 0 : field_check(raw, FIELD_OBJECT, &at, r->reterr);
}

static int read_configuration(const struct item_reading *r)
{
    r->item->reasoning = r->f.reasoning;
    r->item->text = r->f.text;
    return check_object(r, r->f.reasoning, STR("reasoning")) == -1
               ? -1
               : check_object(r, r->f.text, STR("text"));
}

/* What is sealed is opened when it is known that it counts. */
static int read_compaction(const struct item_reading *r)
{
    str sealed = r->f.encrypted_content;

    if (jr_type_of(sealed) == JR_STRING && field_text(sealed).len > 0)
        r->item->sealed = field_text(sealed);
    else
        r->item->kind = ITEM_IGNORED;
    return 0;
}

struct item_type {
    str name;
    enum item_kind kind;
    int (*read)(const struct item_reading *r); /* NULL: nothing in it is looked at */
};

#define IGNORED(name)                                                                              \
    {                                                                                              \
        STR_INIT(name), ITEM_IGNORED, NULL                                                         \
    }

static const struct item_type item_types[] = {
    {STR_INIT("message"), ITEM_MESSAGE, read_message},
    {STR_INIT("function_call"), ITEM_CALL, read_function_call},
    {STR_INIT("function_call_output"), ITEM_OUTPUT, read_output},
    {STR_INIT("reasoning"), ITEM_REASONING, item_read_reasoning},
    {STR_INIT("custom_tool_call"), ITEM_CALL, read_custom_call},
    {STR_INIT("custom_tool_call_output"), ITEM_OUTPUT, read_output},
    {STR_INIT("local_shell_call"), ITEM_CALL, read_local_shell_call},
    {STR_INIT("local_shell_call_output"), ITEM_OUTPUT, read_output},
    {STR_INIT("shell_call"), ITEM_CALL, read_shell_call},
    {STR_INIT("shell_call_output"), ITEM_OUTPUT, read_output},
    {STR_INIT("apply_patch_call"), ITEM_CALL, read_apply_patch_call},
    {STR_INIT("apply_patch_call_output"), ITEM_OUTPUT, read_patch_output},
    {STR_INIT("tool_search_output"), ITEM_OUTPUT, item_read_search_output},
    {STR_INIT("mcp_call"), ITEM_HOSTED_CALL, item_read_mcp_call},
#define HOSTED_TOOL(symbol, type, prefix, member, kind, reader, ...)                               \
    {STR_INIT(#type "_call"), kind, reader},
#include "conv/hosted.def"
    {STR_INIT("item_reference"), ITEM_REFERENCE, read_reference},
    {STR_INIT("mcp_list_tools"), ITEM_TOOL_LIST, item_read_tool_list},
    {STR_INIT("mcp_approval_request"), ITEM_APPROVAL_REQUEST, item_read_approval_request},
    {STR_INIT("mcp_approval_response"), ITEM_APPROVAL_RESPONSE, item_read_approval_response},
    {STR_INIT("additional_tools"), ITEM_ADDITIONAL_TOOLS, read_additional_tools},
    {STR_INIT("configuration_update"), ITEM_CONFIGURATION, read_configuration},
    {STR_INIT("compaction"), ITEM_COMPACTION, read_compaction},
    {STR_INIT("compaction_summary"), ITEM_COMPACTION, read_compaction},
    {STR_INIT("context_compaction"), ITEM_COMPACTION, read_compaction},
    {STR_INIT("compaction_trigger"), ITEM_TRIGGER, NULL},
    IGNORED("file_search_call"),
    IGNORED("image_generation_call"),
    IGNORED("computer_call"),
    IGNORED("computer_call_output"),
    IGNORED("program"),
    IGNORED("program_output"),
};

/* Of items that the gateway has stored: whoever could write it would tell the model what a tool
 * has never said. */
static const struct item_type result_type = {STR_INIT(ITEM_RESULT_TYPE), ITEM_HOSTED_CALL,
                                             item_read_call_result};

static const struct item_type *find_type(const struct input_options *o, str name)
{
    if (o->own_items && json_text_eq(name, result_type.name))
        return &result_type;
    for (size_t i = 0; i < COUNT_OF(item_types); i++) {
        if (json_text_eq(name, item_types[i].name))
            return &item_types[i];
    }
    return NULL;
}

str item_type_name(str type, str role, str id)
{
    if (!str_is_none(type))
        return type;
    if (!str_is_none(role))
        return STR("message");
    return str_is_none(id) ? STR_NONE : STR("item_reference");
}

static int reject_type_name(const struct path *at, str name, struct err *reterr)
{
    struct path type_at = path_member(at, STR("type"));

    if (str_is_none(name))
        return reject_missing(&type_at, reterr);
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(&type_at).text,
                  "Invalid value: '%s'. The gateway knows no input item of this type.",
                  shown(name).text);
    return -1;
}

/* Is nothing looked at? What is of no use may be as wrong as it likes. */
static bool is_passed_over(const struct item_reading *r, const struct item_type *type, str name,
                           bool is_readable)
{
    if (type == NULL)
        return !str_is_none(name) && r->options->ignore_unknown_items;
    return type->read == NULL || (type->kind == ITEM_IGNORED && !is_readable);
}

static int read_object(struct item_reading *r, struct json_walk *w)
{
    int rc = fields_walk(w, FIELDS(item_table), r->at, &r->f, r->reterr);
    str name = item_type_name(r->f.type, r->f.role, r->f.id);
    const struct item_type *type = str_is_none(name) ? NULL : find_type(r->options, name);

    if (is_passed_over(r, type, name, rc == 0)) {
        r->item->kind = type == NULL ? ITEM_IGNORED : type->kind;
        return 0;
    }
    if (rc == -1)
        return -1;
    if (type == NULL)
        return reject_type_name(r->at, name, r->reterr);
    r->item->kind = type->kind;
    r->item->id = r->f.id;
    r->item->is_cut_off = !str_is_none(r->f.status) && json_text_eq(r->f.status, STR("incomplete"));
    return type->read(r);
}

/* A bare string is what the user says. */
static int read_bare_string(const struct item_reading *r, struct json_walk *w)
{
    r->item->kind = ITEM_MESSAGE;
    r->item->role = ROLE_USER;
    return content_from_text(json_walk_string(w), r->arena, &r->item->content, r->reterr);
}

int item_read(struct json_walk *w, const struct path *at, const struct input_options *o,
              const struct id_source *ids, struct arena *a, struct item *ret, struct err *reterr)
{
    struct item_reading r = {
        .at = at, .options = o, .ids = ids, .arena = a, .item = ret, .reterr = reterr};
    const bool is_string = json_walk_peek(w) == JR_STRING;
    const char *start = w->p;

    if ((is_string ? read_bare_string(&r, w) : read_object(&r, w)) == -1)
        return -1;
    ret->raw = str_from(start, (size_t)(w->p - start));
    return 0;
}
