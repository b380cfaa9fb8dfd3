/* response.c -- the life of a response: its start, its prose, its ends.
 *
 *     created -> in_progress -> item* -> completed | incomplete | error, failed -> [DONE]
 *     \_____ response_start ____/         \_____________ response_end ______________/
 *
 * At most one message or reasoning item ("prose") is open, and none while
 * another item is announced; calls may stay open side by side. */
#include "response/response.h"

#include "response/response_internal.h"

void response_init(struct response *r, const struct response_conf *conf)
{
    *r = (struct response){.conf = *conf};
    r->id = id_make(conf->ids, "resp_", ID_RANDOM_CHARS);
    r->end = &r->first;
    r->service_tier = str_is_none(conf->service_tier) ? STR("default") : conf->service_tier;
}

void response_fini(struct response *r)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next)
        output_item_fini(item);
    response_calls_fini(r);
    arena_fini(&r->arena);
}

/* ---- events */

void response_emit(struct response *r, enum event_type type, const struct event *e, struct buf *out)
{
    if (out == NULL)
        return;
    event_begin(type, r->next_sequence_number++, e, out);
    event_end(out);
}

void response_emit_item(struct response *r, enum event_type type, const struct output_item *item,
                        struct buf *out)
{
    struct event e = {.output_index = item->index};

    if (out == NULL)
        return;
    event_begin(type, r->next_sequence_number++, &e, out);
    output_item_write(item, out);
    event_end(out);
}

static void emit_response(struct response *r, enum event_type type, struct buf *out)
{
    struct event e = {.output_index = 0};

    if (out == NULL)
        return;
    event_begin(type, r->next_sequence_number++, &e, out);
    response_object(r, out);
    event_end(out);
}

/* Any event of a part: its added and done, its delta and text. *e holds the
 * texts; the rest is filled in. */
static void emit_part(struct response *r, enum event_type type, const struct output_item *item,
                      struct output_part *p, struct event *e, struct buf *out)
{
    if (out == NULL)
        return;
    e->item_id = id_str(&item->id);
    e->output_index = item->index;
    e->part_index = item->n_parts - 1;
    e->obfuscate = r->conf.obfuscation;
    if (type == output_part_row(p->kind)->delta) {
        if (p->delta_ids.len == 0)
            event_ids(type, e, &p->delta_ids);
        e->ids = buf_failed(&p->delta_ids) ? STR("") : buf_str(&p->delta_ids);
    }
    event_begin(type, r->next_sequence_number++, e, out);
    if ((event_members(type) & EV_PART) != 0)
        output_part_write(p, out);
    event_end(out);
}

void response_start(struct response *r, struct buf *out)
{
    emit_response(r, EVENT_CREATED, out);
    emit_response(r, EVENT_IN_PROGRESS, out);
}

void response_keepalive(struct response *r, struct buf *out)
{
    struct event e = {.output_index = 0};

    response_emit(r, EVENT_KEEPALIVE, &e, out);
}

/* ---- limits */

void response_break(struct response *r, enum err_code why)
{
    if (r->broken == ERR_NONE)
        r->broken = why;
}

bool response_claim(struct response *r, size_t n)
{
    if (r->conf.max_output_bytes != 0 && n > r->conf.max_output_bytes - r->used_bytes) {
        response_break(r, ERR_UPSTREAM_ERROR);
        return false;
    }
    r->used_bytes += n;
    return true;
}

void response_failure(const struct response *r, struct err *ret)
{
    if (r->broken == ERR_UPSTREAM_ERROR)
        err_set(ret, ERR_UPSTREAM_ERROR,
                "The output grew past the gateway's limit of %zu bytes (max_response).",
                r->conf.max_output_bytes);
    else
        err_set_no_memory(ret);
}

/* ---- items */

static struct output_item *append_item(struct response *r, enum output_kind kind)
{
    struct output_item *item;

    if (!response_claim(r, sizeof(*item)))
        return NULL;
    item = output_item_new(&r->arena, kind, r->n_items, r->conf.ids);
    if (item == NULL) {
        response_break(r, ERR_INTERNAL);
        return NULL;
    }
    *r->end = item;
    r->end = &item->next;
    return item;
}

struct output_item *response_add_item(struct response *r, enum output_kind kind, struct buf *out)
{
    struct output_item *item;

    response_close_prose(r, OUTPUT_COMPLETED, out);
    item = append_item(r, kind);
    if (item != NULL)
        r->n_items++;
    return item;
}

