/* response.c -- the life of a response: its start and its prose.
 *
 *     created -> in_progress -> item* -> completed | incomplete | error, failed -> [DONE]
 *     \_____ response_start ____/         \____________ response_end.c _____________/
 *
 * At most one message or reasoning item ("prose") is open, and it is closed before
 * another item begins. Calls that are open side by side, and what comes behind them, are
 * sent one after the other (response_order.c). */
#include "response/response.h"

#include "response/response_internal.h"

void response_init(struct response *r, const struct response_conf *conf)
{
    *r = (struct response){.conf = *conf};
    r->id = id_make(conf->ids, "resp_", ID_RANDOM_CHARS);
    r->end = r->round_begin = r->replayed = &r->first;
    r->conf.keeps_cuts = conf->keeps_cuts && !response_is_legacy(r);
    r->conf.max_events = r->conf.keeps_cuts ? conf->max_events : 0;
    r->service_tier = str_is_none(conf->service_tier) ? STR("default") : conf->service_tier;
}

void response_fini(struct response *r)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next)
        output_item_fini(item);
    response_calls_fini(r);
    buf_fini(&r->held.text);
    buf_fini(&r->held.logprobs);
    cuts_fini(&r->cuts);
    arena_fini(&r->arena);
}

void response_queue(struct response *r, struct buf *out)
{
    r->status = RESPONSE_QUEUED;
    response_emit_object(r, EVENT_CREATED, out);
    response_emit_object(r, EVENT_QUEUED, out);
}

void response_start(struct response *r, struct buf *out)
{
    const bool was_queued = r->status == RESPONSE_QUEUED;

    if (!was_queued && r->conf.is_background)
        response_queue(r, out);
    else if (!was_queued)
        response_emit_object(r, EVENT_CREATED, out);
    r->status = RESPONSE_IN_PROGRESS;
    response_emit_object(r, EVENT_IN_PROGRESS, out);
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

    if (r->broken || !response_claim(r, sizeof(*item)))
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
    if (item == NULL)
        return NULL;
    r->n_items++;
    response_queue_item(r, item);
    return item;
}

struct output_item *response_add_hidden(struct response *r, enum output_kind kind)
{
    struct output_item *item = append_item(r, kind);

    if (item != NULL)
        item->is_hidden = true;
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
    response_emit_part(r, output_part_row(kind)->added, r->prose, p, &no_text, out);
    return true;
}

/* One delta of all that has been merged. */
static void say_unsaid(struct response *r, struct buf *out)
{
    const struct output_part *p = r->prose->open;
    struct event texts = {.text = str_skip(buf_str(&p->text), r->unsaid.from),
                          .logprobs = str_skip(buf_str(&p->logprobs), r->unsaid.logprobs_from)};

    if (!r->unsaid.is_any)
        return;
    r->unsaid.is_any = false;
    if (texts.logprobs.len > 0 && texts.logprobs.p[0] == ',')
        texts.logprobs = str_skip(texts.logprobs, 1);
    response_emit_part(r, output_part_row(p->kind)->delta, r->prose, r->prose->open, &texts, out);
}

/* The item waits in silence anyway: all of its text follows in one delta. */
static void merge_text(struct response *r, const struct delta *d, struct buf *out)
{
    const struct output_part *p = r->prose->open;

    if (r->prose->is_waiting)
        return;
    if (!r->unsaid.is_any)
        r->unsaid = (struct response_unsaid){true, p->text.len - d->text.len,
                                             p->logprobs.len - d->logprobs.len};
    if (p->text.len - r->unsaid.from >= RESPONSE_MERGED_BYTES)
        say_unsaid(r, out);
}

static void close_part(struct response *r, struct buf *out)
{
    struct output_item *item = r->prose;
    struct output_part *p = item->open;

    response_put_held(r, out);
    if (p == NULL)
        return;
    say_unsaid(r, out);
    item->open = NULL;
    response_write_citations(r, p);
    response_emit_part_end(r, item, p, out);
}

static void close_hidden(struct response *r, enum output_status status)
{
    if (r->hidden != NULL)
        r->hidden->status = status;
    r->hidden = NULL;
}

/* The text is sealed as it stands here, escaped. An item without is as good (CONTRACT 4.4). */
static void seal(const struct response *r, struct output_item *item)
{
    const struct text_seal *s = r->conf.seal;

    if (s != NULL && item->kind == OUTPUT_REASONING && item->first != NULL &&
        !s->close(s->arg, buf_str(&item->first->text), &item->sealed))
        buf_fini(&item->sealed);
}

void response_close_prose(struct response *r, enum output_status status, struct buf *out)
{
    struct output_item *item = r->prose;

    close_hidden(r, status);
    if (item == NULL)
        return;
    close_part(r, out);
    seal(r, item);
    r->prose = NULL;
    response_close_item(r, item, status, out);
}

