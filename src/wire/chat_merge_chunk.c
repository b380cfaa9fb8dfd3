/* chat_merge_chunk.c -- copy a chunk but for what the client is not to see.
 *
 * Every chunk is copied member by member. When nothing had to be changed, which is
 * nearly always so in the first round, the upstream's own bytes go out instead. When
 * something was left out and the rest says nothing, there is no chunk at all. */
#include "wire/chat_merge_chunk.h"

#include "wire/chat_loop_member.h"
#include "wire/chat_loop_usage.h"
#include "wire/upstream_error.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* null, false, "", 0, {} and [] say nothing, nor does a value that is not there. */
static bool is_nothing(str raw)
{
    static const str nothing[] = {STR_INIT("null"), STR_INIT("false"), STR_INIT("\"\""),
                                  STR_INIT("0"),    STR_INIT("{}"),    STR_INIT("[]")};

    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
        if (str_eq(raw, nothing[i]))
            return true;
    }
    return raw.len == 0;
}

/* null, or an object of which nothing but that can be said. */
static bool is_all_null(str raw)
{
    struct jr j;
    str name;

    jr_init(&j, raw);
    if (jr_type_of(raw) != JR_OBJECT)
        return jr_type_of(raw) == JR_NULL;
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        if (jr_type_of(jr_raw(&j)) != JR_NULL)
            return false;
    }
    return true;
}

static bool is_empty_reasoning(const struct chat_loop_member *member)
{
    return (str_eq(member->name, STR("reasoning")) ||
            str_eq(member->name, STR("reasoning_content"))) &&
           is_all_null(member->value);
}

static void copy(struct chunk_copy *c, str key, str raw)
{
    json_copy_key(&c->w, key);
    jw_raw(&c->w, raw);
}

static void copy_instead(struct chunk_copy *c, str key, str raw)
{
    copy(c, key, raw);
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
    c->m->has_role = c->m->has_role || !is_nothing(raw);
    c->says = c->says || !is_nothing(raw);
    copy(c, key, raw);
}

static void copy_delta(struct chunk_copy *c, str key, str raw)
{
    struct chat_loop_member member;
    struct jr j;

    chat_loop_said_texts(&c->m->said, raw);
    json_copy_key(&c->w, key);
    jw_object(&c->w);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (str_eq(member.name, STR("role"))) {
            copy_role(c, member.key, member.value);
        } else if (str_eq(member.name, STR("tool_calls"))) {
            chat_merge_calls(c, member.key, member.value);
        } else if (is_empty_reasoning(&member)) {
            leave_out(c);
        } else {
            copy(c, member.key, member.value);
            c->says = c->says || !is_nothing(member.value);
        }
    }
    jw_object_end(&c->w);
}

/* ---- finish_reason */

/* The answer was cut off before its end, and so may be the arguments of its calls. */
static bool is_cut(str word)
{
    static const str words[] = {
        STR_INIT("length"),     STR_INIT("model_length"),
        STR_INIT("max_tokens"), STR_INIT("content_filter"),
        STR_INIT("error"),      STR_INIT("insufficient_system_resource"),
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(word, words[i]))
            return true;
    }
    return false;
}

static bool is_finish(str raw)
{
    return jr_type_of(raw) == JR_STRING && raw.len > strlen("\"\"");
}

/* Stands behind the delta in what is written, since the calls decide about it. */
static void copy_finish(struct chunk_copy *c, str key, str raw)
{
    struct chat_merge *m = c->m;
    bool has_ours = chat_loop_said_count(&m->said, CHAT_CALL_OURS) > 0;
    bool has_clients = chat_loop_said_count(&m->said, CHAT_CALL_CLIENTS) > 0;
    bool is_first = !m->has_finish;

    if (is_first) {
        m->has_finish = true;
        m->is_cut = is_cut(str_from(raw.p + 1, raw.len - 2));
    }
    c->ends = is_first && (m->is_cut || !has_ours || has_clients);
    c->says = c->says || c->ends;
    c->leads_on = !c->ends;
    if (c->leads_on) {
        copy(c, key, STR("null"));
        leave_out(c);
    } else if (has_ours && str_eq(raw, STR("\"stop\""))) {
        copy_instead(c, key, STR("\"tool_calls\""));
    } else {
        copy(c, key, raw);
    }
}

/* ---- choices */

static bool is_delta(const struct chat_loop_member *member)
{
    return (str_eq(member->name, STR("delta")) || str_eq(member->name, STR("message"))) &&
           jr_type_of(member->value) == JR_OBJECT;
}

/* Simple servers send a whole message where a delta belongs. */
static void copy_any_delta(struct chunk_copy *c, const struct chat_loop_member *member)
{
    bool becomes_delta = c->m->conf.is_stream && str_eq(member->name, STR("message"));

    copy_delta(c, becomes_delta ? STR("delta") : member->key, member->value);
    c->has_changed = c->has_changed || becomes_delta;
}

static void copy_choice(struct chunk_copy *c, str raw)
{
    struct chat_loop_member member;
    str key = STR_NONE, finish = STR_NONE;
    struct jr j;

    jr_init(&j, raw);
    jw_object(&c->w);
    (void)jr_enter(&j, JR_OBJECT);
    while (chat_loop_next_member(&j, &member)) {
        if (is_delta(&member)) {
            copy_any_delta(c, &member);
        } else if (str_eq(member.name, STR("finish_reason"))) {
            key = member.key;
            finish = member.value;
        } else {
            copy(c, member.key, member.value);
            c->says =
                c->says || (str_eq(member.name, STR("logprobs")) && !is_nothing(member.value));
        }
    }
    if (is_finish(finish))
        copy_finish(c, key, finish);
    else if (!str_is_none(finish))
        copy(c, key, finish);
    jw_object_end(&c->w);
}

