/* output_result.c -- items of hosted tools say what clients may see of a call; here is the call as the model
 * made it, and what it read then. An mcp_call lacks no more than where it comes from: the upstream's id, and
 * whether its round ended with it. */
#include "response/output_result.h"

#include "json/json_copy.h"
#include "json/json_write.h"

bool output_result_exists(const struct output_item *item)
{
    const bool is_own = output_hosted_kind(item->kind) != HOSTED_NONE;
    const bool has_origin =
        item->kind == OUTPUT_MCP_CALL && (!str_is_none(item->upstream_id) || item->ends_round);
    const bool has_ended = item->status == OUTPUT_COMPLETED || item->status == OUTPUT_FAILED;

    return has_ended && ((is_own && !str_is_none(item->output)) || has_origin);
}

static void write_id(const struct output_item *item, struct jw *w)
{
    jw_key(w, "id");
    jw_open_string(w);
    buf_append(w->out, id_str(&item->id));
    buf_append(w->out, STR(ITEM_RESULT_SUFFIX));
    jw_close_string(w);
}

/* {"code":...} as the text that arguments are: escaped once more. */
static void write_argument(const struct output_item *item, struct jw *w)
{
    struct buf json = {.limit = 0};
    struct jw arguments = jw_to(&json);

    jw_object(&arguments);
    json_copy_key_text(&arguments, output_kind_row(item->kind)->text_member, buf_str(&item->text));
    jw_object_end(&arguments);
    jw_key_string(w, "arguments", buf_str(&json));
    w->out->failed = w->out->failed || buf_failed(&json);
    buf_fini(&json);
}

static void write_upstream_arguments(const struct output_item *item, struct jw *w)
{
    if (item->upstream_arguments.len > 0 &&
        !str_eq(buf_str(&item->upstream_arguments), buf_str(&item->arguments)))
        jw_key_escaped(w, "upstream_arguments", buf_str(&item->upstream_arguments));
}

static void write_call(const struct output_item *item, struct jw *w)
{
    jw_key_string(w, "name", hosted_type(output_hosted_kind(item->kind)));
    if (output_kind_row(item->kind)->delta == EVENT_NONE)
        jw_key_escaped(w, "arguments", buf_str(&item->arguments));
    else
        write_argument(item, w);
    json_copy_given_text(w, "container_id", item->container_id);
    write_upstream_arguments(item, w);
    jw_key_escaped(w, "output", item->output);
}

void output_result_write(const struct output_item *item, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    write_id(item, w);
    jw_key_string(w, "type", STR(ITEM_RESULT_TYPE));
    jw_key_string(w, "call_id", id_str(&item->id));
    if (!str_is_none(item->upstream_id))
        jw_key_escaped(w, "upstream_id", item->upstream_id);
    if (item->ends_round)
        jw_key_bool(w, "ends_round", true);
    if (item->kind != OUTPUT_MCP_CALL)
        write_call(item, w);
    jw_object_end(w);
}