static bool open_prose(struct response *r, enum output_kind kind, enum phase phase, struct buf *out)
{
    struct output_item *item;

    response_announce_calls(r, out);
    response_close_finished_call(r, out);
    item = response_add_item(r, kind, out);
    if (item == NULL)
        return false;
    item->phase = phase;
    r->prose = item;
    r->begun = BEGUN_PROSE;
    response_emit_item(r, EVENT_ITEM_ADDED, item, out);
    return true;
}

/* Makes a part of this kind the open one, in a new item if need be. */
static bool enter_part(struct response *r, enum output_part_kind kind, enum phase phase,
                       struct buf *out)
{
    enum output_kind item_kind = output_part_row(kind)->item;

    if ((r->prose == NULL || r->prose->kind != item_kind || r->prose->phase != phase) &&
        !open_prose(r, item_kind, phase, out))
        return false;
    if (r->prose->open != NULL && r->prose->open->kind == kind)
        return true;
    close_part(r, out);
    return open_part(r, kind, out);
}

void response_add_empty_message(struct response *r, struct buf *out)
{
    (void)enter_part(r, OUTPUT_PART_TEXT, PHASE_NONE, out);
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

bool response_put_text(struct response *r, const struct delta *d, struct buf *out)
{
    struct event texts = {.text = d->text, .logprobs = d->logprobs};
    struct output_part *p = r->prose->open;

    if (!claim_text(r, p, d))
        return false;
    if (response_merges_deltas(r))
        merge_text(r, d, out);
    else
        response_emit_part(r, output_part_row(p->kind)->delta, r->prose, p, &texts, out);
    return true;
}

static bool add_text(struct response *r, enum output_part_kind kind, const struct delta *d,
                     struct buf *out)
{
    if (!enter_part(r, kind, d->phase, out))
        return false;
    if (d->text.len == 0)
        return true; /* the message is empty so far */
    if (r->conf.sources != NULL && kind == OUTPUT_PART_TEXT)
        return response_put_cited(r, d, out);
    return response_put_text(r, d, out);
}

/* An item that nobody sees ends none that is seen: the events are those of an
 * answer without reasoning. */
bool response_hide_text(struct response *r, enum output_part_kind part, const struct delta *d)
{
    const enum output_kind kind = output_part_row(part)->item;

    if (r->hidden != NULL && r->hidden->kind != kind)
        close_hidden(r, OUTPUT_COMPLETED);
    if (r->hidden == NULL) {
        struct output_item *item = response_add_hidden(r, kind);

        if (item == NULL || add_part(r, item, part) == NULL)
            return false;
        item->phase = d->phase;
        r->hidden = item;
        r->begun = BEGUN_HIDDEN;
    }
    return claim_text(r, r->hidden->open, d);
}

static bool add_reasoning(struct response *r, const struct delta *d, struct buf *out)
{
    static const enum output_part_kind parts[] = {
        [REASONING_TEXT] = OUTPUT_PART_REASONING,
        [REASONING_SUMMARY] = OUTPUT_PART_SUMMARY,
        [REASONING_OPEN_RESPONSES] = OUTPUT_PART_OPEN_REASONING,
    };

    r->n_reasoning++;
    if (r->conf.reasoning == REASONING_NONE)
        return response_hide_text(r, OUTPUT_PART_REASONING, d);
    return add_text(r, parts[r->conf.reasoning], d, out);
}

static bool end_item(struct response *r, struct buf *out)
{
    enum response_begun begun = r->begun;

    r->begun = BEGUN_NOTHING;
    if (begun == BEGUN_CALL)
        response_end_call(r, out);
    else if (begun == BEGUN_PROSE)
        response_close_prose(r, OUTPUT_COMPLETED, out);
    else if (begun == BEGUN_HIDDEN)
        close_hidden(r, OUTPUT_COMPLETED);
    return !r->broken;
}

bool response_delta(struct response *r, const struct delta *d, struct buf *out)
{
    if (r->broken)
        return false;
    switch (d->kind) {
    case DELTA_TEXT:
        if (r->plan.withholds_text)
            return response_withhold_text(r, d, out);
        return add_text(r, OUTPUT_PART_TEXT, d, out);
    case DELTA_REFUSAL:
        return add_text(r, OUTPUT_PART_REFUSAL, d, out);
    case DELTA_REASONING:
        return add_reasoning(r, d, out);
    case DELTA_CALL:
        return response_call_delta(r, d, out);
    case DELTA_CITATION:
        return response_keep_citation(r, &d->citation);
    case DELTA_ITEM_END:
        return end_item(r, out);
    }
    return false;
}
