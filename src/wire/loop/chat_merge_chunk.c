/* chat_merge_chunk.c -- copy a chunk but for what the client is not to see.
 *
 * Every chunk is copied member by member. When nothing had to be changed, which is
 * nearly always so in the first round, the upstream's own bytes go out instead. When
 * something was left out and the rest says nothing, there is no chunk at all. */
#include "wire/loop/chat_merge_chunk.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "wire/chat/chat_rewrite.h"
#include "wire/dialect/upstream_error.h"
#include "wire/loop/chat_loop_member.h"
#include "wire/loop/chat_loop_usage.h"

static bool is_empty_reasoning(const struct chat_loop_member *member)
{
    return (str_eq(member->name, STR("reasoning")) ||
            str_eq(member->name, STR("reasoning_content"))) &&
           (jr_type_of(member->value) == JR_NULL || chat_holds_only_nulls(member->value));
}

static void copy_raw(struct chunk_copy *c, str key, str raw)
{
    json_copy_key(&c->w, key);
    jw_raw(&c->w, raw);
}

static void copy_instead(struct chunk_copy *c, str key, str raw)
{
    copy_raw(c, key, raw);
    c->has_changed = true;
}

static void leave_out(struct chunk_copy *c)
{
    c->has_changed = c->has_lost = true;
}

/* ---- delta */

/* A client's reader puts strings together, so the role must come once. */
static void copy_role(struct chunk_copy *c, str key, str raw)
{
    if (c->m->conf.is_stream && c->m->has_role) {
        leave_out(c);
        return;
    }
    c->m->has_role = c->m->has_role || !chat_read_is_nothing(raw);
    c->says = c->says || !chat_read_is_nothing(raw);
    copy_raw(c, key, raw);
}

/* llama-cpp-python writes a call that was asked for by name in both forms: then the client gets
 * both or none of them. */
static void copy_old_call(struct chunk_copy *c, const struct chat_loop_member *call,
                          bool has_shown_calls)
{
    if (has_shown_calls)
        copy_raw(c, call->key, call->value);
    else
        leave_out(c);
}

static void copy_delta(struct chunk_copy *c, str key, str raw)
{
    struct chat_loop_member member, twin = {.key = STR_NONE};
    bool has_shown_calls = false;
    struct chat_delta delta;
    struct jr j;

    chat_read_delta(raw, &delta);
    chat_loop_said_texts(&c->m->said, &delta);
    json_copy_key(&c->w, key);
    jw_object(&c->w);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (str_eq(member.name, STR("role"))) {
            copy_role(c, member.key, member.value);
        } else if (str_eq(member.name, STR("tool_calls"))) {
            has_shown_calls = chat_merge_calls(c, member.key, member.value);
        } else if (str_eq(member.name, STR("function_call")) &&
                   !chat_read_is_nothing(delta.tool_calls)) {
            twin = member;
        } else if (str_eq(member.name, STR("function_call"))) {
            chat_merge_old_call(c, member.key, member.value);
        } else if (is_empty_reasoning(&member)) {
            leave_out(c);
        } else {
            copy_raw(c, member.key, member.value);
            c->says = c->says || !chat_read_is_nothing(member.value);
        }
    }
    if (!str_is_none(twin.key))
        copy_old_call(c, &twin, has_shown_calls);
    jw_object_end(&c->w);
}

/* ---- finish_reason */

/* Stands behind the delta in what is written, since the calls decide about it. */
static void copy_finish(struct chunk_copy *c, str key, str word)
{
    const enum finish finish = chat_read_finish(word);
    struct chat_merge *m = c->m;
    bool has_ours = chat_loop_said_count(&m->said, CHAT_CALL_OURS) > 0;
    bool has_clients = chat_loop_said_count(&m->said, CHAT_CALL_CLIENTS) > 0;
    bool is_first = !m->has_finish;

    if (is_first) {
        m->has_finish = true;
        m->is_cut = finish != FINISH_STOP && finish != FINISH_TOOL_CALLS;
    }
    c->ends = is_first && (m->is_cut || !has_ours || has_clients);
    c->says = c->says || c->ends;
    c->leads_on = !c->ends;
    if (c->leads_on) {
        copy_raw(c, key, STR("null"));
        leave_out(c);
    } else if (has_ours && str_eq(word, STR("stop"))) {
        copy_instead(c, key, STR("\"tool_calls\""));
    } else {
        copy_raw(c, key, str_from(word.p - 1, word.len + 2));
    }
}

