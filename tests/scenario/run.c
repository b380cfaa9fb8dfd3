/* run.c -- every tests/scenario/NAME.turn through the pure core: the request is
 * read, the Chat request built, the upstream's bytes become events.
 *
 *     scenario_run                all of them
 *     scenario_run FILE...        only these
 *     scenario_run --print FILE   what came out, in the form of the file
 *
 * The upstream's bytes are fed whole, byte by byte and cut at every place, and
 * once without streaming; the events have to pass event_check() as well, and a
 * replay of them has to be the same, while the response is made and afterwards,
 * from every event on. The form of the files is described in lib/turn_file.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/event_check.h"
#include "lib/event_difference.h"
#include "lib/json_subset.h"
#include "lib/legacy_check.h"
#include "lib/round_run.h"
#include "lib/turn_file.h"
#include "upstream/upstream_options.h"
#include "wire/chat/chat_request.h"
#include "wire/dialect/upstream_error.h"
#include "wire/request/response_echo.h"
#include "wire/request/responses_request.h"

/* One turn file and what the core makes of it. */
struct scenario {
    const char *path;
    struct turn_file file;
    struct config config;
    struct test_ids ids;
    struct arena arena;
    struct responses_request request;
    struct model_profile profile;
    struct buf chat, echo;
    struct err err, upstream_err;
    bool refused; /* err: why the request was */
    bool defers_format;
    struct round_conf conf;
    struct round_result result;
};

/* The first answer, STR_NONE: it is not asked. */
static str upstream_of(const struct scenario *s)
{
    return s->file.script.rounds[0].upstream;
}

static bool is_legacy(const struct scenario *s)
{
    return s->conf.dialect == RESPONSE_DIALECT_ORS;
}

static bool fault(const struct scenario *s, const char *what, str detail)
{
    printf("FAIL %s: %s%s%.*s\n", s->path, what, detail.len > 0 ? "\n  " : "", STR_ARG(detail));
    return false;
}

/* ---- running */

/* The flags of the file on top of the defaults; the words need a NUL behind them. */
static bool load_config(struct scenario *s)
{
    const char *args[32];
    struct config_problems problems = {.n_kept = 0};
    struct config_sources sources = {.args = args, .file_text = STR_NONE};
    str words = arena_dup(&s->arena, str_is_none(s->file.options) ? STR("") : s->file.options);
    char *rest = (char *)(uintptr_t)words.p, *word;
    bool ok;

    while (sources.n_args < 32 && (word = strtok_r(rest, " \n", &rest)) != NULL)
        args[sources.n_args++] = word;
    ok = config_load(&s->config, &sources, &problems) == 0;
    if (!ok)
        (void)fault(s, "options: ", str_from_c(problems.kept[0].text));
    config_problems_fini(&problems);
    return ok;
}

static int convert(struct scenario *s)
{
    const struct responses_request_options options = upstream_request_options(&s->config, NULL);
    struct chat_request_options chat;

    if (responses_request_parse(s->file.request, &options, &s->ids.source, &s->arena, &s->request,
                                &s->err) == -1)
        return -1;
    s->profile = upstream_model_profile(&s->config, NULL, &s->request, &s->arena);
    chat = upstream_chat_options(&s->config, NULL, &s->request, &s->profile, &s->arena);
    s->defers_format = chat_request_defers_format(&s->request, &chat);
    return chat_request_build(&s->request, &chat, &s->ids.source, &s->arena, &s->chat, &s->err);
}

static bool prepare(struct scenario *s)
{
    test_ids_reset(&s->ids);
    s->refused = convert(s) == -1;
    if (!s->refused)
        responses_request_echo(&s->request, &s->echo);
    return !s->refused;
}

