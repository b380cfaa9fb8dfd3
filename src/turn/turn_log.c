/* turn_log.c -- who asked what of which model, how it ended, what it cost.
 *
 * No bodies: of an error only the code is logged, and the message when its
 * words are the gateway's own or the upstream's. */
#include "turn/turn_log.h"

#include "conv/reject.h"
#include "ev/log.h"
#include "upstream/upstream_answer.h"

enum { MAX_FIELDS = 32 };

struct fields {
    struct log_field list[MAX_FIELDS + 1];
    size_t n;
};

static void add_field(struct fields *f, struct log_field field)
{
    if (f->n < MAX_FIELDS)
        f->list[f->n++] = field;
}

static const char *status_word(const struct turn_summary *s)
{
    if (s->response == NULL)
        return "rejected";
    if (s->error != NULL)
        return "failed";
    if (s->is_count)
        return "counted";
    return s->response->status == RESPONSE_INCOMPLETE ? "incomplete" : "completed";
}

/* Messages about connections are ours; those of rejections may quote a request. */
static bool is_own_message(const struct err *e)
{
    return e->code == ERR_UPSTREAM_UNAVAILABLE || e->code == ERR_UPSTREAM_TIMEOUT ||
           e->code == ERR_INTERNAL || e->code == ERR_STORE || e->code == ERR_STORE_AWAY;
}

static void add_error(struct fields *f, const struct turn_summary *s,
                      const struct upstream_words *words)
{
    const struct err *e = s->error;

    add_field(f, (struct log_field)LOG_STR("error", str_from_c(err_wire_code(e))));
    if (e->param[0] != '\0')
        add_field(f, (struct log_field)LOG_STR("param", str_from_c(e->param)));
    if (s->phase != NULL) {
        add_field(f, (struct log_field)LOG_STR("phase", str_from_c(s->phase)));
        add_field(f, (struct log_field)LOG_INT("upstream_bytes", s->upstream_bytes));
    }
    if (is_own_message(e) || s->phase != NULL)
        add_field(f, (struct log_field)LOG_STR("message", str_from_c(words->text)));
}

static void add_usage(struct fields *f, const struct usage *u)
{
    if (!u->known)
        return;
    add_field(f, (struct log_field)LOG_INT("input_tokens", u->input));
    add_field(f, (struct log_field)LOG_INT("output_tokens", u->output));
    add_field(f, (struct log_field)LOG_INT("cached_tokens", u->cached));
    add_field(f, (struct log_field)LOG_INT("reasoning_tokens", u->reasoning));
}

void turn_log(const struct turn_summary *s)
{
    const struct shown model = shown(s->model);
    const struct upstream_words words = upstream_words(s->error);
    struct fields f = {.n = 0};
    bool is_trouble =
        s->not_stored != NULL || (s->error != NULL && err_http_status(s->error) >= 500);

    if (s->response != NULL && !s->is_count)
        add_field(&f, (struct log_field)LOG_STR("id", id_str(&s->response->id)));
    if (!str_is_none(s->model))
        add_field(&f, (struct log_field)LOG_NAME("model", str_from_c(model.text)));
    add_field(&f, (struct log_field)LOG_STR("status", str_from_c(status_word(s))));
    if (s->error != NULL)
        add_error(&f, s, &words);
    if (s->not_stored != NULL)
        add_field(&f, (struct log_field)LOG_STR("not_stored", str_from_c(s->not_stored->msg)));
    if (s->is_count && s->error == NULL)
        add_field(&f, (struct log_field)LOG_INT("input_tokens", (uint64_t)s->input_tokens));
    if (s->response != NULL && !s->is_count) {
        add_field(&f, (struct log_field)LOG_INT("rounds", s->response->n_rounds));
        if (s->response->n_answer_rounds != 0)
            add_field(&f, (struct log_field)LOG_INT("answer_rounds", s->response->n_answer_rounds));
        if (s->response->n_summaries != 0)
            add_field(&f, (struct log_field)LOG_INT("summaries", s->response->n_summaries));
        if (s->response->n_dropped_calls != 0)
            add_field(&f, (struct log_field)LOG_INT("dropped_calls", s->response->n_dropped_calls));
        add_usage(&f, &s->response->usage);
    }
    if (s->skipped_chunks != 0)
        add_field(&f, (struct log_field)LOG_INT("skipped_chunks", s->skipped_chunks));
    if (s->n_repairs != 0) {
        add_field(&f, (struct log_field)LOG_INT("repairs", s->n_repairs));
        add_field(&f, (struct log_field)LOG_STR("repair", str_from_c(s->repair)));
    }
    if (s->history_repairs.n != 0) {
        add_field(&f, (struct log_field)LOG_INT("history_repairs", s->history_repairs.n));
        add_field(&f,
                  (struct log_field)LOG_STR("history_repair", str_from_c(s->history_repairs.last)));
    }
    if (s->n_put_back != 0)
        add_field(&f, (struct log_field)LOG_INT("put_back", s->n_put_back));
    if (s->n_shortened != 0)
        add_field(&f, (struct log_field)LOG_INT("shortened", s->n_shortened));
    if (s->n_left_out != 0)
        add_field(&f, (struct log_field)LOG_INT("truncated", s->n_left_out));
    add_field(&f, (struct log_field)LOG_INT("ttfb_ms", s->first_byte_ms));
    add_field(&f, (struct log_field)LOG_INT("total_ms", s->total_ms));
    if (s->upstream_status != 0)
        add_field(&f, (struct log_field)LOG_INT("upstream_status", s->upstream_status));
    if (s->ignored_fields != 0)
        add_field(&f, (struct log_field)LOG_INT("ignored_fields", s->ignored_fields));
    if (s->ignored_items != 0)
        add_field(&f, (struct log_field)LOG_INT("ignored_items", s->ignored_items));
    add_field(&f, (struct log_field)LOG_STR("client", s->client));
    add_field(&f, (struct log_field)LOG_STR("owner", s->owner));
    add_field(&f, (struct log_field)LOG_STR("request_id", s->request_id));
    log_line(is_trouble ? LOG_WARN : LOG_INFO, "turn", f.list);
}

void turn_log_gone(const struct turn_summary *s)
{
    const struct shown model = shown(s->model);
    const bool has_model = !str_is_none(s->model); /* else the request is still to be read */

    log_line(LOG_INFO, "turn",
             (struct log_field[]){LOG_NAME("model", has_model ? str_from_c(model.text) : STR_NONE),
                                  LOG_STR("status", STR("client_gone")),
                                  LOG_INT("total_ms", s->total_ms), LOG_STR("client", s->client),
                                  LOG_STR("owner", s->owner), LOG_STR("request_id", s->request_id),
                                  LOG_END});
}
