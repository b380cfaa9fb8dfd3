/* kept_form.c -- one table says what the stored form of an item type consists of.
 *
 * An object is written as id, type, the members that need no change in their
 * order, and then those that have a form: most of these are there even when the
 * client left them out. Parts of content have rows of the same kind. */
#include "conv/kept_form.h"

#include "conv/content.h"
#include "conv/fields.h"
#include "conv/tool_copy.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { MAX_FORMS = 5 };

struct keeping;

/* Writes key and value; raw is what the client gave or STR_NONE. */
typedef void form_writer(const struct keeping *k, const char *key, str raw);

struct form {
    const char *key;
    form_writer *write;
};

/* What is kept, and the object being written: an item, or a part of it. */
struct keeping {
    const struct id_source *ids;
    struct jw *w;
    str id;            /* of the item, as the client wrote it, escaped */
    bool is_assistant; /* the role of its message */
    const str *values; /* of the object's forms */
};

/* ---- forms */

static void write_status(const struct keeping *k, const char *key, str raw)
{
    json_copy_key_value(k->w, key, str_is_none(raw) ? STR("\"completed\"") : raw);
}

static void write_or_null(const struct keeping *k, const char *key, str raw)
{
    json_copy_key_value(k->w, key, raw);
}

static void write_array(const struct keeping *k, const char *key, str raw)
{
    json_copy_key_value(k->w, key, jr_type_of(raw) == JR_ARRAY ? raw : STR("[]"));
}

/* A string stays, other JSON becomes its own text. */
static void write_text_or(const struct keeping *k, const char *key, str raw, str fallback)
{
    struct buf json = {0};

    if (str_is_none(raw) || jr_type_of(raw) == JR_STRING) {
        json_copy_key_text(k->w, key, str_is_none(raw) ? fallback : field_text(raw));
        return;
    }
    json_copy_value(raw, &json);
    jw_key_string(k->w, key, buf_str(&json));
    k->w->out->failed = k->w->out->failed || buf_failed(&json);
    buf_fini(&json);
}

static void write_arguments(const struct keeping *k, const char *key, str raw)
{
    write_text_or(k, key, raw, STR("{}"));
}

static void write_text(const struct keeping *k, const char *key, str raw)
{
    write_text_or(k, key, raw, STR(""));
}

/* The id that its output is to name (CONTRACT 2.1). */
static void write_call_id(const struct keeping *k, const char *key, str raw)
{
    struct id made;

    if (jr_type_of(raw) == JR_STRING && field_text(raw).len > 0) {
        json_copy_key_value(k->w, key, raw);
    } else if (k->id.len > 0) {
        json_copy_key_text(k->w, key, k->id);
    } else {
        made = id_make(k->ids, "call_", ID_CALL_CHARS);
        jw_key_string(k->w, key, id_str(&made));
    }
}

/* Chat clients write {url, detail} in place of the URL. */
static void write_image_url(const struct keeping *k, const char *key, str raw)
{
    if (jr_type_of(raw) == JR_OBJECT)
        json_copy_given_text(k->w, key, jr_member_string(raw, STR("url")));
    else
        json_copy_given_value(k->w, key, raw);
}

static void write_detail(const struct keeping *k, const char *key, str raw)
{
    str inner = jr_member_string(k->values[0], STR("detail")); /* of the image_url */

    if (!str_is_none(raw))
        json_copy_key_value(k->w, key, raw);
    else
        json_copy_key_text(k->w, key, str_is_none(inner) ? STR("auto") : inner);
}

static void write_parts(const struct keeping *k, const char *key, str raw);

static void write_output(const struct keeping *k, const char *key, str raw)
{
    if (jr_type_of(raw) == JR_ARRAY && content_is_parts(raw))
        write_parts(k, key, raw);
    else
        write_text(k, key, raw);
}

static void write_output_or_null(const struct keeping *k, const char *key, str raw)
{
    if (str_is_none(raw))
        write_or_null(k, key, raw);
    else
        write_output(k, key, raw);
}