/* ---- prose: messages and reasoning */

static struct output_part *add_part(struct response *r, struct output_item *item,
                                    enum output_part_kind kind)
{
    struct output_part *p;

    if (!response_claim(r, sizeof(*p)))
        return NULL;
    p = output_item_add_part(item, &r->arena, kind);
    if (p == NULL)
        response_break(r, ERR_INTERNAL);
    return p;
}

static bool open_part(struct response *r, enum output_part_kind kind, struct buf *out)
{
    struct event no_text = {.output_index = 0};
    struct output_part *p = add_part(r, r->prose, kind);

    if (p == NULL)
        return false;
    emit_part(r, output_part_row(kind)->added, r->prose, p, &no_text, out);
    return true;
}

static void close_part(struct response *r, struct buf *out)
{
    struct output_item *item = r->prose;
    struct output_part *p = item->open;

    if (p != NULL) {
        struct event texts = {.text = buf_str(&p->text), .logprobs = buf_str(&p->logprobs)};

        item->open = NULL;
        response_emit_citations(r, item, p, out);
        emit_part(r, output_part_row(p->kind)->text_done, item, p, &texts, out);
        emit_part(r, output_part_row(p->kind)->done, item, p, &texts, out);
    }
}

static void close_hidden(struct response *r, enum output_status status)
{
    if (r->hidden != NULL)
        r->hidden->status = status;
    r->hidden = NULL;
}

void response_close_prose(struct response *r, enum output_status status, struct buf *out)
{
    struct output_item *item = r->prose;

    close_hidden(r, status);
    if (item == NULL)
        return;
    close_part(r, out);
    item->status = status;
    r->prose = NULL;
    response_emit_item(r, EVENT_ITEM_DONE, item, out);
}

/* Makes a part of this kind the open one, in a new item if need be. */
static bool enter_part(struct response *r, enum output_part_kind kind, struct buf *out)
{
    enum output_kind item_kind = output_part_row(kind)->item;

    if (r->prose == NULL || r->prose->kind != item_kind) {
        struct output_item *item;

        response_announce_calls(r, out);
        response_close_finished_call(r, out);
        item = response_add_item(r, item_kind, out);
        if (item == NULL)
            return false;
        r->prose = item;
        response_emit_item(r, EVENT_ITEM_ADDED, item, out);
    }
    if (r->prose->open != NULL && r->prose->open->kind == kind)
        return true;
    close_part(r, out);
    return open_part(r, kind, out);
}

/* All of a delta or nothing: what no event carried must not stand in a done event. */
static bool keep_text(struct output_part *p, const struct delta *d)
{
    size_t text_len = p->text.len, logprobs_len = p->logprobs.len;

    buf_append(&p->text, d->text);
    if (d->logprobs.len > 0) {
        if (p->logprobs.len > 0)
            buf_char(&p->logprobs, ',');
        buf_append(&p->logprobs, d->logprobs);
    }
    if (!buf_failed(&p->text) && !buf_failed(&p->logprobs))
        return true;
    p->text.len = text_len;
    p->logprobs.len = logprobs_len;
    return false;
}

static bool claim_text(struct response *r, struct output_part *p, const struct delta *d)
{
    if (!response_claim(r, d->text.len + d->logprobs.len))
        return false;
    if (!keep_text(p, d))
        response_break(r, ERR_INTERNAL);
    return !r->broken;
}

static bool add_text(struct response *r, enum output_part_kind kind, const struct delta *d,
                     struct buf *out)
{
    struct event texts = {.text = d->text, .logprobs = d->logprobs};

    if (!enter_part(r, kind, out) || !claim_text(r, r->prose->open, d))
        return false;
    emit_part(r, output_part_row(kind)->delta, r->prose, r->prose->open, &texts, out);
    return true;
}

/* An item that nobody sees ends none that is seen: the events are those of an
 * answer without reasoning. */
static bool hide_text(struct response *r, const struct delta *d)
{
    if (r->hidden == NULL) {
        struct output_item *item = append_item(r, OUTPUT_REASONING);

        if (item == NULL)
            return false;
        item->is_hidden = true;
        if (add_part(r, item, OUTPUT_PART_REASONING) == NULL)
            return false;
        r->hidden = item;
    }
    return claim_text(r, r->hidden->open, d);
}

