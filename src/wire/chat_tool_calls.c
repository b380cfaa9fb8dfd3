/* chat_tool_calls.c -- tool calls of a chunk, in all their forms (CONTRACT 5.4).
 *
 * Which call a piece belongs to is decided in chat_call.c; here it is read and
 * its arguments go on. */
#include "wire/chat_tool_calls.h"

#include "wire/chat_speech.h"
#include "json/json_copy.h"
#include "json/json_read.h"

/* The call of delta.function_call, which has none of its own. */
enum { OLD_FORM_INDEX = -1 };

static void splice_arguments(struct chat_reader *r, struct chat_call *c, str raw)
{
    struct buf compact = {.limit = 0};

    if (jr_type_of(raw) == JR_STRING) {
        json_text_splice(&c->splice, str_from(raw.p + 1, raw.len - 2), &r->piece);
    } else if (!c->has_arguments && (jr_type_of(raw) == JR_OBJECT || jr_type_of(raw) == JR_ARRAY)) {
        json_copy_value(raw, &compact);
        json_text_escape(buf_str(&compact), &r->piece);
        if (buf_failed(&compact))
            chat_reader_out_of_memory(r);
    }
    buf_fini(&compact);
    c->has_arguments = c->has_arguments || r->piece.len > 0;
}

static void report_call(struct chat_reader *r, const struct chat_call *c)
{
    struct delta d = {.kind = DELTA_CALL,
                      .text = buf_str(&r->piece),
                      .call = (unsigned)(c - r->calls.calls),
                      .call_id = c->id_taken ? STR("") : buf_str(&c->id),
                      .name = buf_str(&c->name),
                      .is_old_form = c->index == OLD_FORM_INDEX,
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

static void add_call_piece(struct chat_reader *r, const struct chat_call_piece *piece,
                           str arguments)
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
    splice_arguments(r, c, arguments);
    report_call(r, c);
}

/* The pieces behind a call's first bring arguments only. */
static void says_call(struct chat_reader *r, const struct chat_call_piece *piece, str arguments)
{
    struct chat_saying saying = {.what = SAYS_ARGUMENTS, .index = piece->index};

    if (jr_type_of(arguments) != JR_STRING || piece->id.len > 0 || piece->name.len > 0)
        saying.what = SAYS_OTHER;
    else
        saying.text = str_from(arguments.p + 1, arguments.len - 2);
    chat_reader_says(r, &saying);
}

/* The function object of a call; Ollama's adapters put the index in here. */
static void read_function(str raw, struct chat_call_piece *piece, str *ret_arguments)
{
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("name")))
            piece->name = jr_string(&j);
        else if (str_eq(key, STR("arguments")))
            *ret_arguments = jr_raw(&j);
        else if (str_eq(key, STR("index")) && piece->index == CHAT_NO_INDEX)
            piece->index = jr_int(&j, CHAT_NO_INDEX);
        else
            jr_skip(&j);
    }
}

void chat_tool_calls(struct chat_reader *r, str raw)
{
    struct jr j;
    str key;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        struct chat_call_piece piece = {.index = CHAT_NO_INDEX};
        str function = STR_NONE, arguments = STR_NONE;

        if (!jr_enter(&j, JR_OBJECT))
            continue;
        while (jr_next_member(&j, &key)) {
            if (str_eq(key, STR("index")))
                piece.index = jr_int(&j, CHAT_NO_INDEX);
            else if (str_eq(key, STR("id")))
                piece.id = jr_string(&j);
            else if (str_eq(key, STR("function")))
                function = jr_raw(&j);
            else
                jr_skip(&j);
        }
        read_function(function, &piece, &arguments);
        says_call(r, &piece, arguments);
        add_call_piece(r, &piece, arguments);
    }
}

void chat_legacy_call(struct chat_reader *r, str raw)
{
    struct chat_call_piece piece = {.index = OLD_FORM_INDEX};
    str arguments = STR_NONE;

    if (jr_type_of(raw) != JR_OBJECT)
        return;
    chat_reader_says_other(r);
    read_function(raw, &piece, &arguments);
    add_call_piece(r, &piece, arguments);
}

void chat_more_arguments(struct chat_reader *r, int64_t index, str quoted)
{
    add_call_piece(r, &(const struct chat_call_piece){.index = index}, quoted);
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
