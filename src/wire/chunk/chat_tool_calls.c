/* chat_tool_calls.c -- pieces of tool calls become deltas (CONTRACT 5.4).
 *
 * Which call a piece belongs to is decided in chat_call.c. */
#include "wire/chunk/chat_tool_calls.h"

#include "wire/chunk/chat_read.h"
#include "wire/chunk/chat_speech.h"
#include "wire/chunk/model_text_feed.h"

static void report_call(struct chat_reader *r, const struct chat_call *c)
{
    struct delta d = {.kind = DELTA_CALL,
                      .text = buf_str(&r->piece),
                      .call = (unsigned)(c - r->calls.calls),
                      .call_id = c->id_taken ? STR("") : buf_str(&c->id),
                      .name = buf_str(&c->name),
                      .is_old_form = c->index == CHAT_OLD_FORM,
                      .builtin = c->builtin,
                      .server_label = buf_str(&c->server_label)};

    r->on_delta(r->arg, &d);
}

static void fail_no_call(struct chat_reader *r)
{
    struct err e;

    if (r->calls.n < CHAT_MAX_CALLS) {
        chat_reader_out_of_memory(r);
        return;
    }
    err_set(&e, ERR_UPSTREAM_ERROR,
            "The upstream server sent more than %d tool calls in one answer.", CHAT_MAX_CALLS);
    chat_reader_fail(r, &e);
}

static void add_call_piece(struct chat_reader *r, const struct chat_call_piece *piece)
{
    struct chat_call *c;

    model_text_pause(r);
    c = chat_calls_take(&r->calls, piece);
    if (c == NULL) {
        fail_no_call(r);
        return;
    }
    if (r->splice.high != 0)
        chat_speech_flush(r);
    r->piece.len = 0;
    chat_call_add_arguments(c, piece, &r->piece);
    report_call(r, c);
}

/* The pieces behind a call's first bring arguments only. */
static void says_call(struct chat_reader *r, const struct chat_call_piece *piece)
{
    struct chat_saying saying = {.what = SAYS_ARGUMENTS, .index = piece->index};

    if (jr_type_of(piece->arguments) != JR_STRING || piece->id.len > 0 || piece->name.len > 0)
        saying.what = SAYS_OTHER;
    else
        saying.text = str_from(piece->arguments.p + 1, piece->arguments.len - 2);
    chat_reader_says(r, &saying);
}

void chat_tool_calls(struct chat_reader *r, str raw)
{
    struct chat_call_piece piece;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        if (!chat_read_call(&j, &piece))
            continue;
        says_call(r, &piece);
        add_call_piece(r, &piece);
    }
}

void chat_old_call(struct chat_reader *r, str raw)
{
    struct chat_call_piece piece;

    if (!chat_read_old_call(raw, &piece))
        return;
    chat_reader_says_other(r);
    add_call_piece(r, &piece);
}

void chat_more_arguments(struct chat_reader *r, int64_t index, str quoted)
{
    add_call_piece(r, &(const struct chat_call_piece){.index = index, .arguments = quoted});
}

/* ---- calls in a text */

/* No upstream numbers its calls like that, so each is a new one. */
static int64_t text_call_index(const struct chat_reader *r)
{
    return CHAT_NO_INDEX + 1 + (int64_t)r->calls.n;
}

unsigned chat_text_call_begin(struct chat_reader *r, const struct chat_text_call *call)
{
    struct buf name = {.limit = 0}, id = {.limit = 0};
    struct chat_call_piece piece = {.index = text_call_index(r)};
    struct chat_call *c = NULL;

    json_text_escape(call->name, &name);
    json_text_escape(call->id, &id);
    piece.name = buf_str(&name);
    piece.id = buf_str(&id);
    if (!buf_failed(&name) && !buf_failed(&id))
        c = chat_calls_take(&r->calls, &piece);
    buf_fini(&name);
    buf_fini(&id);
    if (c == NULL) {
        fail_no_call(r);
        return (unsigned)r->calls.n;
    }
    c->builtin = call->builtin;
    json_text_escape(call->server_label, &c->server_label);
    if (buf_failed(&c->server_label))
        chat_reader_out_of_memory(r);
    r->piece.len = 0;
    report_call(r, c);
    return (unsigned)(c - r->calls.calls);
}

void chat_text_call_arguments(struct chat_reader *r, unsigned number, str plain)
{
    if (number >= r->calls.n || plain.len == 0)
        return;
    r->piece.len = 0;
    json_text_escape(plain, &r->piece);
    r->calls.calls[number].has_arguments = true;
    report_call(r, &r->calls.calls[number]);
}

static void end_call(struct chat_reader *r, struct chat_call *c)
{
    r->piece.len = 0;
    if (json_text_splice_end(&c->splice, &r->piece) > 0)
        report_call(r, c);
}

void chat_tool_calls_end(struct chat_reader *r)
{
    for (size_t i = 0; i < r->calls.n; i++)
        end_call(r, &r->calls.calls[i]);
}
