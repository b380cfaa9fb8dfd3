/* test_request_rounds.c -- calls that the gateway has run, put back into requests that lack them;
 * also with each allocation failing in turn. */
#include "lib/failing_malloc.h"
#include "request_fixture.h"

#include "response/response_hosted.h"
#include "response/response_rounds.h"
#include "wire/request/request_rounds.h"

enum { MAX_CALLS = 3, MAX_ROUNDS = 3 };

/* ---- what a model has said, and the memory of it */

struct said_call {
    const char *id, *name, *arguments; /* arguments: escaped */
};

struct said_round {
    const char *thought, *text; /* or NULL */
    struct said_call calls[MAX_CALLS];
};

#define F1                                                                                         \
    {                                                                                              \
        "f1", "f", "{\\\"a\\\": 1}"                                                                \
    }
#define F2                                                                                         \
    {                                                                                              \
        "f2", "f", "{}"                                                                            \
    }
#define RUN1                                                                                       \
    {                                                                                              \
        "u1", "code_interpreter", "{\\\"code\\\": \\\"1\\\"}"                                      \
    }
#define RUN2                                                                                       \
    {                                                                                              \
        "u2", "code_interpreter", "{\\\"code\\\":\\\"2\\\"}"                                       \
    }
#define RUN3                                                                                       \
    {                                                                                              \
        "u3", "code_interpreter", "{\\\"code\\\":\\\"3\\\"}"                                       \
    }

/* Two rounds of the gateway's, the second without a word, then the client's. */
static const struct said_round three_rounds[] = {
    {"why", "first", {RUN1}}, {NULL, NULL, {RUN2}}, {NULL, "last", {F1, F2}}};
static const struct said_round one_round[] = {{NULL, "both", {RUN1, F1, RUN2}}};
static const struct said_round no_client[] = {{NULL, NULL, {RUN1}},
                                              {NULL, "done", {{NULL, NULL, NULL}}}};

static struct tool code = {.kind = TOOL_HOSTED,
                           .hosted_kind = HOSTED_CODE_INTERPRETER,
                           .name = STR_INIT("code_interpreter"),
                           .upstream_name = STR_INIT("code_interpreter"),
                           .sent = true};
static const struct tool_set tools = {.first = &code, .last = &code, .n = 1, .n_sent = 1};

struct memory {
    unsigned char next_id;
    struct id_source ids;
    struct call_cache *cache;
    str owner;         /* who asks */
    struct id message; /* the first that was said */
};

static void say(struct response *r, enum delta_kind kind, const char *text)
{
    const struct delta d = {.kind = kind, .text = str_from_c(text)};

    if (text != NULL)
        assert_true(response_delta(r, &d, NULL));
}

static void say_round(struct response *r, const struct said_round *round)
{
    struct output_item *item;
    unsigned n = 0;

    say(r, DELTA_REASONING, round->thought);
    say(r, DELTA_TEXT, round->text);
    for (const struct said_call *c = round->calls; n < MAX_CALLS && c->id != NULL; c++, n++) {
        const struct delta d = {.kind = DELTA_CALL,
                                .call = n,
                                .call_id = str_from_c(c->id),
                                .name = str_from_c(c->name),
                                .text = str_from_c(c->arguments)};

        assert_true(response_delta(r, &d, NULL));
    }
    response_end_round(r, n > 0 ? FINISH_TOOL_CALLS : FINISH_STOP, NULL);
    while ((item = response_next_call(r, NULL)) != NULL) {
        const struct hosted_outcome outcome = {.output = STR("told \\\"it\\\"")};

        assert_true(response_call_ended(r, item, &outcome, NULL));
    }
}

static void begin(struct memory *m, size_t max_bytes)
{
    *m = (struct memory){.ids = {.fill = fixture_fill}, .owner = STR("anna")};
    m->ids.arg = &m->next_id;
    m->cache = call_cache_new(64, max_bytes, &m->ids);
    assert_non_null(m->cache);
}

static void end(struct memory *m)
{
    call_cache_free(m->cache);
}

static void remember(struct memory *m, const struct response *r, const struct call_context *context)
{
    struct buf text = {.limit = 0};

    response_rounds_write(r, &text);
    if (!buf_failed(&text)) {
        const struct response_rounds rounds = {STR("anna"), buf_str(&text), *context};

        response_rounds_remember(r, &rounds, m->cache);
    }
    buf_fini(&text);
}

