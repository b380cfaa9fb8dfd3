/* turn_count.c -- how many tokens of the model the request is that was written (CONTRACT 14), and
 * whether the model takes so many (CONTRACT 15.4).
 *
 * Counting costs a question to the upstream, so it is done only where the number decides something. What
 * was counted or sent before is known without that. */
#include "conv/trim.h"
#include "ev/log.h"
#include "flight/flight_admission.h"
#include "flight/reach.h"
#include "json/json_write.h"
#include "turn/turn_stages.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"
#include "wire/chat/upstream_fields.h"
#include "wire/dialect/context_size.h"

enum {
    BYTES_A_TOKEN = 4,  /* of text; an image weighs what 1,024 tokens do */
    ESTIMATE_ERROR = 2, /* an estimate may be off by this factor */
};

/* ---- without asking anybody */

/* About how many tokens the request comes to (CONTRACT 13.4): those of the round before with its answer, and
 * what was added; where nothing is known of that, all of it by its bytes. */
static int64_t estimate_context(const struct turn *t)
{
    const size_t outputs = conversation_outputs_weight(&t->conversation);
    const size_t before = t->last_round.outputs_weight;
    size_t added = conversation_weight(&t->conversation) + turn_weigh_rest(t);

    if (t->last_round.tokens > 0)
        added = outputs > before ? outputs - before : 0;
    return t->last_round.tokens + (int64_t)(added / BYTES_A_TOKEN);
}

/* ---- what is counted */

static bool has_media(const struct conversation *c)
{
    const struct message *m = c->first;

    while (m != NULL && !message_has_media(m))
        m = m->next;
    return m != NULL;
}

static bool is_prompt(const struct turn *t)
{
    return t->profile.harmony == HARMONY_MODE_COMPLETIONS;
}

/* The prompt is read once, for the choice of an upstream, too. Out of memory, no count is known. */
void turn_note_written(struct turn *t)
{
    struct turn_counting *n = &t->counting;
    const str scope = turn_memory_scope(t);

    *n = (struct turn_counting){.has_key = false};
    t->context = (struct turn_context){.tokens = 0};
    if (turn_counts(t) == NULL || str_is_none(scope) || t->flight.worker->config->count_cache == 0)
        return;
    n->marks = flight_read_prompt(&t->flight, buf_str(&t->chat_body));
    n->has_key = n->marks.n > 0;
    if (n->has_key)
        n->key = token_key_make(scope, &n->marks, is_prompt(t));
}

/* ---- asking */

/* Servers that count may say how much fits, and those that refuse to, too. */
static void take_count(struct turn *t, const struct token_count_result *result)
{
    t->context = (struct turn_context){.tokens = result->tokens, .is_exact = true};
    if (result->window > 0)
        upstream_watch_learn_window(turn_watch(t), turn_upstream_model(t), result->window);
}

static void take_failure(struct turn *t, const struct err *failure)
{
    if (failure->code == ERR_UPSTREAM_UNAVAILABLE)
        upstream_watch_lose(turn_watch(t));
    turn_learn_window(t, failure);
    t->counting.failure = turn_keep_failure(&t->kept, failure);
}

static void on_counted(void *arg, const struct token_count_result *result,
                       const struct err *failure)
{
    struct turn *t = arg;

    t->counting.count = NULL;
    upstream_watch_hear_end(turn_watch(t), failure);
    if (result != NULL)
        take_count(t, result);
    else
        take_failure(t, failure);
    turn_wake(&t->flight);
}

static int read_request(struct turn *t, struct err *reterr)
{
    t->counting.request = (struct token_request){
        .is_prompt = is_prompt(t),
        .has_media = has_media(&t->conversation),
        .token_field = t->chat.token_field,
    };
    return token_request_read(buf_str(&t->chat_body), &t->flight.arena, &t->counting.request,
                              reterr);
}

static struct token_count_conf count_conf(struct turn *t)
{
    const struct config *c = t->flight.upstream->config;
    struct turn_counting *n = &t->counting;

    n->headers[0] = (struct http_header){STR("content-type"), STR("application/json")};
    return (struct token_count_conf){
        .memory = turn_counts(t),
        .request = &n->request,
        .key = n->has_key ? &n->key : NULL,
        .base = t->flight.upstream->base,
        .kind = turn_kind(t)->kind,
        .headers = n->headers,
        .n_headers = flight_add_headers(&t->flight, n->headers, 1),
        .call = reach_call_conf(&t->flight),
        .timeout_ms = c->count_timeout_ms,
        .max_answer_bytes = c->max_line_bytes,
        .passes_key = reach_passes_key(&t->flight),
        .asks_server = c->count_by != CONFIG_COUNT_BY_COMPLETION,
        .asks_model = t->is_count && c->count_by != CONFIG_COUNT_BY_SERVER,
    };
}

/* The answer that was asked for, if there may be less room for it. */
static int64_t clamped_answer(const struct turn *t)
{
    return t->flight.upstream->config->clamp_output ? upstream_tokens_left(&t->request, &t->chat)
                                                    : 0;
}

/* So many tokens decide what becomes of the request; 0: no number does. A conversation that may be cut is
 * measured before it is sent, where the window is known; so is one whose answer is to fit, and one that may be
 * replaced by a summary. The least of the numbers decides whether it is worth asking. */
