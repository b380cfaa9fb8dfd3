/* test_mcp_answer.c -- the messages in the body of an HTTP answer. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/mcp_answer.h"

enum { MAX_BYTES = 200 };

/* An answer and what it told: results and methods, each with a | behind it. */
struct told {
    struct mcp_answer answer;
    struct buf text;
    bool stops; /* at the first message */
    bool failed;
};

static void on_message(void *arg, const struct jsonrpc_message *m)
{
    struct told *t = arg;

    buf_append(&t->text, m->kind == JSONRPC_RESULT ? m->result : m->method);
    buf_append(&t->text, m->message);
    buf_char(&t->text, '|');
    if (t->stops)
        mcp_answer_stop(&t->answer);
}

static void on_event(void *arg, str name, str data)
{
    struct told *t = arg;

    buf_append(&t->text, name);
    buf_char(&t->text, '=');
    buf_append(&t->text, data);
    buf_char(&t->text, '|');
}

static const struct mcp_answer_handler handler = {on_message, on_event};

static void feed(void *arg, str piece)
{
    struct told *t = arg;

    t->failed = t->failed || mcp_answer_feed(&t->answer, piece) == -1;
}

static void read_body(struct told *t, enum mcp_body body, const char *bytes, struct cutting cutting)
{
    mcp_answer_begin(&t->answer, body);
    feed_pieces(str_from_c(bytes), cutting, feed, t);
    t->failed = t->failed || mcp_answer_end(&t->answer) == -1;
}

static void told_init(struct told *t)
{
    *t = (struct told){.failed = false};
    mcp_answer_init(&t->answer, MAX_BYTES, &handler, t);
}

static void told_fini(struct told *t)
{
    mcp_answer_fini(&t->answer);
    buf_fini(&t->text);
}

/* The same at every split point. */
static void check(enum mcp_body body, const char *bytes, const char *told, const char *last_id,
                  uint64_t retry_ms)
{
    for (size_t i = 0; i <= strlen(bytes) + 1; i++) {
        struct told t;

        told_init(&t);
        read_body(&t, body, bytes, i == 0 ? BYTE_BY_BYTE : CUT_AT(i));
        assert_false(t.failed);
        assert_str_c(buf_str(&t.text), told);
        assert_int_equal(t.answer.has_id, last_id != NULL);
        assert_str_c(buf_str(&t.answer.last_id), last_id == NULL ? "" : last_id);
        assert_int_equal(t.answer.retry_ms, retry_ms);
        told_fini(&t);
    }
}

#define RESULT(n) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" #n "}"
#define NOTICE(m) "{\"jsonrpc\":\"2.0\",\"method\":\"" m "\"}"

static void a_media_type_decides_without_its_parameters(void **state)
{
    (void)state;
    assert_int_equal(mcp_body_of(STR_NONE), MCP_BODY_NONE);
    assert_int_equal(mcp_body_of(STR(" ")), MCP_BODY_NONE);
    assert_int_equal(mcp_body_of(STR("Application/JSON ; charset=utf-8")), MCP_BODY_JSON);
    assert_int_equal(mcp_body_of(STR("text/event-stream")), MCP_BODY_EVENTS);
    assert_int_equal(mcp_body_of(STR("text/event-streams")), MCP_BODY_OTHER);
    assert_int_equal(mcp_body_of(STR("text/html")), MCP_BODY_OTHER);
}

static void json_is_one_message_or_an_array(void **state)
{
    (void)state;
    check(MCP_BODY_JSON, " " RESULT(7) "\n", "7|", NULL, MCP_RETRY_MS);
    check(MCP_BODY_JSON, "[" NOTICE("a") "," RESULT(7) "]", "a|7|", NULL, MCP_RETRY_MS);
}

static void what_is_no_message_is_passed_over(void **state)
{
    (void)state;
    check(MCP_BODY_JSON, "{}", "", NULL, MCP_RETRY_MS);
    check(MCP_BODY_JSON, " ", "", NULL, MCP_RETRY_MS);
    check(MCP_BODY_JSON, RESULT(7) "x", "", NULL, MCP_RETRY_MS);
    check(MCP_BODY_OTHER, RESULT(7), "", NULL, MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "data: no\n\ndata: " RESULT(7) "\n\n", "7|", NULL, MCP_RETRY_MS);
}

