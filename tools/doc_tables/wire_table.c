/* wire_table.c -- event.def and err.def: what clients see. */
#include "base/err.h"
#include "response/event.h"
#include "table.h"

static const char *const members[EV_BITS] = {
#define EVENT_MEMBER(symbol, name) [EV_BIT_##symbol] = (name),
#include "response/event.def"
};

static void write_event(enum event_type type, struct buf *out)
{
    const char *separator = "";

    buf_c(out, "| `");
    buf_c(out, event_name(type));
    buf_c(out, "` | ");
    for (unsigned bit = 0; bit < EV_BITS; bit++) {
        if ((event_members(type) & (1U << bit)) == 0)
            continue;
        buf_c(out, separator);
        buf_c(out, members[bit]);
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
