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

/* Errors that only their messages tell apart stand one behind the other in err.def, and are one row. */
static bool is_shown_as(const struct err *a, const struct err *b)
{
    return err_http_status(a) == err_http_status(b) &&
           strcmp(err_wire_code(a), err_wire_code(b)) == 0 &&
           strcmp(err_type(a), err_type(b)) == 0 &&
           strcmp(err_stream_code(a), err_stream_code(b)) == 0;
}

void table_errors(struct buf *out)
{
    struct err e = {.code = ERR_NONE}, before;

    buf_c(out, "| Status | Code | Type | Code in a stream |\n|---|---|---|---|\n");
    for (int code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        before = e;
        e.code = (enum err_code)code;
        if (before.code == ERR_NONE || !is_shown_as(&before, &e))
            write_error(&e, out);
    }
}
