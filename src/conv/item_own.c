/* item_own.c -- calls of hosted tools (CONTRACT 2.1).
 *
 * What clients see of them says less than the model was told: of a search no more than what was
 * searched, of code the logs if they were asked for. The store keeps the rest in items of its own
 * (item.h). */
#include "conv/item_internal.h"

#include "conv/fields.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

str item_result_id(str id, struct arena *a)
{
    static const str suffix = STR_INIT(ITEM_RESULT_SUFFIX);
    char *text = arena_alloc(a, id.len + suffix.len);

    if (text == NULL)
        return STR_NONE;
    memcpy(text, id.p, id.len);
    memcpy(text + id.len, suffix.p, suffix.len);
    return str_from(text, id.len + suffix.len);
}

bool item_has_result(str body)
{
    str type = jr_member_string(body, STR("type"));

    return !str_is_none(type) &&
           (json_text_eq(type, STR("mcp_call")) || hosted_of_item(type) != HOSTED_NONE);
}

/* ---- what clients see */

/* Code that ran in no container of its own says "auto". */
static void set_container(const struct item_reading *r)
{
    str raw = r->f.container_id;

    if (jr_type_of(raw) == JR_STRING && !str_eq(raw, STR("\"auto\"")))
        r->item->container_id = field_text(raw);
}

/* What was printed and the value are outputs of their own, and lines of their own for the model. */
static void begin_line(struct buf *text)
{
    if (text->len > 0 && !str_ends_with(buf_str(text), STR("\\n")))
        buf_append(text, STR("\\n"));
}

/* An image has no text; that there was one explains what the model said next. */
static void write_outputs(str outputs, struct buf *text)
{
    struct jr j;

    if (jr_type_of(outputs) != JR_ARRAY)
        return;
    jr_init(&j, outputs);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str object = jr_raw(&j);
        str logs = jr_member_string(object, STR("logs"));
        str type = jr_member_string(object, STR("type"));

        if (!str_is_none(logs)) {
            begin_line(text);
            json_copy_text(logs, text);
        } else if (!str_is_none(type) && json_text_eq(type, STR("image"))) {
            begin_line(text);
            buf_append(text, STR("[image]"));
        }
    }
}

static bool has_failed(const struct item_reading *r)
{
    return !str_is_none(r->f.status) && json_text_eq(r->f.status, STR("failed"));
}

static int set_logs(const struct item_reading *r)
{
    struct buf text = {0};
    str logs;

    write_outputs(r->f.outputs, &text);
    if (text.len == 0)
        buf_append(&text, has_failed(r) ? STR("Error: the call has failed.") : STR("[no output]"));
    logs = buf_failed(&text) ? STR_NONE : arena_dup(r->arena, buf_str(&text));
    buf_fini(&text);
    if (str_is_none(logs))
        return err_set_no_memory(r->reterr);
    r->item->has_output = true;
    return content_from_text(logs, r->arena, &r->item->content, r->reterr);
}

/* Some clients send a call back with an empty list where it had null. */
static bool has_outputs(str outputs)
{
    struct jr j;

    if (str_is_none(outputs))
        return false;
    jr_init(&j, outputs);
    return !jr_enter(&j, JR_ARRAY) || jr_next_element(&j);
}

int item_read_code_call(const struct item_reading *r)
{
    set_container(r);
    if (!item_hosted_call_ended(r))
        return 0;
    r->item->hosted_kind = HOSTED_CODE_INTERPRETER;
    r->item->name = hosted_type(HOSTED_CODE_INTERPRETER);
    r->item->is_partial = !has_outputs(r->f.outputs) && r->f.id.len > 0;
    if (item_set_call_id(r) == -1 || item_set_text_argument(r, "code", r->f.code) == -1)
        return -1;
    return set_logs(r);
}

int item_read_bare_call(const struct item_reading *r)
{
    r->item->is_partial = item_hosted_call_ended(r) && r->f.id.len > 0;
    return 0;
}

/* ---- what is kept beside it */

static str text_of(str raw)
{
    return jr_type_of(raw) == JR_STRING ? field_text(raw) : STR("");
}

/* The call as the upstream wrote it. */
static void set_origin(const struct item_reading *r)
{
    const str upstream_id = text_of(r->f.upstream_id);

    r->item->id = r->f.call_id;
    r->item->call_id = upstream_id.len > 0 ? upstream_id : r->f.call_id;
    r->item->upstream_arguments = text_of(r->f.upstream_arguments);
    r->item->ends_round = jr_type_of(r->f.ends_round) == JR_TRUE;
    r->item->is_result = true;
}

int item_read_call_result(const struct item_reading *r)
{
    const struct path output_at = path_member(r->at, STR("output"));

    if (item_need(r, r->f.call_id, STR("call_id")) == -1)
        return -1;
    set_origin(r);
    r->item->is_origin = str_is_none(r->f.name);
    if (r->item->is_origin)
        return 0;
    if (item_set_name(r, r->f.name) == -1 || item_set_arguments(r) == -1)
        return -1;
    r->item->hosted_kind = hosted_of_type(r->item->name);
    set_container(r);
    r->item->has_output = true;
    return content_parse_output(r->f.output, &output_at, r->options, r->arena, &r->item->content,
                                r->reterr);
}

void item_take_result(struct item *it, const struct item *result)
{
    struct item whole = *result;

    if (result->is_origin) {
        it->call_id = result->call_id;
        it->ends_round = result->ends_round;
        it->raw_result = result->raw;
        return;
    }
    whole.raw = it->raw;
    whole.raw_result = result->raw;
    whole.index = it->index;
    whole.is_kept = it->is_kept;
    whole.next = it->next;
    *it = whole;
}