/* ---- choices */

/* What the choice says: of a chunk rather the delta, of a whole body the message. */
static str said_in(const struct chunk_copy *c, const struct chat_choice *choice)
{
    bool rather_message = c->m->body.form == CHAT_BODY_WHOLE || str_is_none(choice->delta);

    return rather_message && !str_is_none(choice->message) ? choice->message : choice->delta;
}

/* Is it a message, or a delta, with calls? They may be the gateway's. */
static bool has_calls(const struct chat_loop_member *member)
{
    struct chat_delta said;

    if (!str_eq(member->name, STR("message")) && !str_eq(member->name, STR("delta")))
        return false;
    chat_read_delta(member->value, &said);
    return !chat_read_is_nothing(said.tool_calls) || !chat_read_is_nothing(said.function_call);
}

static void copy_choice(struct chunk_copy *c, const struct chat_choice *choice, str raw)
{
    const str said = said_in(c, choice);
    bool becomes_delta = c->m->conf.is_stream && said.p == choice->message.p;
    struct chat_loop_member member;
    str key = STR_NONE, finish = STR_NONE;
    struct jr j;

    jr_init(&j, raw);
    jw_object(&c->w);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (!str_is_none(said) && member.value.p == said.p) {
            copy_delta(c, becomes_delta ? STR("delta") : member.key, said);
            c->has_changed = c->has_changed || becomes_delta;
        } else if (c->m->conf.is_stream && !str_is_none(said) &&
                   str_eq(member.name, STR("delta"))) {
            leave_out(c); /* there is one already */
        } else if (!str_is_none(said) && has_calls(&member)) {
            leave_out(c); /* it is not what counts */
        } else if (str_eq(member.name, STR("finish_reason"))) {
            key = member.key;
            finish = member.value;
        } else {
            copy_raw(c, member.key, member.value);
            c->says = c->says ||
                      (str_eq(member.name, STR("logprobs")) && !chat_read_is_nothing(member.value));
        }
    }
    if (choice->finish.len > 0)
        copy_finish(c, key, choice->finish);
    else if (!str_is_none(finish))
        copy_raw(c, key, finish);
    jw_object_end(&c->w);
}

/* There is one choice, as the request did not ask for more. */
static void copy_choices(struct chunk_copy *c, str key, str raw)
{
    struct chat_choice choice;
    struct jr j, inner;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY)) {
        copy_raw(c, key, raw);
        return;
    }
    json_copy_key(&c->w, key);
    jw_array(&c->w);
    while (jr_next_element(&j)) {
        str element = jr_raw(&j);

        jr_init(&inner, element);
        if (chat_read_choice(&inner, &choice)) {
            copy_choice(c, &choice, element);
        } else {
            jw_raw(&c->w, element);
            c->says = true;
        }
    }
    jw_array_end(&c->w);
}

/* ---- the chunk */

static void copy_usage(struct chunk_copy *c, str key, str raw)
{
    struct chat_merge *m = c->m;
    struct buf sum = {.limit = 0};

    if (m->conf.is_stream && !m->conf.wants_usage) {
        c->has_changed = true;
        c->has_lost = c->has_lost || !chat_read_is_nothing(raw);
    } else if (m->usage.len > 0 && jr_type_of(raw) == JR_OBJECT) {
        chat_loop_usage_write(buf_str(&m->usage), raw, &sum);
        copy_instead(c, key, buf_str(&sum));
        c->counts = true;
    } else {
        copy_raw(c, key, raw);
        c->counts = !chat_read_is_nothing(raw);
    }
    if (buf_failed(&sum))
        m->said.failed = true;
    buf_fini(&sum);
}