static void configure(struct scenario *s)
{
    struct responses_request *r = &s->request;
    const struct chat_stream_conf stream = upstream_stream_conf(&s->config, r, &s->profile);

    hosted_script_add_tools(&s->file.script, &r->tools, &s->arena);

    s->conf = (struct round_conf){
        .reasoning = r->reasoning_summary_requested ? REASONING_SUMMARY : REASONING_TEXT,
        .dialect = s->config.dialect == CONFIG_DIALECT_ORS ? RESPONSE_DIALECT_ORS
                                                           : RESPONSE_DIALECT_OPENAI,
        .text = stream.text,
        .logprobs = stream.wants_logprobs,
        .space = stream.space,
        .container_id = STR("cntr_00000000000000000000000000000001"),
        .shows_code_outputs = r->include_code_outputs,
        .interleaved_calls = s->config.interleaved_calls,
        .tools = &r->tools,
        .script = &s->file.script,
        .choice = &r->tool_choice,
        .single_call = str_eq(r->parallel_tool_calls, STR("false")),
        .defers_format = s->defers_format,
        .max_tool_calls = r->max_tool_calls,
        .echo = buf_str(&s->echo),
    };
    if (s->file.ends_broken) {
        err_set(&s->upstream_err, ERR_UPSTREAM_ERROR, "The connection to the upstream broke.");
        s->conf.failure = &s->upstream_err;
    }
    if (s->file.status != 200) {
        upstream_error_from_answer(s->file.status, s->file.retry_after_s, upstream_of(s),
                                   &s->upstream_err);
        s->conf.refusal = &s->upstream_err;
    }
}

/* ---- comparing */

static bool check_subset(const struct scenario *s, const char *what, str got, str expected)
{
    json_t *tree = json_loadb(got.p, got.len, JSON_REJECT_DUPLICATES, NULL);
    json_t *wanted = json_loadb(expected.p, expected.len, JSON_REJECT_DUPLICATES, NULL);
    bool ok = true;

    if (wanted == NULL)
        ok = fault(s, "expected JSON is no JSON", expected);
    else if (!json_holds(tree, wanted))
        ok = fault(s, what, got);
    json_decref(tree);
    json_decref(wanted);
    return ok;
}

/* One line: the type and perhaps some members. */
static bool line_fits(str line, json_t *event)
{
    size_t space = str_find_char(line, ' ');
    str members = str_trim(str_skip(line, space));
    const char *type = json_string_value(json_object_get(event, "type"));
    json_t *wanted;
    bool fits;

    if (event == NULL || !str_eq(str_from(line.p, space), str_from_c(type)))
        return false;
    if (members.len == 0)
        return true;
    wanted = json_loadb(members.p, members.len, 0, NULL);
    fits = wanted != NULL && json_holds(event, wanted);
    json_decref(wanted);
    return fits;
}

static bool differs_at(const struct scenario *s, str line, json_t *event)
{
    struct buf text = {.limit = 0};
    char *got = event == NULL ? NULL : json_dumps(event, JSON_COMPACT);

    buf_c(&text, "expected ");
    buf_append(&text, line.len == 0 ? STR("no more events") : line);
    buf_c(&text, "\n  got      ");
    buf_c(&text, got == NULL ? "no more events" : got);
    (void)fault(s, "events", buf_str(&text));
    free(got);
    buf_fini(&text);
    return false;
}

/* created and in_progress come first in every stream and are not listed. */
static bool check_events(const struct scenario *s)
{
    json_t *events = event_list(buf_str(&s->result.events));
    str rest = s->file.events;
    bool ok = true;
    size_t i = 2;

    while (ok && rest.len > 0) {
        str line = str_trim(turn_file_line(&rest));

        if (line.len == 0)
            continue;
        if (!line_fits(line, json_array_get(events, i)))
            ok = differs_at(s, line, json_array_get(events, i));
        i++;
    }
    if (ok && i < json_array_size(events))
        ok = differs_at(s, STR(""), json_array_get(events, i));
    json_decref(events);
    return ok;
}

static bool check_stream(const struct scenario *s)
{
    char name[128], *difference;
    struct buf stream;
    bool same;

    if (str_is_none(s->file.stream))
        return true;
    snprintf(name, sizeof(name), "streams/%.*s", STR_ARG(str_trim(s->file.stream)));
    stream = fixture_read(name);
    difference = event_difference(buf_str(&s->result.events), buf_str(&stream));
    same = difference == NULL || fault(s, "another stream", str_from_c(difference));
    free(difference);
    buf_fini(&stream);
    return same;
}

static bool check_cutting(const struct scenario *s, struct cutting cutting)
{
    struct round_result r;
    bool same;

    round_run(&s->conf, upstream_of(s), cutting, true, &r);
    same = str_eq(buf_str(&r.events), buf_str(&s->result.events));
    round_result_fini(&r);
    return same || fault(s, "other events when the bytes are cut", STR(""));
}

static bool check_cuttings(const struct scenario *s)
{
    bool same = check_cutting(s, BYTE_BY_BYTE);

    for (size_t at = 1; same && at < upstream_of(s).len; at++)
        same = check_cutting(s, CUT_AT(at));
    return same;
}

