/* turn_log.c -- who asked what of which model, how it ended, what it cost.
 *
 * No bodies: of an error only the code is logged, and the message when its
 * words are the gateway's own or the upstream's. */
#include "turn/turn_log.h"

#include "base/utf8.h"
#include "ev/log.h"
#include "flight/flight_admission.h"
#include "flight/worker.h"
#include "upstream/upstream_table.h"
#include "wire/chunk/delta.h"
#include "wire/tools/tool_set.h"

enum { WORDS_BYTES = 1024 };

/* ---- what is told */

static const struct turn_summary empty = {
#define EMPTY_TEXT                   STR_NONE
#define EMPTY_NAME                   STR_NONE
#define EMPTY_WORDS                  STR_NONE
#define EMPTY_NUMBER                 (-1)
#define EMPTY_COUNT                  0
#define EMPTY_FLAG                   false
#define TURN_FIELD(name, kind, help) .name = EMPTY_##kind,
#include "turn/turn_line.def"
};

void turn_summary_init(struct turn_summary *s)
{
    *s = empty;
}

/* Milliseconds from the request until then; at_ms 0: not known. */
static int64_t after(const struct flight *f, uint64_t at_ms)
{
    return at_ms == 0 ? -1 : (int64_t)(at_ms - f->start_ms);
}

void turn_summary_flight(struct turn_summary *s, const struct flight *f)
{
    s->http_status = (uint64_t)f->traffic->status;
    s->attempts = f->n_attempts;
    if (f->n_attempts > 0)
        s->upstream = f->upstream->name;
    s->ttfb_ms = after(f, f->first_byte_ms);
    s->first_token_ms = after(f, f->first_token_ms);
    s->total_ms = after(f, loop_now_ms(f->worker->loop));
    s->bytes_in = (int64_t)f->traffic->bytes_in;
    s->bytes_out = (int64_t)f->traffic->bytes_out;
    s->upstream_status = (uint64_t)f->answer.status;
    s->routing = flight_routing(f);
    s->queue_ms = flight_waited_ms(f);
    s->cache_lost_bytes = flight_cache_lost(f);
    s->client = f->client;
    s->owner = f->caller.name;
    s->key = f->caller.mark;
    s->listener = f->listener;
    s->request_id = f->request_id;
    if (!f->context.is_sampled)
        return;
    trace_context_write(&f->context, s->traceparent); /* version-trace_id-span_id-flags */
    s->trace_id = str_from(s->traceparent + 3, 2 * TRACE_ID_BYTES);
    s->span_id = str_from(s->traceparent + 4 + 2 * TRACE_ID_BYTES, 2 * SPAN_ID_BYTES);
}

void turn_summary_model(struct turn_summary *s, str model)
{
    if (str_is_none(model))
        return;
    s->shown_model = shown(model);
    s->model = str_from_c(s->shown_model.text);
}

/* Messages about connections and about the gateway's own state are ours; those of rejections may
 * quote a request. */
static bool is_own_message(const struct err *e)
{
    return e->code == ERR_UPSTREAM_UNAVAILABLE || e->code == ERR_UPSTREAM_TIMEOUT ||
           e->code == ERR_INTERNAL || e->code == ERR_OVERLOADED || e->code == ERR_STORE ||
           e->code == ERR_STORE_AWAY;
}

void turn_summary_error(struct turn_summary *s, const struct err *e,
                        const struct upstream_answer *answer)
{
    if (e == NULL)
        return;
    s->is_trouble = s->is_trouble || err_http_status(e) >= 500;
    s->error = str_from_c(err_wire_code(e));
    if (e->param[0] != '\0')
        s->param = str_from_c(e->param);
    if (answer->phase != NULL) {
        s->phase = str_from_c(answer->phase);
        s->upstream_bytes = (int64_t)answer->n_bytes;
    }
    if (!is_own_message(e) && answer->phase == NULL)
        return;
    s->words = upstream_words(e);
    s->message = str_from_c(s->words.text);
}

void turn_summary_usage(struct turn_summary *s, const struct usage *u)
{
    if (!u->known)
        return;
    s->input_tokens = u->input;
    s->output_tokens = u->output;
    s->cached_tokens = u->cached;
    s->reasoning_tokens = u->reasoning;
}

/* ---- the lines */

static struct log_field TEXT_field(const char *name, str text)
{
    return (struct log_field)LOG_STR(name, text);
}

static struct log_field NAME_field(const char *name, str text)
{
    return (struct log_field)LOG_NAME(name, text);
}

static struct log_field WORDS_field(const char *name, str text)
{
    struct log_field f = LOG_STR(name, text);

    f.most_bytes = WORDS_BYTES;
    return f;
}

static struct log_field NUMBER_field(const char *name, int64_t n)
{
    return n < 0 ? TEXT_field(name, STR_NONE) : (struct log_field)LOG_INT(name, n);
}

static struct log_field COUNT_field(const char *name, uint64_t n)
{
    return (struct log_field)LOG_COUNT(name, n);
}

static struct log_field FLAG_field(const char *name, bool is)
{
    return (struct log_field)LOG_FLAG(name, is);
}

static void log_audit_of(const struct turn_summary *s)
{
    log_audit((struct log_field[]){
        LOG_STR("what", STR("response.create")), LOG_STR("outcome", s->status),
        LOG_STR("owner", s->owner), LOG_STR("key", s->key), LOG_STR("client", s->client),
        LOG_STR("id", s->id), LOG_NAME("model", s->model), LOG_STR("upstream", s->upstream),
        NUMBER_field("input_tokens", s->input_tokens),
        NUMBER_field("output_tokens", s->output_tokens), LOG_STR("request_id", s->request_id),
        LOG_END});
}

void turn_log(const struct turn_summary *s)
{
    const struct log_field fields[] = {
#define TURN_FIELD(name, kind, help) kind##_field(#name, s->name),
#include "turn/turn_line.def"
        LOG_END,
    };

    log_line(s->is_trouble ? LOG_WARN : LOG_INFO, "turn", fields);
    if (log_audit_is_on())
        log_audit_of(s);
}

void turn_log_repairs(str request_id, const struct history_repairs *repairs)
{
    struct log_field fields[HISTORY_REPAIR_KINDS + 2] = {LOG_STR("request_id", request_id)};
    size_t n = 1;

    if (repairs->n == 0 || !log_is_on(LOG_DEBUG))
        return;
    for (int i = 0; i < HISTORY_REPAIR_KINDS; i++) {
        if (repairs->of[i] > 0)
            fields[n++] = (struct log_field)LOG_INT(history_repair_name((enum history_repair)i),
                                                    repairs->of[i]);
    }
    fields[n] = (struct log_field)LOG_END;
    log_line(LOG_DEBUG, "history_repaired", fields);
}

void turn_log_unserved(str request_id, const struct tool_set *tools)
{
    struct buf types = {.limit = 0};

    for (const struct unserved_type *u = tools->unserved; u != NULL; u = u->next) {
        const struct shown type = shown(u->type);

        buf_c(&types, u == tools->unserved ? "" : ",");
        buf_append(&types, str_from(type.text, utf8_cut(str_from_c(type.text), LOG_NAME_BYTES)));
    }
    if (types.len > 0)
        log_line(LOG_DEBUG, "tool_types_left_out",
                 (struct log_field[]){LOG_STR("request_id", request_id),
                                      LOG_STR("types", buf_str(&types)), LOG_END});
    buf_fini(&types);
}