/* The context of a conversation in which only this was said. */
static struct call_context context_of(const char *words)
{
    struct item it = {.kind = ITEM_MESSAGE, .role = ROLE_USER};
    struct call_place place = {.first = NULL};
    const struct call_place nowhere = {.first = NULL};
    struct call_context context = {.first = 0};
    struct arena arena = {0};
    struct err e;

    assert_int_equal(content_from_text(str_from_c(words), &arena, &it.content, &e), 0);
    call_place_pass(&place, &it);
    assert_true(call_context_move(&context, &nowhere, &place));
    arena_fini(&arena);
    return context;
}

/* A response to one who has said that, all of which is remembered. fail_at: the allocation of the
 * memory that fails, or -1; returns whether there was one. */
static bool learn_with(struct memory *m, const struct said_round *rounds, size_t n,
                       const char *question, long fail_at)
{
    const struct input_options options = {.text_files = false};
    const struct response_conf conf = {.ids = &m->ids, .tools = &tools, .echo = STR("\"e\":1")};
    const struct call_context context = context_of(question);
    struct item_list items = {.n = 0};
    struct arena arena = {0};
    struct response r;
    struct err e;
    bool has_failed;

    response_init(&r, &conf);
    for (size_t i = 0; i < n; i++) {
        say_round(&r, &rounds[i]);
        if (i + 1 < n)
            assert_int_equal(response_replay(&r, &options, &items, &arena, &e), 0);
    }
    response_finish(&r, FINISH_STOP, 5, NULL);
    assert_true(response_has_rounds(&r));
    for (const struct output_item *item = r.first; item != NULL; item = item->next) {
        if (item->kind == OUTPUT_MESSAGE && m->message.len == 0)
            m->message = item->id;
    }
    failing_malloc_begin(fail_at, FAILS_FOR_GOOD);
    remember(m, &r, &context);
    has_failed = failing_malloc_end();
    response_fini(&r);
    arena_fini(&arena);
    return has_failed;
}

#define LEARN(m, rounds, question)                                                                 \
    (void)learn_with((m), (rounds), sizeof(rounds) / sizeof((rounds)[0]), (question), -1)

/* ---- what a client sends back */

static bool find_known(void *arg, struct call_key key, struct arena *a, str *ret)
{
    const struct memory *m = arg;

    key.scope = m->owner;
    return call_cache_find(m->cache, &key, a, ret);
}

#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SAID(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define THOUGHT                                                                                    \
    "{\"type\":\"reasoning\",\"content\":[{\"type\":\"reasoning_text\",\"text\":\"why\"}]}"
#define CALL1                                                                                      \
    "{\"type\":\"function_call\",\"call_id\":\"f1\",\"name\":\"f\",\"arguments\":\"{\\\"a\\\": 1}\"}"
#define CALL1_DENSE                                                                                \
    "{\"type\":\"function_call\",\"call_id\":\"f1\",\"name\":\"f\",\"arguments\":{\"a\":1}}"
#define CALL1_OTHER                                                                                \
    "{\"type\":\"function_call\",\"call_id\":\"f1\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define CALL2       "{\"type\":\"function_call\",\"call_id\":\"f2\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUT(id)     "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"o\"}"
#define RAN(number) "{\"type\":\"code_interpreter_call\",\"code\":\"" number "\",\"outputs\":[]}"

#define ASKS                                                                                       \
    "{\"type\":\"mcp_approval_request\",\"id\":\"mcpr_1\",\"server_label\":\"s\",\"name\":\"t\","  \
    "\"arguments\":\"{}\"}"
#define DECLINES                                                                                   \
    "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"mcpr_1\",\"approve\":false}"

/* ---- and what the model reads */

#define CALLED(id, name, arguments)                                                                \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" arguments "\"}}"
#define ASKED(content, more, calls)                                                                \
    "{\"role\":\"assistant\",\"content\":" content more ",\"tool_calls\":[" calls "]}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define TOLD(id)       TOOL(id, "told \\\"it\\\"")
#define U1             CALLED("u1", "code_interpreter", "{\\\"code\\\": \\\"1\\\"}")
#define U2             CALLED("u2", "code_interpreter", "{\\\"code\\\":\\\"2\\\"}")
#define C1             CALLED("f1", "f", "{\\\"a\\\": 1}")
#define C2             CALLED("f2", "f", "{}")
#define WHY            ",\"reasoning_content\":\"why\""
#define ROUND1         ASKED("\"first\"", WHY, U1) "," TOLD("u1")
#define ROUND2         ASKED("null", "", U2) "," TOLD("u2")
#define LAST(content)  ASKED(content, "", C1 "," C2) "," TOOL("f1", "o") "," TOOL("f2", "o")
#define ALL(content)   USER("hi") "," ROUND1 "," ROUND2 "," LAST(content)
#define OUTS           OUT("f1") "," OUT("f2")
#define DECLINED                                                                                   \
    ASKED("null", "", CALLED("mcpr_1", "t", "{}"))                                                 \
    "," TOOL("mcpr_1", "The tool call was not approved.")