static int64_t deciding_tokens(const struct turn *t)
{
    const int64_t known = t->window.is_guess ? 0 : t->window.tokens;
    const int64_t answer = clamped_answer(t);
    const int64_t threshold = turn_compact_threshold(t);
    int64_t tokens = turn_is_truncated(t) ? known : 0;

    if (known > 0 && answer > 0)
        tokens = answer < known ? known - answer : 1;
    return threshold == 0 || (tokens > 0 && tokens < threshold) ? tokens : threshold;
}

/* Is the number worth a question, after the estimate? */
static bool must_be_exact(const struct turn *t)
{
    const int64_t deciding = deciding_tokens(t);

    return t->is_count || (deciding > 0 && t->context.tokens >= deciding / ESTIMATE_ERROR);
}

static int64_t find_count(struct turn *t)
{
    return !t->counting.has_key ? 0
                                : token_memory_find(turn_counts(t), &t->counting.key,
                                                    loop_now_ms(t->flight.worker->loop));
}

/* Finds the count, or asks for it. Returns -1 with *reterr filled when it cannot be asked for. */
static int begin_counting(struct turn *t, struct err *reterr)
{
    const int64_t found = find_count(t);
    struct token_count_conf conf;

    if (found > 0)
        t->context = (struct turn_context){.tokens = found, .is_exact = true};
    if (found > 0 || !must_be_exact(t))
        return 0;
    if (turn_counts(t) == NULL) {
        err_set(reterr, ERR_NOT_IMPLEMENTED,
                "The upstream cannot count tokens: it is not asked (count_by=off).");
        return -1;
    }
    if (read_request(t, reterr) == -1)
        return -1;
    conf = count_conf(t);
    t->counting.count = token_count_start(t->flight.reach->client, &conf, on_counted, t, reterr);
    return t->counting.count == NULL ? -1 : 0;
}

void turn_cancel_count(struct turn *t)
{
    token_count_cancel(t->counting.count);
    t->counting.count = NULL;
}

/* ---- the stages */

size_t turn_estimate_weight(const void *arg)
{
    return deciding_tokens(arg) == 0 ? 0 : turn_weight(arg);
}

int turn_estimate_written(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (deciding_tokens(t) > 0)
        t->context.tokens = estimate_context(t);
    return 0;
}

/* Without a count the request goes its way: only who asked for nothing else hears why there is none. */
enum turn_next turn_count_written(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct err e;

    if (!t->counting.has_begun) {
        t->counting.has_begun = true;
        if (begin_counting(t, &e) == -1)
            t->counting.failure = turn_keep_failure(&t->kept, &e);
    }
    if (t->counting.count != NULL)
        return TURN_WAIT;
    if (t->counting.failure != NULL && t->is_count) {
        *reterr = *t->counting.failure;
        reach_hide_keys(&t->flight, reterr);
        return TURN_FAIL;
    }
    return TURN_GO;
}

/* The room that the answer is clamped to; 0: it is not. */
static int64_t clamped_room(const struct turn *t)
{
    const int64_t room = t->window.tokens - t->context.tokens;

    if (!t->context.is_exact || t->window.tokens == 0 || t->window.is_guess || room <= 0 ||
        clamped_answer(t) <= room)
        return 0;
    return room;
}

size_t turn_fit_weight(const void *arg)
{
    return clamped_room(arg) == 0 ? 0 : turn_weight(arg);
}

/* What is too much for the model anyway is told by turn_judge_size(). */
int turn_clamp_output(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const int64_t room = clamped_room(t);

    if (room == 0)
        return 0;
    t->chat.most_tokens = room;
    return turn_write_body(t, reterr);
}

enum turn_next turn_judge_size(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (!t->context.is_exact || t->window.tokens == 0 || t->window.is_guess ||
        t->context.tokens <= t->window.tokens)
        return TURN_GO;
    context_size_error(reterr, t->window.tokens, t->context.tokens);
    upstream_watch_doubt_window(turn_watch(t));
    if (!turn_may_leave_out(t))
        return TURN_FAIL;
    t->result.error = *reterr;
    return TURN_ELSE;
}

enum turn_next turn_send_count(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct buf object = {.limit = 0};
    struct jw w = jw_to(&object);

    (void)reterr;
    jw_object(&w);
    jw_key_string(&w, "object", STR("response.input_tokens"));
    jw_key_int(&w, "input_tokens", t->context.tokens);
    jw_object_end(&w);
    turn_answer_object(t, &object);
    return TURN_WAIT;
}

/* ---- what the upstream says itself */

void turn_keep_usage(struct turn *t)
{
    const struct usage *u = &t->round.stream.reader.usage;
    enum token_way other;

    /* Another upstream than the one that it was written for may not count (count_by). */
    if (!t->counting.has_key || turn_counts(t) == NULL || !u->known || u->input == 0)
        return;
    other = token_memory_keep_usage(turn_counts(t), &t->counting.key, u->input,
                                    loop_now_ms(t->flight.worker->loop));
    if (other != TOKEN_WAYS)
        log_line(LOG_INFO, "tokens are not counted this way",
                 (struct log_field[]){LOG_STR("way", token_way_word(other)),
                                      LOG_STR("why", STR("usage_differs")), LOG_END});
}