/* What an answer has once, as it was said first. */
static void copy_unified(struct chunk_copy *c, str key, str raw, struct buf *first)
{
    if (first->len == 0 && !chat_read_is_nothing(raw))
        buf_append(first, raw);
    if (!c->m->conf.is_stream || chat_read_is_nothing(raw) || str_eq(raw, buf_str(first)))
        copy_raw(c, key, raw);
    else
        copy_instead(c, key, buf_str(first));
}

static void copy_member(struct chunk_copy *c, const struct chat_loop_member *member)
{
    struct chat_merge *m = c->m;
    bool becomes_chunk = m->body.form == CHAT_BODY_WHOLE && m->conf.is_stream;

    if (str_eq(member->name, STR("choices"))) {
        copy_choices(c, member->key, member->value);
    } else if (str_eq(member->name, STR("usage"))) {
        copy_usage(c, member->key, member->value);
    } else if (str_eq(member->name, STR("id"))) {
        copy_unified(c, member->key, member->value, &m->id);
    } else if (str_eq(member->name, STR("created"))) {
        copy_unified(c, member->key, member->value, &m->created);
    } else if (str_eq(member->name, STR("object")) && becomes_chunk) {
        copy_instead(c, member->key, STR("\"chat.completion.chunk\""));
    } else if (is_empty_reasoning(member)) {
        leave_out(c);
    } else {
        if (str_eq(member->name, STR("model")) && m->model.len == 0)
            buf_append(&m->model, member->value);
        copy_raw(c, member->key, member->value);
    }
}

static void copy_chunk(struct chunk_copy *c, str json)
{
    struct chat_loop_member member;
    struct jr j;

    jw_object(&c->w);
    jr_init(&j, json);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member))
        copy_member(c, &member);
    jw_object_end(&c->w);
}

struct buf *chat_merge_place(struct chat_merge *m, struct buf *out)
{
    if (m->has_finish)
        return &m->tail;
    return m->conf.hides_rounds ? &m->shown : out;
}

void chat_merge_end_frame(struct buf *to, size_t start)
{
    buf_append(to, STR("\n\n"));
    if (buf_failed(to))
        to->len = start;
}

static void write_frame(str json, struct buf *out)
{
    const size_t start = out->len;

    buf_append(out, STR("data: "));
    buf_append(out, json);
    chat_merge_end_frame(out, start);
}

/* Does a choice end here? Then the names of all calls are complete. */
static bool has_finish(str choices)
{
    struct chat_choice choice;
    struct jr j;

    jr_init(&j, choices);
    if (!jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j)) {
        if (chat_read_choice(&j, &choice) && choice.finish.len > 0)
            return true;
    }
    return false;
}

/* An answer that has ended stands. */
static void read_error(struct chat_merge *m, const struct chat_chunk *chunk, struct buf *out)
{
    if (m->has_finish)
        return;
    m->failed = true;
    upstream_error_from_value(str_is_none(chunk->error) ? chunk->json : chunk->error, &m->error);
    if (str_is_none(chunk->error))
        return;
    buf_append(out, buf_str(&m->shown));
    buf_reset(&m->shown);
    write_frame(chunk->json, out);
    m->is_told = true;
}

void chat_merge_chunk(struct chat_merge *m, const struct chat_chunk *chunk, struct buf *out)
{
    struct chunk_copy c = {.m = m, .out = out, .w = jw_to(&m->chunk)};
    struct buf *place;
    str copied;

    if (m->conf.is_stream && (chunk->is_flat_error || !str_is_none(chunk->error))) {
        read_error(m, chunk, out);
        return;
    }
    if (has_finish(chunk->choices))
        chat_merge_decide_all(m, out);
    place = chat_merge_place(m, out);
    /* Some servers count in every chunk; the last word is right. */
    if (!str_is_none(chunk->usage)) {
        buf_reset(&m->round_usage);
        buf_append(&m->round_usage, chunk->usage);
    }
    buf_reset(&m->chunk);
    copy_chunk(&c, chunk->json);
    copied = c.has_changed ? buf_str(&m->chunk) : chunk->json;
    if (c.ends)
        place = &m->tail;
    if (!m->conf.is_stream)
        buf_append(&m->tail, copied);
    else if (c.says || (c.counts && !c.leads_on) || !c.has_lost)
        write_frame(copied, place);
}