struct put_back_case {
    const char *claim, *input, *messages;
    unsigned n_put_back;
};

/* 0, or -1 with f->err set; *ret: the messages. */
static int put_back(struct memory *m, struct fixture *f, const char *input, long fail_at,
                    bool *ret_failed, json_t **ret)
{
    const struct chat_request_options options = {0};
    const struct rounds_source source = {find_known, m};
    const struct input_options input_options = {.text_files = false};
    struct buf body = {.limit = 0};
    int rc;

    buf_append(&body, STR("{\"model\":\"m\",\"input\":["));
    buf_append(&body, str_from_c(input));
    buf_append(&body, STR("]}"));
    if (fixture_parse(f, buf_str(&body), 0) == -1)
        fail_msg("%s: %s", f->err.msg, input);
    buf_fini(&body);
    failing_malloc_begin(fail_at, FAILS_FOR_GOOD);
    rc = request_put_back(&f->request, &source, &input_options, &f->ids, &f->arena, &f->err);
    *ret_failed = failing_malloc_end();
    if (rc == 0) {
        json_t *chat = fixture_chat(f, &options);

        *ret = json_incref(json_object_get(chat, "messages"));
        json_decref(chat);
    }
    return rc;
}

static void check_put_back(struct memory *m, const struct put_back_case *c)
{
    char expected[8192];
    json_t *messages;
    struct fixture f;
    bool has_failed;

    (void)snprintf(expected, sizeof(expected), "[%s]", c->messages);
    assert_int_equal(put_back(m, &f, c->input, -1, &has_failed, &messages), 0);
    assert_json(c->claim, messages, expected);
    assert_int_equal(f.request.n_put_back, c->n_put_back);
    json_decref(messages);
    fixture_fini(&f);
}

#define CHECK_ALL(m, cases)                                                                        \
    for (size_t i = 0; i < sizeof(cases) / sizeof((cases)[0]); i++)                                \
    check_put_back((m), &(cases)[i])

static void what_is_missing_is_put_back(void **state)
{
    static const struct put_back_case cases[] = {
        {"calls alone", USER("hi") "," CALL1 "," CALL2 "," OUTS, ALL("null"), 1},
        {"one call of two", USER("hi") "," CALL1 "," OUT("f1"),
         USER("hi") "," ROUND1 "," ROUND2 "," ASKED("null", "", C1) "," TOOL("f1", "o"), 1},
        {"arguments with other spaces", USER("hi") "," CALL1_DENSE,
         USER("hi") "," ROUND1 "," ROUND2 "," ASKED("null", "", CALLED("f1", "f", "{\\\"a\\\":1}")),
         1},
        {"calls with their texts",
         USER("hi") "," SAID("first") "," SAID("last") "," CALL1 "," CALL2 "," OUTS,
         ALL("\"last\""), 1},
        {"calls with reasoning", USER("hi") "," THOUGHT "," CALL1 "," CALL2 "," OUTS, ALL("null"),
         1},
        {"all texts in one: none is said twice",
         USER("hi") "," SAID("first last") "," CALL1 "," CALL2 "," OUTS,
         USER("hi") "," ASKED("null", WHY, U1) "," TOLD("u1") "," ROUND2 "," LAST("\"first last\""),
         1},
        {"a text of its own", USER("hi") "," SAID("x") "," CALL1 "," CALL2 "," OUTS, ALL("\"x\""),
         1},
        {"some calls of the gateway", USER("hi") "," RAN("2") "," CALL1 "," CALL2 "," OUTS,
         ALL("null"), 1},
        {"all of them, without ids",
         USER("hi") "," THOUGHT "," SAID("first") "," RAN("1") "," RAN("2") "," CALL1 "," CALL2
                                                                            "," OUTS,
         ALL("null"), 1},
        {"other arguments: another call", USER("hi") "," CALL1_OTHER,
         USER("hi") "," ASKED("null", "", CALLED("f1", "f", "{}")), 0},
        {"another conversation", USER("ho") "," CALL1 "," OUT("f1"),
         USER("ho") "," ASKED("null", "", C1) "," TOOL("f1", "o"), 0},
        {"what was said first was another thing",
         USER("ho") "," SAID("x") "," USER("hi") "," CALL1 "," CALL2 "," OUTS,
         USER("ho") "," SAID("x") "," ALL("null"), 1},
        {"no call of the client", USER("hi") "," SAID("first"), USER("hi") "," SAID("first"), 0},
    };
    struct memory m;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    LEARN(&m, no_client, "hi");
    CHECK_ALL(&m, cases);
    end(&m);
}