bool response_delta(struct response *r, const struct delta *d, struct buf *out)
{
    if (r->broken)
        return false;
    switch (d->kind) {
    case DELTA_TEXT:
        return add_text(r, OUTPUT_PART_TEXT, d, out);
    case DELTA_REFUSAL:
        return add_text(r, OUTPUT_PART_REFUSAL, d, out);
    case DELTA_REASONING:
        if (r->conf.reasoning == REASONING_NONE)
            return hide_text(r, d);
        return add_text(
            r, r->conf.reasoning == REASONING_SUMMARY ? OUTPUT_PART_SUMMARY : OUTPUT_PART_REASONING,
            d, out);
    case DELTA_CALL:
        return response_call_delta(r, d, out);
    case DELTA_CITATION:
        return response_keep_citation(r, &d->citation);
    }
    return false;
}

void response_add_usage(struct response *r, const struct usage *u, str service_tier)
{
    str tier = service_tier.len == 0 ? STR_NONE : arena_dup(&r->arena, service_tier);

    r->n_rounds++;
    if (!str_is_none(tier))
        r->service_tier = tier;
    if (!u->known)
        return;
    r->usage.known = true;
    r->usage.input += u->input;
    r->usage.cached += u->cached;
    r->usage.cache_write += u->cache_write;
    r->usage.output += u->output;
    r->usage.reasoning += u->reasoning;
}

/* ---- ends */

/* A completed response has something to show beside reasoning, and one that was cut
 * short has something to show at all: at least an empty message. */
static void show_something(struct response *r, struct buf *out)
{
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->kind != OUTPUT_REASONING)
            return;
    }
    (void)enter_part(r, OUTPUT_PART_TEXT, out);
}

static void emit_error(struct response *r, const struct err *e, struct buf *out)
{
    const struct event none = {.output_index = 0};
    struct jw w = jw_to(out);

    event_begin(EVENT_ERROR, r->next_sequence_number++, &none, out);
    w.comma = true; /* type and sequence_number stand before */
    jw_key_string(&w, "code", str_from_c(err_stream_code(e)));
    jw_key_string(&w, "message", str_from_c(e->msg));
    jw_key_string(&w, "param", e->param[0] == '\0' ? STR_NONE : str_from_c(e->param));
    jw_key(&w, "error");
    response_write_error(e, &w);
    event_end(out);
}

static void complete(struct response *r, int64_t now_s)
{
    r->status = RESPONSE_COMPLETED;
    r->completed_at = now_s < r->conf.created_at ? r->conf.created_at : now_s;
}

static void cut_short(struct response *r, const char *reason)
{
    r->status = RESPONSE_INCOMPLETE;
    r->incomplete_reason = reason;
}

void response_finish(struct response *r, enum finish finish, int64_t now_s, struct buf *out)
{
    bool ok = finish != FINISH_LENGTH && finish != FINISH_CONTENT_FILTER;
    bool nameless = response_close_calls(r, ok ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
    struct err e;

    close_hidden(r, ok && !r->broken ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE);
    if (nameless && r->n_items == 0) {
        err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server sent a tool call without a name.");
        response_fail(r, &e, out);
        return;
    }
    if (ok || r->n_items == 0)
        show_something(r, out);
    response_close_prose(r, ok && !r->broken ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
    if (r->broken) {
        response_failure(r, &e);
        response_fail(r, &e, out);
    } else if (ok) {
        complete(r, now_s);
    } else {
        cut_short(r, finish == FINISH_LENGTH ? "max_output_tokens" : "content_filter");
    }
}

void response_fail(struct response *r, const struct err *e, struct buf *out)
{
    static struct err out_of_memory = {.code = ERR_INTERNAL,
                                       .msg = "The gateway ran out of memory."};

    (void)response_close_calls(r, OUTPUT_INCOMPLETE, out);
    response_close_prose(r, OUTPUT_INCOMPLETE, out);
    r->status = RESPONSE_FAILED;
    r->error = arena_alloc(&r->arena, sizeof(*r->error));
    if (r->error != NULL)
        *r->error = *e;
    else
        r->error = &out_of_memory;
}

void response_end(struct response *r, struct buf *out)
{
    static const enum event_type terminal[] = {
        [RESPONSE_COMPLETED] = EVENT_COMPLETED,
        [RESPONSE_INCOMPLETE] = EVENT_INCOMPLETE,
        [RESPONSE_FAILED] = EVENT_FAILED,
    };

    if (out == NULL)
        return;
    if (r->status == RESPONSE_FAILED && r->conf.error_event)
        emit_error(r, r->error, out);
    emit_response(r, terminal[r->status], out);
    buf_append(out, STR("data: [DONE]\n\n"));
}