/* There is one choice, as the request did not ask for more. */
static bool is_first_choice(str raw)
{
    struct jr index;

    jr_init(&index, jr_member(raw, STR("index")));
    return jr_type_of(raw) == JR_OBJECT && jr_int(&index, 0) == 0;
}

static void copy_choices(struct chunk_copy *c, str key, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY)) {
        copy(c, key, raw);
        return;
    }
    json_copy_key(&c->w, key);
    jw_array(&c->w);
    while (jr_next_element(&j)) {
        str choice = jr_raw(&j);

        if (is_first_choice(choice)) {
            copy_choice(c, choice);
        } else {
            jw_raw(&c->w, choice);
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
        c->has_lost = c->has_lost || !is_nothing(raw);
    } else if (m->usage.len > 0 && jr_type_of(raw) == JR_OBJECT) {
        chat_loop_usage_write(buf_str(&m->usage), raw, &sum);
        copy_instead(c, key, buf_str(&sum));
        c->counts = true;
    } else {
        copy(c, key, raw);
        c->counts = !is_nothing(raw);
    }
    if (buf_failed(&sum))
        m->said.failed = true;
    buf_fini(&sum);
}

/* What an answer has once, as it was said first. */
static void copy_unified(struct chunk_copy *c, str key, str raw, struct buf *first)
{
    if (first->len == 0 && !is_nothing(raw))
        buf_append(first, raw);
    if (!c->m->conf.is_stream || is_nothing(raw) || str_eq(raw, buf_str(first)))
        copy(c, key, raw);
    else
        copy_instead(c, key, buf_str(first));
}

static void copy_member(struct chunk_copy *c, const struct chat_loop_member *member)
{
    struct chat_merge *m = c->m;
    bool becomes_chunk = m->form == CHAT_MERGE_WHOLE && m->conf.is_stream;

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
        copy(c, member->key, member->value);
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

static void write_frame(str json, struct buf *out)
{
    buf_append(out, STR("data: "));
    buf_append(out, json);
    buf_append(out, STR("\n\n"));
}

/* What has to be known of a chunk before it is copied; raw. */
struct look {
    str choices, usage, error, object, x_groq;
};

static struct look look_at(str json)
{
    struct look l = {.choices = STR_NONE};
    struct chat_loop_member member;
    struct jr j;

    jr_init(&j, json);
    if (!jr_enter(&j, JR_OBJECT))
        return l;
    while (chat_loop_next_member(&j, &member)) {
        if (str_eq(member.name, STR("choices")))
            l.choices = member.value;
        else if (str_eq(member.name, STR("usage")))
            l.usage = member.value;
        else if (str_eq(member.name, STR("error")))
            l.error = member.value;
        else if (str_eq(member.name, STR("object")))
            l.object = member.value;
        else if (str_eq(member.name, STR("x_groq")))
            l.x_groq = member.value;
    }
    return l;
}

/* Does a choice end here? Then the names of all calls are complete. */
static bool has_finish(str choices)
{
    struct jr j;

    jr_init(&j, choices);
    if (!jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j)) {
        str choice = jr_raw(&j);

        if (is_first_choice(choice) && is_finish(jr_member(choice, STR("finish_reason"))))
            return true;
    }
    return false;
}

/* Some servers count in every chunk; the last word is right. */
static void keep_usage(struct chat_merge *m, const struct look *look)
{
    str usage = look->usage;

    if (jr_type_of(usage) != JR_OBJECT)
        usage = jr_member(look->x_groq, STR("usage"));
    if (jr_type_of(usage) != JR_OBJECT)
        return;
    buf_reset(&m->round_usage);
    buf_append(&m->round_usage, usage);
}

static bool is_error(const struct look *look, str event)
{
    return !is_nothing(look->error) || str_eq(event, STR("error")) ||
           str_eq(look->object, STR("\"error\""));
}

/* An answer that has ended stands. */
static void read_error(struct chat_merge *m, str json, str error, struct buf *out)
{
    if (m->has_finish)
        return;
    m->failed = true;
    upstream_error_from_value(is_nothing(error) ? json : error, &m->error);
    if (is_nothing(error))
        return;
    buf_append(out, buf_str(&m->shown));
    buf_reset(&m->shown);
    write_frame(json, out);
    m->is_told = true;
}

void chat_merge_chunk(struct chat_merge *m, str json, str event, struct buf *out)
{
    const struct look look = look_at(json);
    struct chunk_copy c = {.m = m, .out = out, .w = jw_to(&m->chunk)};
    struct buf *place;

    if (m->conf.is_stream && is_error(&look, event)) {
        read_error(m, json, look.error, out);
        return;
    }
    if (has_finish(look.choices))
        chat_merge_decide_all(m, out);
    place = chat_merge_place(m, out);
    keep_usage(m, &look);
    buf_reset(&m->chunk);
    copy_chunk(&c, json);
    if (c.ends)
        place = &m->tail;
    if (!m->conf.is_stream)
        buf_append(&m->tail, c.has_changed ? buf_str(&m->chunk) : json);
    else if (c.says || (c.counts && !c.leads_on) || !c.has_lost)
        write_frame(c.has_changed ? buf_str(&m->chunk) : json, place);
}