static void words_that_the_client_has_changed_stay(void **state)
{
    struct put_back_case changed = {
        .claim = "another text under the same id",
        .messages = USER("hi") "," ASKED("\"[removed]\"", WHY, U1) "," TOLD("u1") "," ROUND2
                                                                                  "," LAST("null"),
        .n_put_back = 1};
    struct memory m;
    char input[1024];

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    (void)snprintf(
        input, sizeof(input),
        USER("hi") ",{\"role\":\"assistant\",\"id\":\"%s\",\"content\":\"[removed]\"}," CALL1
                   "," CALL2 "," OUTS,
        m.message.text);
    changed.input = input;
    check_put_back(&m, &changed);
    end(&m);
}

static void calls_of_one_round_keep_their_order(void **state)
{
    static const struct put_back_case cases[] = {
        {"beside the client's", USER("hi") "," SAID("both") "," CALL1 "," OUT("f1"),
         USER("hi") "," ASKED("\"both\"", "",
                              U1 "," C1 "," U2) "," TOLD("u1") "," TOOL("f1", "o") "," TOLD("u2"),
         1},
    };
    struct memory m;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, one_round, "hi");
    CHECK_ALL(&m, cases);
    end(&m);
}

static void an_id_that_comes_again_is_told_apart(void **state)
{
    static const struct said_round other[] = {{NULL, NULL, {RUN3}}, {NULL, NULL, {F1, F2}}};
    static const struct put_back_case cases[] = {
        {"in another conversation", USER("ho") "," CALL1 "," CALL2 "," OUTS,
         USER("ho") "," ASKED("null", "",
                              CALLED("u3", "code_interpreter",
                                     "{\\\"code\\\":\\\"3\\\"}")) "," TOLD("u3") "," LAST("null"),
         1},
        {"in the first", USER("hi") "," CALL1 "," CALL2 "," OUTS, ALL("null"), 1},
    };
    struct memory m;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    LEARN(&m, other, "ho");
    CHECK_ALL(&m, cases);
    for (size_t i = 0; i < CALL_MARKS_MAX; i++)
        LEARN(&m, other, "ho");
    check_put_back(&m, &cases[0]);
    check_put_back(&m, &(const struct put_back_case){
                           "so many times", USER("hi") "," CALL1 "," OUT("f1"),
                           USER("hi") "," ASKED("null", "", C1) "," TOOL("f1", "o"), 0});
    end(&m);
}

#define ALONE(claim)                                                                               \
    {                                                                                              \
        claim, USER("hi") "," CALL1 "," OUT("f1"),                                                 \
            USER("hi") "," ASKED("null", "", C1) "," TOOL("f1", "o"), 0                            \
    }

/* The model was asked again when its call had been declined. */
static void what_was_declined_comes_before(void **state)
{
    static const struct put_back_case cases[] = {
        {"rounds behind it", USER("hi") "," ASKS "," DECLINES "," CALL1 "," CALL2 "," OUTS,
         USER("hi") "," DECLINED "," ROUND1 "," ROUND2 "," LAST("null"), 1},
        {"a call behind it", USER("ho") "," ASKS "," DECLINES "," CALL1 "," CALL2 "," OUTS,
         USER("ho") "," DECLINED "," LAST("null"), 0},
        {"not answered", USER("hi") "," ASKS "," SAID("first") "," CALL1 "," CALL2 "," OUTS,
         ALL("null"), 1},
    };
    struct memory m;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    CHECK_ALL(&m, cases);
    end(&m);
}

static void nobody_else_is_told(void **state)
{
    static const struct put_back_case others = ALONE("another owner");
    struct memory m;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    m.owner = STR("ben");
    check_put_back(&m, &others);
    end(&m);
}