static void events_are_messages_however_lines_end(void **state)
{
    (void)state;
    check(MCP_BODY_EVENTS,
          "\xEF\xBB\xBF: hello\ndata: " NOTICE("a") "\n\nevent: message\ndata:" RESULT(7) "\n\n",
          "a|7|", NULL, MCP_RETRY_MS);
    check(
        MCP_BODY_EVENTS,
        "data: " NOTICE("a") "\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"result\":\"\xC3\xA4\"}\r\n\r\n",
        "a|\"\xC3\xA4\"|", NULL, MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "data: " NOTICE("a") "\r\rdata: " RESULT(7) "\r\r", "a|7|", NULL,
          MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "data: {\"jsonrpc\":\"2.0\",\ndata: \"result\":7}\n\n", "7|", NULL,
          MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "data: " RESULT(7), "7|", NULL, MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "data: [" NOTICE("a") "," RESULT(7) "]\n\n", "a|7|", NULL, MCP_RETRY_MS);
}

static void events_of_other_names_are_no_messages(void **state)
{
    (void)state;
    check(MCP_BODY_EVENTS, "event: endpoint\ndata: /m\n\nevent: ping\ndata: " RESULT(7) "\n\n",
          "endpoint=/m|ping=" RESULT(7) "|", NULL, MCP_RETRY_MS);
}

static void the_last_id_and_the_time_to_wait_are_kept(void **state)
{
    (void)state;
    check(MCP_BODY_EVENTS, "id: a-1\nretry: 500\ndata:\n\n", "", "a-1", 500);
    check(MCP_BODY_EVENTS, "id: 1\n\nid: 2\ndata: " RESULT(7) "\n\n", "7|", "2", MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "retry: 5s\nretry: -1\nid: 1\n\nid\n\n", "", NULL, MCP_RETRY_MS);
    check(MCP_BODY_EVENTS, "retry: 0\n", "", NULL, MCP_RETRY_LEAST_MS);
    check(MCP_BODY_EVENTS, "retry: 99999999999\n", "", NULL, MCP_RETRY_MOST_MS);
}

/* Else what was cut off would never be sent again. */
static void an_event_that_was_cut_off_keeps_its_id(void **state)
{
    (void)state;
    check(MCP_BODY_EVENTS, "id: 1\ndata:\n\nid: 2\ndata: {\"id\":1,", "", "1", MCP_RETRY_MS);
}

static void a_second_body_goes_on_with_the_id(void **state)
{
    struct told t;

    (void)state;
    told_init(&t);
    read_body(&t, MCP_BODY_EVENTS, "id: 1\nretry: 60\ndata:\n\ndata: {\"half", UNCUT);
    assert_true(t.answer.has_progress);
    mcp_answer_begin(&t.answer, MCP_BODY_EVENTS);
    assert_false(t.answer.has_progress);
    read_body(&t, MCP_BODY_EVENTS, "data: " RESULT(7) "\n\n", UNCUT);
    assert_str_c(buf_str(&t.text), "7|");
    assert_str_c(buf_str(&t.answer.last_id), "1");
    assert_int_equal(t.answer.retry_ms, 60);
    told_fini(&t);
}

static void a_message_beyond_the_limit_fails(void **state)
{
    char large[MAX_BYTES + 100];

    (void)state;
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    memcpy(large, "data: ", 6);
    for (enum mcp_body body = MCP_BODY_JSON; body <= MCP_BODY_EVENTS; body++) {
        for (size_t first = 0; first < sizeof(large); first += 50) {
            struct told t;

            told_init(&t);
            read_body(&t, body, large, CUT_AT(first));
            assert_true(t.failed);
            told_fini(&t);
        }
    }
}

static void nothing_is_told_once_stopped(void **state)
{
    static const char *const bodies[] = {"[" NOTICE("a") "," NOTICE("b") "]",
                                         "data: " NOTICE("a") "\n\ndata: " NOTICE("b") "\n\n"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct told t;

        told_init(&t);
        t.stops = true;
        read_body(&t, i == 0 ? MCP_BODY_JSON : MCP_BODY_EVENTS, bodies[i], UNCUT);
        assert_str_c(buf_str(&t.text), "a|");
        told_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_media_type_decides_without_its_parameters),
        cmocka_unit_test(json_is_one_message_or_an_array),
        cmocka_unit_test(what_is_no_message_is_passed_over),
        cmocka_unit_test(events_are_messages_however_lines_end),
        cmocka_unit_test(events_of_other_names_are_no_messages),
        cmocka_unit_test(the_last_id_and_the_time_to_wait_are_kept),
        cmocka_unit_test(an_event_that_was_cut_off_keeps_its_id),
        cmocka_unit_test(a_second_body_goes_on_with_the_id),
        cmocka_unit_test(a_message_beyond_the_limit_fails),
        cmocka_unit_test(nothing_is_told_once_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
