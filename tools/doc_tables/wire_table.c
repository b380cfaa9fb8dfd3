/* wire_table.c -- event.def and err.def: what clients see. */
#include "base/err.h"
#include "response/event.h"
#include "table.h"

static const struct {
    unsigned flag;
    const char *name;
} members[] = {
    {EV_ITEM_ID, "item_id"},
    {EV_OUTPUT_INDEX, "output_index"},
    {EV_CONTENT_INDEX, "content_index"},
    {EV_SUMMARY_INDEX, "summary_index"},
    {EV_ANNOTATION_INDEX, "annotation_index"},
    {EV_ITEM, "item"},
    {EV_PART, "part"},
    {EV_DELTA, "delta"},
    {EV_NAME, "name"},
    {EV_TEXT, "text"},
    {EV_REFUSAL, "refusal"},
    {EV_ARGUMENTS, "arguments"},
    {EV_INPUT, "input"},
    {EV_CODE, "code"},
    {EV_ANNOTATION, "annotation"},
    {EV_LOGPROBS, "logprobs"},
    {EV_ERROR, "code, message, param, error"},
    {EV_RESPONSE, "response"},
};

static void write_event(enum event_type type, struct buf *out)
{
    const char *separator = "";

    buf_c(out, "| `");
    buf_c(out, event_name(type));
    buf_c(out, "` | ");
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if ((event_members(type) & members[i].flag) == 0)
            continue;
        buf_c(out, separator);
        buf_c(out, members[i].name);
        separator = ", ";
    }
    buf_c(out, " |\n");
}

void table_events(struct buf *out)
{
    buf_c(out, "| Event | Further members |\n|---|---|\n");
    for (int type = EVENT_NONE + 1; type < EVENT_COUNT; type++)
        write_event((enum event_type)type, out);
}

static void write_error(const struct err *e, struct buf *out)
{
    buf_c(out, "| ");
    buf_int(out, err_http_status(e));
    buf_c(out, " | `");
    buf_c(out, err_wire_code(e));
    buf_c(out, "` | `");
    buf_c(out, err_type(e));
    buf_c(out, "` | `");
    buf_c(out, err_stream_code(e));
    buf_c(out, "` |\n");
}

void table_errors(struct buf *out)
{
    struct err e = {.code = ERR_NONE};

    buf_c(out, "| Status | Code | Type | Code in a stream |\n|---|---|---|---|\n");
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        e.code = (enum err_code)code;
        write_error(&e, out);
    }
}
