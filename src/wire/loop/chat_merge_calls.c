/* chat_merge_calls.c -- pieces of calls: the gateway's stay here, the client's go on.
 *
 * Whose a call is turns out with its name, so its pieces are held back as long as the
 * name may become that of a tool of the gateway: rarely longer than one chunk. */
#include "wire/loop/chat_merge_chunk.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "wire/loop/chat_loop_member.h"

/* A piece with this index in place of its own. */
static void write_numbered(struct jw *w, size_t index, str raw)
{
    struct chat_loop_member member;
    struct jr j;

    jw_object(w);
    jw_key_int(w, "index", (int64_t)index);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (str_eq(member.name, STR("index")))
            continue;
        json_copy_key(w, member.key);
        jw_raw(w, member.value);
    }
    jw_object_end(w);
}

/* ---- what was held back */

static const struct chat_call *entry_of(const struct chat_merge *m,
                                        const struct chat_loop_call *call)
{
    return &m->said.table.calls[call - m->said.calls];
}

static void hold_call(struct chat_merge *m, struct chat_loop_call *call, str raw)
{
    call->held_name_bytes = entry_of(m, call)->name.len;
    buf_char(&call->held, call->held.len == 0 ? '[' : ',');
    buf_append(&call->held, raw);
    if (buf_failed(&call->held))
        m->said.failed = true;
}

/* Nothing but its name, whole or in pieces, is held back of a call of the old form. */
static void write_old_call(str name, struct jw *w)
{
    jw_key(w, "function_call");
    jw_object(w);
    jw_key_escaped(w, "name", name);
    jw_key_string(w, "arguments", STR(""));
    jw_object_end(w);
}

static void write_pieces(struct chat_loop_call *call, struct jw *w)
{
    struct jr j;

    jw_key(w, "tool_calls");
    jw_array(w);
    buf_char(&call->held, ']');
    jr_init(&j, buf_str(&call->held));
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j))
        write_numbered(w, call->shown_index, jr_raw(&j));
    jw_array_end(w);
}

static void write_given(struct jw *w, const char *key, const struct buf *raw)
{
    if (raw->len > 0)
        jw_key_raw(w, key, buf_str(raw));
}

/* A chunk of our own, like those of the upstream. */
static void show_held(struct chat_merge *m, struct chat_loop_call *call, struct buf *out)
{
    const struct chat_call *entry = entry_of(m, call);
    const size_t start = out->len;
    struct jw w = jw_to(out);

    buf_append(out, STR("data: "));
    jw_object(&w);
    write_given(&w, "id", &m->id);
    jw_key_string(&w, "object", STR("chat.completion.chunk"));
    write_given(&w, "created", &m->created);
    write_given(&w, "model", &m->model);
    jw_key(&w, "choices");
    jw_array(&w);
    jw_object(&w);
    jw_key_int(&w, "index", 0);
    jw_key(&w, "delta");
    jw_object(&w);
    if (entry->index == CHAT_OLD_FORM)
        write_old_call(str_from(entry->name.p, call->held_name_bytes), &w);
    else
        write_pieces(call, &w);
    jw_object_end(&w);
    jw_key_raw(&w, "finish_reason", STR("null"));
    jw_object_end(&w);
    jw_array_end(&w);
    jw_object_end(&w);
    chat_merge_end_frame(out, start);
}

/* A call has turned out to be somebody's. */
static void settle_call(struct chat_merge *m, struct chat_loop_call *call, struct buf *out)
{
    if (call->owner == CHAT_CALL_CLIENTS) {
        if (entry_of(m, call)->index != CHAT_OLD_FORM)
            call->shown_index = m->n_shown_calls++;
        if (call->held.len > 0)
            show_held(m, call, chat_merge_place(m, out));
    }
    if (buf_failed(&call->held))
        m->said.failed = true;
    buf_fini(&call->held);
}

void chat_merge_decide_all(struct chat_merge *m, struct buf *out)
{
    for (size_t i = 0; i < m->said.n && !m->said.failed; i++) {
        struct chat_loop_call *call = &m->said.calls[i];

        if (call->owner != CHAT_CALL_UNDECIDED)
            continue;
        chat_loop_said_decide(&m->said, call, m->conf.tools, true);
        settle_call(m, call, out);
    }
}

/* ---- pieces */

/* Takes a piece in. Returns its call if that is the client's, else NULL. */
static const struct chat_loop_call *take_piece(struct chunk_copy *c,
                                               const struct chat_call_piece *piece, str raw)
{
    struct chat_merge *m = c->m;
    struct chat_loop_call *call = chat_loop_said_piece(&m->said, piece, raw);
    bool was_undecided;

    if (call == NULL)
        return NULL;
    was_undecided = call->owner == CHAT_CALL_UNDECIDED;
    chat_loop_said_decide(&m->said, call, m->conf.tools,
                          chat_call_piece_has_arguments(piece) || m->body.form == CHAT_BODY_WHOLE);
    if (call->owner == CHAT_CALL_UNDECIDED)
        hold_call(m, call, raw);
    else if (was_undecided)
        settle_call(m, call, c->out);
    return call->owner == CHAT_CALL_CLIENTS ? call : NULL;
}

/* Copies an element of tool_calls if it is the client's. In an answer that is no stream calls
 * have no index. */
static bool copy_piece(struct chunk_copy *c, str raw)
{
    const struct chat_loop_call *call;
    struct chat_call_piece piece;
    struct jr j;

    jr_init(&j, raw);
    call = chat_read_call(&j, &piece) ? take_piece(c, &piece, raw) : NULL;
    if (call == NULL)
        return false;
    if (!c->m->conf.is_stream || (piece.has_index && piece.index == (int64_t)call->shown_index)) {
        jw_raw(&c->w, raw);
    } else {
        write_numbered(&c->w, call->shown_index, raw);
        c->has_changed = true;
    }
    return true;
}

bool chat_merge_calls(struct chunk_copy *c, str key, str raw)
{
    const struct jw before = c->w;
    size_t len = c->w.out->len;
    size_t n = 0, n_shown = 0;
    struct jr j;

    json_copy_key(&c->w, key);
    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY)) {
        jw_raw(&c->w, raw);
        return true;
    }
    jw_array(&c->w);
    for (; jr_next_element(&j); n++)
        n_shown += copy_piece(c, jr_raw(&j)) ? 1 : 0;
    jw_array_end(&c->w);
    c->says = c->says || n_shown > 0;
    if (n_shown == n)
        return true;
    c->has_changed = c->has_lost = true;
    if (n_shown == 0 && !buf_failed(c->w.out)) {
        c->w = before;
        c->w.out->len = len;
    }
    return n_shown > 0;
}

/* Some servers send an empty one with every chunk: that begins no call. */
static bool is_old_call(const struct chat_merge *m, const struct chat_call_piece *piece)
{
    bool is_known = false;

    for (size_t i = 0; i < m->said.table.n; i++)
        is_known = is_known || m->said.table.calls[i].index == CHAT_OLD_FORM;
    return is_known || piece->name.len > 0 || chat_call_piece_has_arguments(piece);
}

void chat_merge_old_call(struct chunk_copy *c, str key, str raw)
{
    struct chat_call_piece piece;

    if (chat_read_old_call(raw, &piece) && is_old_call(c->m, &piece) &&
        take_piece(c, &piece, raw) == NULL) {
        c->has_changed = c->has_lost = true;
        return;
    }
    json_copy_key(&c->w, key);
    jw_raw(&c->w, raw);
    c->says = c->says || !chat_read_is_nothing(raw);
}
