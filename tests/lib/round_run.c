/* round_run.c -- the loop of the daemon without the daemon. */
#include "lib/round_run.h"

#include <stdlib.h>

#include "response/response_hosted.h"

const char round_plain_echo[] =
    "\"background\":false,\"instructions\":null,\"max_output_tokens\":null,"
    "\"max_tool_calls\":null,\"model\":\"m\",\"parallel_tool_calls\":true,"
    "\"previous_response_id\":null,\"reasoning\":{\"effort\":null,\"summary\":null},"
    "\"store\":true,\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},"
    "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"truncation\":\"disabled\","
    "\"metadata\":{},\"presence_penalty\":0.0,\"frequency_penalty\":0.0,\"top_logprobs\":0,"
    "\"safety_identifier\":null,\"prompt_cache_key\":null,\"conversation\":null";

/* Bytes go out after every piece, as after every read of the daemon. */
struct run {
    const struct round_conf *conf;
    struct cutting cutting;
    struct arena arena; /* of the script */
    struct round round;
    struct response response;
    struct response_sources sources;
    struct buf out;
    bool streamed, forgetful;
    bool has_ended; /* all that follows are its last events */
    struct round_result *result;
};

static struct buf *out_of(struct run *run)
{
    return run->streamed ? &run->out : NULL;
}

static void send(struct run *run)
{
    run->result->spoiled = run->result->spoiled || buf_failed(&run->out);
    if (!run->result->spoiled)
        buf_append(&run->result->events, buf_str(&run->out));
    buf_reset(&run->out);
    if (run->conf->replay != NULL)
        replay_check_step(run->conf->replay, &run->response);
    if (run->conf->restore != NULL && !run->has_ended)
        restore_check_step(run->conf->restore, &run->response);
}

static void feed(void *arg, str piece)
{
    struct run *run = arg;

    if (run->forgetful)
        chat_memo_fini(&run->round.stream.reader.memo);
    round_feed(&run->round, piece, out_of(run));
    send(run);
}

static bool find_source(void *arg, const struct cite_marker *marker, struct citation *ret)
{
    const struct run *run = arg;

    return hosted_script_source(run->conf->script, marker, ret);
}

static struct response_conf response_conf(const struct round_conf *conf, const struct test_ids *ids)
{
    return (struct response_conf){
        .ids = &ids->source,
        .tools = conf->tools,
        .echo = conf->echo.len == 0 ? str_from_c(round_plain_echo) : conf->echo,
        .created_at = TEST_CREATED_AT,
        .reasoning = conf->reasoning,
        .dialect = conf->dialect,
        .container_id = conf->container_id,
        .shows_code_outputs = conf->shows_code_outputs,
        .interleaved_calls = conf->interleaved_calls,
        .error_event = !conf->no_error_event,
        .max_output_bytes = conf->max_output_bytes,
        .max_tool_calls = conf->max_tool_calls,
        .single_call = conf->single_call,
        .max_events = conf->max_events,
        .is_background = conf->is_background,
        .keeps_cuts = conf->replay != NULL || conf->restore != NULL,
    };
}

/* One answer of the upstream; returns whether the response has ended with it. */
static bool ask(struct run *run, str body)
{
    const struct round_conf *conf = run->conf;
    const struct chat_stream_conf stream = {.text = conf->text,
                                            .wants_logprobs = conf->logprobs,
                                            .space = conf->space,
                                            .max_event_bytes = conf->max_event_bytes};
    bool has_ended;

    round_init(&run->round, &stream, &run->response);
    feed_pieces(body, run->cutting, feed, run);
    run->result->chat = round_end(&run->round, conf->failure, out_of(run));
    has_ended = round_end_response(&run->round, &run->result->chat, TEST_NOW, out_of(run));
    round_fini(&run->round);
    send(run);
    return has_ended;
}

static const struct tool_choice no_calls = {.mode = TOOL_CHOICE_NONE};
static const struct response_plan answer_only = {.choice = &no_calls};