static bool check_not_streamed(const struct scenario *s)
{
    struct round_result r;
    bool same;

    round_run(&s->conf, upstream_of(s), UNCUT, false, &r);
    same = is_legacy(s) || str_eq(buf_str(&r.object), event_response(buf_str(&s->result.events)));
    round_result_fini(&r);
    return same || fault(s, "another response when not streamed", STR(""));
}

static const char *(*checker_of(const struct scenario *s))(str)
{
    if (is_legacy(s))
        return legacy_check;
    return s->config.interleaved_calls ? event_check_interleaved : event_check;
}

/* Runs the scenario with cuts kept: what is replayed of it at every step, and of every event on. */
static bool check_replay(const struct scenario *s, struct cutting cutting, bool streamed)
{
    struct replay_check check = {.fault = NULL};
    struct round_conf conf = s->conf;
    struct round_result r;
    bool ok;

    replay_check_init(&check);
    conf.replay = &check;
    round_run(&conf, upstream_of(s), cutting, streamed, &r);
    ok = check.fault == NULL && str_eq(buf_str(&check.live), buf_str(&s->result.events));
    if (!ok)
        (void)fault(s, check.fault == NULL ? "a replay has other events" : check.fault,
                    buf_str(&check.live));
    round_result_fini(&r);
    replay_check_fini(&check);
    return ok;
}

/* Fewer events, and the same response. */
static bool check_merged(const struct scenario *s, uint64_t max_events)
{
    struct replay_check check = {.fault = NULL};
    struct round_conf conf = s->conf;
    const char *(*checker)(str) = checker_of(s);
    struct round_result r;
    const char *what;

    replay_check_init(&check);
    conf.replay = &check;
    conf.max_events = max_events;
    round_run(&conf, upstream_of(s), BYTE_BY_BYTE, true, &r);
    what = check.fault != NULL ? check.fault : checker(buf_str(&r.events));
    if (what == NULL && !str_eq(buf_str(&r.object), buf_str(&s->result.object)))
        what = "another response when deltas are merged";
    if (what == NULL && r.events.len > s->result.events.len)
        what = "more events when deltas are merged";
    if (what != NULL)
        (void)fault(s, what, buf_str(&r.events));
    round_result_fini(&r);
    replay_check_fini(&check);
    return what == NULL;
}

static bool check_replays(const struct scenario *s)
{
    bool ok =
        is_legacy(s) || (check_replay(s, BYTE_BY_BYTE, true) && check_replay(s, UNCUT, true) &&
                         check_replay(s, BYTE_BY_BYTE, false));

    for (uint64_t max = 1; ok && !is_legacy(s) && max < 20; max++)
        ok = check_merged(s, max);
    return ok;
}

/* Runs the scenario with a journal, which somebody else goes on with after every row. */
static bool check_restore(const struct scenario *s, struct cutting cutting, bool streamed,
                          uint64_t max_events)
{
    struct restore_check check;
    struct round_conf conf = s->conf;
    struct round_result r;
    bool ok;

    restore_check_init(&check, checker_of(s));
    conf.restore = &check;
    conf.max_events = max_events;
    round_run(&conf, upstream_of(s), cutting, streamed, &r);
    ok = check.fault == NULL || fault(s, check.fault, STR(""));
    round_result_fini(&r);
    restore_check_fini(&check);
    return ok;
}

static bool check_restores(const struct scenario *s)
{
    return is_legacy(s) ||
           (check_restore(s, BYTE_BY_BYTE, true, 0) && check_restore(s, UNCUT, false, 0) &&
            check_restore(s, BYTE_BY_BYTE, false, 4));
}

static bool check_error(const struct scenario *s)
{
    json_t *e = json_pack("{s:i,s:s,s:s,s:s,s:s}", "status", err_http_status(&s->err), "type",
                          err_type(&s->err), "code", err_wire_code(&s->err), "param", s->err.param,
                          "message", s->err.msg);
    char *text = json_dumps(e, JSON_COMPACT);
    bool ok = check_subset(s, "another error", str_from_c(text), s->file.error);

    free(text);
    json_decref(e);
    return ok;
}