static void what_is_too_long_pushes_nothing_out(void **state)
{
    static const struct put_back_case kept = {"kept", USER("hi") "," CALL1 "," CALL2 "," OUTS,
                                              ALL("null"), 1};
    static const struct put_back_case too_long = ALONE("too long");
    static char words[4096];
    static struct said_round long_rounds[] = {
        {NULL, NULL, {RUN1}}, {words, NULL, {RUN2}}, {NULL, NULL, {F1}}};
    struct memory m;

    (void)state;
    memset(words, 'x', sizeof(words) - 1);
    begin(&m, 16384);
    LEARN(&m, three_rounds, "hi");
    LEARN(&m, long_rounds, "hi");
    check_put_back(&m, &kept);
    end(&m);
    begin(&m, 16384);
    LEARN(&m, long_rounds, "hi");
    check_put_back(&m, &too_long);
    end(&m);
}

/* ---- memory that runs out */

static void what_could_not_be_remembered_is_forgotten(void **state)
{
    static const char input[] = USER("hi") "," CALL1 "," CALL2 "," OUTS;
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct memory m;
        struct fixture f;
        json_t *messages;
        bool ignored;

        begin(&m, 1 << 20);
        has_failed = learn_with(&m, three_rounds, 3, "hi", n);
        assert_int_equal(put_back(&m, &f, input, -1, &ignored, &messages), 0);
        assert_in_range(json_array_size(messages), 4, 8);
        json_decref(messages);
        fixture_fini(&f);
        end(&m);
    }
}

static void a_request_fails_or_is_whole(void **state)
{
    static const char input[] =
        USER("hi") "," SAID("first") "," RAN("2") "," CALL1 "," CALL2 "," OUTS;
    struct memory m;
    bool has_failed = true;
    long n_refused = 0;

    (void)state;
    begin(&m, 1 << 20);
    LEARN(&m, three_rounds, "hi");
    for (long n = 0; has_failed; n++) {
        json_t *messages = NULL;
        struct fixture f;

        if (put_back(&m, &f, input, n, &has_failed, &messages) == -1) {
            assert_int_equal(f.err.code, ERR_INTERNAL);
            n_refused++;
        } else if (!has_failed) {
            assert_json("whole", messages, "[" ALL("null") "]");
        }
        json_decref(messages);
        fixture_fini(&f);
    }
    assert_true(n_refused > 0);
    end(&m);
}

/* ---- what many items cost */

enum { MANY = 4000, LONG = 1 << 20, FEW = 16 };

/* Whoever reads a long text makes a copy of it: there are few for a request of these items, the
 * second many times. */
static void check_copies(struct memory *m, const char *claim, str first, const char *second)
{
    const struct rounds_source source = {find_known, m};
    const struct input_options options = {.text_files = false};
    struct buf body = {.limit = 0};
    struct fixture f;
    size_t before;

    buf_append(&body, STR("{\"model\":\"m\",\"input\":["));
    buf_append(&body, first);
    for (size_t i = 0; i < MANY; i++) {
        buf_char(&body, ',');
        buf_append(&body, str_from_c(second));
    }
    buf_append(&body, STR("," CALL1 "]}"));
    assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
    before = failing_malloc_bytes();
    assert_int_equal(request_put_back(&f.request, &source, &options, &f.ids, &f.arena, &f.err), 0);
    if (failing_malloc_bytes() - before > (size_t)FEW * LONG)
        fail_msg("%s: %zu bytes", claim, failing_malloc_bytes() - before);
    buf_fini(&body);
    fixture_fini(&f);
}

static void long_texts_are_read_once(void **state)
{
    static char words[LONG];
    static const struct said_round rounds[] = {{NULL, words, {RUN1}}, {NULL, NULL, {F1}}};
    struct buf question = {.limit = 0};
    struct memory m;

    (void)state;
    memset(words, 'x', sizeof(words) - 1);
    buf_append(&question, STR("{\"role\":\"user\",\"content\":\"\\n"));
    buf_append(&question, str_from_c(words));
    buf_append(&question, STR("\"}"));
    begin(&m, 1 << 24);
    LEARN(&m, rounds, "hi");
    check_copies(&m, "what was asked", buf_str(&question), CALL1 "," OUT("f1"));
    check_copies(&m, "what was said", STR(USER("hi")), SAID("0123456789abcdef"));
    buf_fini(&question);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_put_back),
        cmocka_unit_test(words_that_the_client_has_changed_stay),
        cmocka_unit_test(calls_of_one_round_keep_their_order),
        cmocka_unit_test(an_id_that_comes_again_is_told_apart),
        cmocka_unit_test(what_was_declined_comes_before),
        cmocka_unit_test(nobody_else_is_told),
        cmocka_unit_test(what_is_too_long_pushes_nothing_out),
        cmocka_unit_test(what_could_not_be_remembered_is_forgotten),
        cmocka_unit_test(a_request_fails_or_is_whole),
        cmocka_unit_test(long_texts_are_read_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
