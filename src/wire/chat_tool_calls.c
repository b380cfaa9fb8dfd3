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
                      .is_old_form = c->index == OLD_FORM_INDEX};

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
    struct chat_call *c = chat_calls_take(&r->calls, piece);

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