static bool check_turn(struct scenario *s)
{
    const char *what;

    if (!str_is_none(s->file.chat) &&
        !check_subset(s, "another chat request", buf_str(&s->chat), s->file.chat))
        return false;
    if (str_is_none(upstream_of(s)))
        return true;
    configure(s);
    round_run(&s->conf, upstream_of(s), UNCUT, true, &s->result);
    what = checker_of(s)(buf_str(&s->result.events));
    if (what != NULL)
        return fault(s, what, buf_str(&s->result.events));
    return (str_is_none(s->file.events) || check_events(s)) && check_stream(s) &&
           (str_is_none(s->file.response) ||
            check_subset(s, "another response", buf_str(&s->result.object), s->file.response)) &&
           check_cuttings(s) && check_not_streamed(s) && check_replays(s) && check_restores(s);
}

static bool expects_nothing(const struct turn_file *f)
{
    return str_is_none(f->events) && str_is_none(f->stream) && str_is_none(f->response) &&
           str_is_none(f->chat) && str_is_none(f->error);
}

static bool check_scenario(struct scenario *s)
{
    const char *what;

    if (!turn_file_read(s->path, &s->file, &what))
        return fault(s, what, STR(""));
    if (expects_nothing(&s->file))
        return fault(s, "it expects nothing", STR(""));
    if (!load_config(s))
        return fault(s, "bad options", str_from_c(s->err.msg));
    (void)prepare(s);
    if (s->refused && !str_is_none(s->file.error))
        return check_error(s);
    if (s->refused)
        return fault(s, "the request was refused", str_from_c(s->err.msg));
    if (!str_is_none(s->file.error))
        return fault(s, "the request was not refused", STR(""));
    return check_turn(s);
}

static void scenario_fini(struct scenario *s)
{
    turn_file_fini(&s->file);
    config_fini(&s->config);
    arena_fini(&s->arena);
    buf_fini(&s->chat);
    buf_fini(&s->echo);
    round_result_fini(&s->result);
}

static bool run(const char *path)
{
    struct scenario s = {.path = path};
    bool ok = check_scenario(&s);

    scenario_fini(&s);
    return ok;
}

/* ---- printing */

/* Drops all members but these. */
static void keep_only(json_t *object, const char *const *names)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        const char *const *name = names;

        while (*name != NULL && strcmp(*name, key) != 0)
            name++;
        if (*name == NULL)
            json_object_del(object, key);
    }
}

/* What event_check() compares anyway is left out. */
static void print_event(json_t *event)
{
    static const char *const compared[] = {"type",         "sequence_number", "item_id",
                                           "output_index", "content_index",   "summary_index",
                                           "response",     "obfuscation"};
    static const char *const of_item[] = {"type",      "status", "call_id", "name",
                                          "namespace", "action", NULL};
    static const char *const of_part[] = {"type", NULL};
    const char *type = json_string_value(json_object_get(event, "type"));
    char *members;

    printf("%s", type);
    for (size_t i = 0; i < COUNT_OF(compared); i++)
        json_object_del(event, compared[i]);
    keep_only(json_object_get(event, "item"), of_item);
    keep_only(json_object_get(event, "part"), of_part);
    if (json_array_size(json_object_get(event, "logprobs")) == 0)
        json_object_del(event, "logprobs");
    members = json_dumps(event, JSON_COMPACT);
    printf("%s%s\n", json_object_size(event) == 0 ? "" : " ",
           json_object_size(event) == 0 ? "" : members);
    free(members);
}

static void print(const char *path)
{
    struct scenario s = {.path = path};
    const char *what;
    json_t *events, *event;
    size_t i;

    if (turn_file_read(path, &s.file, &what) && load_config(&s) && prepare(&s)) {
        configure(&s);
        round_run(&s.conf, upstream_of(&s), UNCUT, true, &s.result);
        events = event_list(buf_str(&s.result.events));
        printf("--- events\n");
        json_array_foreach(events, i, event)
        {
            if (i >= 2)
                print_event(event);
        }
        json_decref(events);
        printf("--- response\n%.*s\n--- chat\n%.*s\n", STR_ARG(buf_str(&s.result.object)),
               STR_ARG(buf_str(&s.chat)));
    } else {
        printf("%s (%s)\n", s.err.msg, s.err.param);
    }
    scenario_fini(&s);
}

/* ---- which */

static int is_turn(const struct dirent *e)
{
    return str_ends_with(str_from_c(e->d_name), STR(".turn"));
}

static void run_all(const char *folder, unsigned *passed, unsigned *failed)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_turn, alphasort);

    for (int i = 0; i < n; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        (*(run(path) ? passed : failed))++;
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;

    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        print(argv[2]);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        (*(run(argv[i]) ? &passed : &failed))++;
    if (argc == 1)
        run_all("tests/scenario", &passed, &failed);
    printf("%u passed, %u failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