/* Goes on to the next round, the n-th; false when the response has ended. */
static bool go_on(struct run *run, size_t n)
{
    static const struct input_options options = {.text_files = false};
    const struct hosted_script *script = run->conf->script;
    struct response *r = &run->response;
    struct item_list items = {.n = 0};
    struct err e;

    bool goes_on = response_goes_on(r) || response_lacks_answer(r), is_last;

    if (!goes_on || n >= script->n_rounds) {
        response_finish(r, goes_on ? FINISH_LENGTH : run->result->chat.finish, TEST_NOW,
                        out_of(run));
        return false;
    }
    if (response_lacks_answer(r)) {
        response_begin_round(r, &answer_only);
        return true;
    }
    is_last = response_has_used_up(r) || script->rounds[n].is_last;
    response_begin_round(
        r, &(struct response_plan){.withholds_text = run->conf->defers_format && !is_last});
    if (is_last)
        response_begin_last_round(r);
    if (response_replay(r, &options, &items, &run->arena, &e) == -1) {
        response_fail(r, &e, out_of(run));
        return false;
    }
    return true;
}

static void play(struct run *run, str body)
{
    const struct hosted_script *script = run->conf->script;
    bool has_ended;

    if (script != NULL && !hosted_script_begin(script, &run->response, &run->arena, out_of(run)))
        return;
    response_begin_round(&run->response,
                         &(struct response_plan){.choice = run->conf->choice,
                                                 .withholds_text = run->conf->defers_format});
    has_ended = ask(run, body);
    for (size_t n = 1; !has_ended; n++) {
        if (!hosted_script_play(script == NULL ? STR_NONE : script->rounds[n - 1].outcomes,
                                &run->response, &run->arena, out_of(run)) ||
            !go_on(run, n))
            return;
        has_ended = ask(run, script->rounds[n].upstream);
    }
}

void round_run(const struct round_conf *conf, str body, struct cutting cutting, bool streamed,
               struct round_result *ret)
{
    struct run run = {.conf = conf,
                      .cutting = cutting,
                      .streamed = streamed,
                      .forgetful = conf->forgetful,
                      .result = ret};
    struct response_conf r_conf;
    struct test_ids ids;

    *ret = (struct round_result){.spoiled = false};
    test_ids_reset(&ids);
    r_conf = response_conf(conf, &ids);
    run.sources = (struct response_sources){find_source, &run};
    if (conf->script != NULL && conf->script->sources.len > 0)
        r_conf.sources = &run.sources;
    response_init(&run.response, &r_conf);
    response_start(&run.response, out_of(&run));
    send(&run);
    if (conf->refusal != NULL)
        response_fail(&run.response, conf->refusal, out_of(&run));
    else
        play(&run, body);
    if (conf->replay != NULL)
        replay_check_ending(conf->replay, &run.response);
    send(&run);
    run.has_ended = true;
    response_end(&run.response, out_of(&run));
    send(&run);
    response_object(&run.response, &ret->object);
    if (conf->replay != NULL)
        replay_check_end(conf->replay, &run.response, streamed ? buf_str(&ret->events) : STR_NONE);
    if (conf->restore != NULL)
        restore_check_end(conf->restore, &run.response);
    response_fini(&run.response);
    arena_fini(&run.arena);
    buf_fini(&run.out);
}

void round_result_fini(struct round_result *r)
{
    buf_fini(&r->events);
    buf_fini(&r->object);
}

json_t *round_response(const struct round_result *r)
{
    return json_loadb(r->object.p, r->object.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

/* ---- reading a response object */

static void append_part(struct buf *out, json_t *part, const char *part_type)
{
    const char *type = json_string_value(json_object_get(part, "type"));
    const char *member = strcmp(part_type, "refusal") == 0 ? "refusal" : "text";

    if (type != NULL && strcmp(type, part_type) == 0)
        buf_c(out, json_string_value(json_object_get(part, member)));
}

char *response_text(json_t *response, const char *part_type)
{
    struct buf out = {.limit = 0};
    json_t *item, *part;
    size_t i, j;
    char *text;

    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        json_array_foreach(json_object_get(item, "summary"), j, part)
            append_part(&out, part, part_type);
        json_array_foreach(json_object_get(item, "content"), j, part)
            append_part(&out, part, part_type);
    }
    text = strdup(buf_cstr(&out));
    buf_fini(&out);
    return text;
}

json_t *response_calls(json_t *response)
{
    json_t *calls = json_array(), *item;
    size_t i;

    json_array_foreach(json_object_get(response, "output"), i, item)
    {
        if (json_object_get(item, "call_id") != NULL)
            json_array_append(calls, item);
    }
    return calls;
}