/* Of additional_tools, and of what we do not know: tools may hold credentials. */
static void write_tools(const struct keeping *k, const char *key, str raw)
{
    if (jr_type_of(raw) != JR_ARRAY) {
        json_copy_given_value(k->w, key, raw);
        return;
    }
    jw_key(k->w, key);
    tool_copy_list(k->w, raw);
}

/* Of a search for tools; the gateway's own is the API's default. */
static void write_execution(const struct keeping *k, const char *key, str raw)
{
    json_copy_key_value(k->w, key, str_is_none(raw) ? STR("\"server\"") : raw);
}

static void write_search(const struct keeping *k, const char *key, str raw)
{
    json_copy_key_value(k->w, key, str_is_none(raw) ? STR("{}") : raw);
}

/* ---- objects */

struct row {
    str type;
    const char *prefix; /* of ids that have to be made (CONTRACT 8) */
    struct form forms[MAX_FORMS];
};

/* clang-format off */
#define CALL_ID {"call_id", write_call_id}
#define STATUS  {"status", write_status}
#define ROW(type, prefix, ...) {STR_INIT(type), prefix, {__VA_ARGS__}}
/* clang-format on */

static const struct row item_rows[] = {
    ROW("message", "msg_", {"content", write_parts}, STATUS),
    ROW("function_call", "fc_", CALL_ID, {"arguments", write_arguments}, STATUS),
    ROW("function_call_output", "fco_", CALL_ID, {"output", write_output}, STATUS),
    ROW("reasoning", "rs_", {"summary", write_array}, {"content", write_array}, STATUS),
    ROW("custom_tool_call", "ctc_", CALL_ID, {"input", write_text}, STATUS),
    ROW("custom_tool_call_output", "ctco_", CALL_ID, {"output", write_output}, STATUS),
    ROW("local_shell_call", "lsh_", CALL_ID, STATUS),
    ROW("local_shell_call_output", "lsho_", CALL_ID, {"output", write_output}, STATUS),
    ROW("shell_call", "sh_", CALL_ID, {"environment", write_or_null}, STATUS),
    ROW("shell_call_output", "sho_", CALL_ID, {"max_output_length", write_or_null}, STATUS),
    ROW("apply_patch_call", "apc_", CALL_ID, STATUS),
    ROW("apply_patch_call_output", "apco_", CALL_ID, STATUS),
    /* of both kinds; the row that hosted.def makes says less, and is not reached */
    ROW("tool_search_call", "tsc_", {"call_id", write_or_null}, {"execution", write_execution},
        {"arguments", write_search}, STATUS),
    ROW("tool_search_output", "tso_", {"call_id", write_or_null}, {"execution", write_execution},
        {"tools", write_tools}, STATUS),
    ROW("mcp_call", "mcp_", {"arguments", write_arguments}, {"output", write_output_or_null},
        {"error", write_or_null}, {"approval_request_id", write_or_null}, STATUS),
    ROW("mcp_list_tools", "mcpl_", {"tools", write_array}),
    ROW("mcp_approval_request", "mcpr_", {"arguments", write_arguments}),
    ROW("mcp_approval_response", "mcpa_"),
#define OR_NULL(member) {member, write_or_null},
#define HOSTED_TOOL(symbol, type, prefix, member, kind, reader, nulls, ...)                        \
    {STR_INIT(#type "_call"), prefix, {nulls STATUS}},
#include "conv/hosted.def"
    ROW("file_search_call", "fs_", STATUS),
    ROW("image_generation_call", "ig_", {"result", write_or_null}, STATUS),
    ROW("compaction", "cmp_"),
    ROW("compaction_summary", "cmp_"),
    ROW("context_compaction", "cmp_"),
};
static const struct row other_item = ROW("", "item_", {"tools", write_tools});

static const struct row part_rows[] = {
    ROW("output_text", NULL, {"annotations", write_array}, {"logprobs", write_array}),
    ROW("input_image", NULL, {"image_url", write_image_url}, {"detail", write_detail}),
};
static const struct row other_part = ROW("", NULL);

static const struct row *find_row(const struct row *rows, size_t n, str type,
                                  const struct row *other)
{
    for (size_t i = 0; i < n; i++) {
        if (json_text_eq(type, rows[i].type))
            return &rows[i];
    }
    return other;
}

/* Which form a member has, or MAX_FORMS. */
static size_t find_form(const struct row *row, str name)
{
    size_t i = 0;

    while (i < MAX_FORMS &&
           (row->forms[i].key == NULL || !str_eq(name, str_from_c(row->forms[i].key))))
        i++;
    return i;
}

/* id and type stand at the beginning; a part's id is a member like any other. */
static bool is_written(const struct row *row, str name)
{
    return str_eq(name, STR("type")) || (row->prefix != NULL && str_eq(name, STR("id")));
}

/* null is as good as nothing. */
static str given_value(struct jr *j)
{
    str raw = jr_raw(j);

    return jr_type_of(raw) == JR_NULL ? STR_NONE : raw;
}

/* All of the object but its beginning. */
static void write_members(const struct keeping *outer, const struct row *row, str raw)
{
    str values[MAX_FORMS] = {STR_NONE}, name;
    struct keeping k = *outer;
    struct jr j;

    k.values = values;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        const bool is_skipped = is_written(row, name);
        const size_t form = find_form(row, name);
        const str key = j.raw_key, value = given_value(&j);

        if (form < MAX_FORMS) {
            values[form] = value;
        } else if (!is_skipped && !str_is_none(value)) {
            json_copy_key(k.w, key);
            json_copy_element(k.w, value);
        }
    }
    for (size_t i = 0; i < MAX_FORMS && row->forms[i].key != NULL; i++)
        row->forms[i].write(&k, row->forms[i].key, values[i]);
}

/* ---- content */

/* What a text without another type of its own is. */
static str text_type(const struct keeping *k)
{
    return k->is_assistant ? STR("output_text") : STR("input_text");
}

static void write_text_part(const struct keeping *k, str text)
{
    jw_object(k->w);
    jw_key_string(k->w, "type", text_type(k));
    json_copy_key_text(k->w, "text", text);
    if (k->is_assistant)
        write_members(k, &part_rows[0], STR("{}"));
    jw_object_end(k->w);
}

static void write_part(const struct keeping *k, str raw)
{
    static const str plain_types[] = {STR_INIT("text"), STR_INIT("summary_text"),
                                      STR_INIT("reasoning_text")};
    str type = jr_member_string(raw, STR("type"));

    if (jr_type_of(raw) != JR_OBJECT) {
        json_copy_element(k->w, raw); /* of a call that never ended, which is not looked at */
        return;
    }
    for (size_t i = 0; i < COUNT_OF(plain_types); i++) {
        if (json_text_eq(type, plain_types[i]))
            type = text_type(k);
    }
    jw_object(k->w);
    json_copy_key_text(k->w, "type", type);
    write_members(k, find_row(LIST_OF(part_rows), type, &other_part), raw);
    jw_object_end(k->w);
}

/* raw is a string, an array of parts and strings, or STR_NONE. */
static void write_parts(const struct keeping *k, const char *key, str raw)
{
    struct jr j;

    jw_key(k->w, key);
    jw_array(k->w);
    if (jr_type_of(raw) == JR_STRING)
        write_text_part(k, field_text(raw));
    jr_init(&j, str_is_none(raw) ? STR("[]") : raw);
    if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j)) {
            if (jr_peek(&j) == JR_STRING)
                write_text_part(k, jr_string(&j));
            else
                write_part(k, jr_raw(&j));
        }
    }
    jw_array_end(k->w);
}

/* ---- items */

static const struct row *find_item_row(str type)
{
    return find_row(LIST_OF(item_rows), type, &other_item);
}

const char *kept_form_prefix(str type)
{
    return find_item_row(type)->prefix;
}

void kept_form_write(str raw, const struct kept_head *h, const struct id_source *ids,
                     struct buf *out)
{
    struct jw w = jw_to(out);
    const struct keeping k = {
        .ids = ids,
        .w = &w,
        .id = h->given_id,
        .is_assistant = !str_is_none(h->role) && json_text_eq(h->role, STR("assistant")),
    };

    jw_object(&w);
    jw_key_string(&w, "id", h->id);
    json_copy_key_text(&w, "type", h->type);
    write_members(&k, find_item_row(h->type), raw);
    jw_object_end(&w);
}
