/* test_ws.c -- frames of clients: the cases of ws_cases.def, whole, cut at every place, and one by
 * one; what memory they take; and our own frames. */
#include "base/budget.h"
#include "base/utf8.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "lib/ws_bytes.h"
#include "net/ws.h"

enum {
    MAX_TEXT = 70000,
    SHORT_BYTES = 400, /* cut at every place; longer ones near both ends */
    NEAR_BYTES = 16,
};

static const struct ws_case {
    const char *name, *frames, *outcome;
} cases[] = {
#define CASE(name, frames, outcome) {name, frames, outcome},
#include "lib/ws_cases.def"
#undef CASE
};

struct reading {
    struct ws ws;
    struct buf log;
};

static void log_text(void *arg, str text)
{
    struct reading *r = arg;

    assert_true(utf8_is_valid(text));
    buf_char(&r->log, '[');
    ws_show(text, &r->log);
    buf_char(&r->log, ']');
}

static void log_ping(void *arg, str payload)
{
    struct reading *r = arg;

    buf_c(&r->log, "ping(");
    ws_show(payload, &r->log);
    buf_char(&r->log, ')');
}

static const struct ws_handler handler = {log_text, log_ping};

static void feed(void *arg, str piece)
{
    struct reading *r = arg;
    bool was_over = r->ws.is_over;
    size_t logged = r->log.len;
    bool goes_on = ws_feed(&r->ws, piece);

    assert_int_equal(goes_on, !r->ws.is_over);
    assert_true(!was_over || (r->ws.is_over && r->log.len == logged));
}

static void log_end(struct reading *r)
{
    if (r->ws.is_over && !r->ws.is_closed)
        buf_uint(&r->log, (uint64_t)r->ws.code);
    else
        buf_c(&r->log, r->ws.is_closed ? "closed" : ws_is_idle(&r->ws) ? "open" : "within");
}

static struct buf read_all(str bytes, struct cutting cutting)
{
    struct reading r = {.log = {.limit = 0}};

    ws_init(&r.ws, MAX_TEXT, &handler, &r);
    feed_pieces(bytes, cutting, feed, &r);
    log_end(&r);
    ws_fini(&r.ws);
    return r.log;
}

/* The outcome of a case without the spaces that make it readable. */
static struct buf outcome_of(const struct ws_case *c)
{
    struct buf text = {.limit = 0};

    for (const char *p = c->outcome; *p != '\0'; p++) {
        if (*p != ' ')
            buf_char(&text, *p);
    }
    return text;
}

static void check_cut(const struct ws_case *c, str bytes, struct cutting cutting)
{
    struct buf got = read_all(bytes, cutting), expected = outcome_of(c);

    if (!str_eq(buf_str(&got), buf_str(&expected)))
        print_error("%s, cut at %zu, then %zu:\n", c->name, cutting.first, cutting.piece);
    assert_str_eq(buf_str(&got), buf_str(&expected));
    buf_fini(&got);
    buf_fini(&expected);
}

static void check_case(const struct ws_case *c)
{
    struct buf bytes = {.limit = 0};

    ws_bytes(c->frames, &bytes);
    check_cut(c, buf_str(&bytes), UNCUT);
    check_cut(c, buf_str(&bytes), BYTE_BY_BYTE);
    for (size_t i = 1; i < bytes.len; i++) {
        if (bytes.len > SHORT_BYTES && i == NEAR_BYTES)
            i = bytes.len - NEAR_BYTES;
        check_cut(c, buf_str(&bytes), CUT_AT(i));
    }
    buf_fini(&bytes);
}

static void every_case_has_its_outcome_however_it_is_cut(void **state)
{
    (void)state;
    assert_true(COUNT_OF(cases) >= 200);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_case(&cases[i]);
}

/* ---- memory */

static void nothing_is_kept_between_two_messages(void **state)
{
    struct buf bytes = {.limit = 0};
    struct reading r = {.log = {.limit = 0}};

    (void)state;
    ws_bytes("t:*60000 P:x C:*1 X", &bytes);
    ws_init(&r.ws, MAX_TEXT, &handler, &r);
    feed(&r, str_from(bytes.p, 30000));
    assert_false(ws_is_idle(&r.ws));
    assert_true(ws_text_bytes(&r.ws) > 29000);
    feed(&r, str_from(bytes.p + 30000, bytes.len - 30000 - 6));
    assert_true(ws_is_idle(&r.ws));
    assert_null(r.ws.frames);
    assert_null(r.ws.text.p);
    buf_fini(&bytes);
    buf_fini(&r.log);
    ws_fini(&r.ws);
}

static void what_is_announced_takes_no_memory(void **state)
{
    struct buf bytes = {.limit = 0};
    struct reading r = {.log = {.limit = 0}};

    (void)state;
    ws_bytes("T<4294967296:hello", &bytes);
    ws_init(&r.ws, SIZE_MAX, &handler, &r);
    feed(&r, buf_str(&bytes));
    assert_int_equal(ws_text_bytes(&r.ws), 5);
    assert_true(r.ws.text.cap < 4096);
    ws_fini(&r.ws);
    buf_fini(&bytes);
}

/* A message takes no more than a buffer that grows, whatever its fragments are. */
static void tiny_fragments_take_no_more_than_their_bytes(void **state)
{
    struct buf bytes = {.limit = 0};
    struct reading r = {.log = {.limit = 0}};

    (void)state;
    ws_init(&r.ws, MAX_TEXT, &handler, &r);
    ws_bytes("t:a", &bytes);
    feed(&r, buf_str(&bytes));
    buf_reset(&bytes);
    ws_bytes("c:a c", &bytes);
    for (int i = 1; i < MAX_TEXT; i++)
        feed(&r, buf_str(&bytes));
    assert_int_equal(ws_text_bytes(&r.ws), MAX_TEXT);
    assert_true(r.ws.text.cap <= 2 * MAX_TEXT + 4096);
    feed(&r, buf_str(&bytes));
    assert_int_equal(r.ws.code, WS_TOO_LARGE);
    assert_null(r.ws.text.p);
    ws_fini(&r.ws);
    buf_fini(&bytes);
}

static void without_memory_the_connection_ends_with_1011(void **state)
{
    struct buf bytes = {.limit = 0};

    (void)state;
    ws_bytes("t:*3000 P:x C:*5000", &bytes);
    for (long n = 0;; n++) {
        struct reading r = {.log = {.limit = 0}};

        ws_init(&r.ws, MAX_TEXT, &handler, &r);
        buf_reserve(&r.log, 4096);
        failing_malloc_begin(n, FAILS_FOR_GOOD);
        (void)ws_feed(&r.ws, buf_str(&bytes));
        if (!failing_malloc_end()) {
            assert_false(r.ws.is_over);
            ws_fini(&r.ws);
            buf_fini(&r.log);
            break;
        }
        assert_true(r.ws.is_over);
        assert_int_equal(r.ws.code, WS_INTERNAL_ERROR);
        ws_fini(&r.ws);
        buf_fini(&r.log);
    }
    buf_fini(&bytes);
}

/* What wslay takes itself counts as well: a connection within a frame has its buffer. */
static void frames_and_messages_count_in_the_budget(void **state)
{
    struct buf bytes = {.limit = 0};
    struct reading r = {.log = {.limit = 0}};

    (void)state;
    ws_bytes("t:a C:b", &bytes);
    ws_init(&r.ws, MAX_TEXT, &handler, &r);
    budget_set_limit(budget_used() + 1);
    while (budget_take(1))
        ; /* what is left of this thread's step */
    assert_false(ws_feed(&r.ws, buf_str(&bytes)));
    assert_int_equal(r.ws.code, WS_INTERNAL_ERROR);
    budget_set_limit(0);
    ws_fini(&r.ws);
    buf_fini(&r.log);
    buf_fini(&bytes);
}

/* ---- the owner */

static void take(void *arg, str text)
{
    struct reading *r = arg;

    ws_take_text(&r->ws, &r->log);
    assert_str_eq(buf_str(&r->log), text);
}

static void a_message_can_be_taken_without_a_copy(void **state)
{
    static const struct ws_handler taker = {take, log_ping};
    struct buf bytes = {.limit = 0};
    struct reading r = {.log = {.limit = 0}};

    (void)state;
    ws_bytes("T:hello", &bytes);
    ws_init(&r.ws, MAX_TEXT, &taker, &r);
    assert_true(ws_feed(&r.ws, buf_str(&bytes)));
    assert_str_c(buf_str(&r.log), "hello");
    ws_fini(&r.ws);
    buf_fini(&r.log);
    buf_fini(&bytes);
}

static void stop(void *arg, str text)
{
    struct reading *r = arg;

    log_text(arg, text);
    ws_stop(&r->ws);
}

static void behind_the_stop_only_the_end_counts(void **state)
{
    static const struct {
        const char *frames, *log;
    } rows[] = {
        {"T:a T:b P:x t:c C:d", "[a]open"}, {"T:a T:b X:1000, T:c", "[a]closed"},
        {"T:a T:%ff P X", "[a]closed"},     {"T:a T:b T-:c", "[a]1002"},
        {"T:a T<70001:c", "[a]1009"},
    };
    static const struct ws_handler stopper = {stop, log_ping};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct buf bytes = {.limit = 0};
        struct reading r = {.log = {.limit = 0}};

        ws_bytes(rows[i].frames, &bytes);
        ws_init(&r.ws, MAX_TEXT, &stopper, &r);
        feed_pieces(buf_str(&bytes), UNCUT, feed, &r);
        log_end(&r);
        assert_str_c(buf_str(&r.log), rows[i].log);
        ws_fini(&r.ws);
        buf_fini(&r.log);
        buf_fini(&bytes);
    }
}

static void every_end_has_a_reason_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf bytes = {.limit = 0};
        struct reading r = {.log = {.limit = 0}};

        ws_bytes(cases[i].frames, &bytes);
        ws_init(&r.ws, MAX_TEXT, &handler, &r);
        feed_pieces(buf_str(&bytes), UNCUT, feed, &r);
        assert_int_equal(r.ws.is_over && !r.ws.is_closed, r.ws.reason[0] != '\0');
        assert_true(strlen(r.ws.reason) <= WS_CONTROL_BYTES - 2);
        ws_fini(&r.ws);
        buf_fini(&r.log);
        buf_fini(&bytes);
    }
}

/* ---- our frames */

static void a_head_of_ours_has_the_shortest_length(void **state)
{
    static const struct {
        uint64_t n;
        const char *head;
        size_t len;
    } rows[] = {
        {0, "\x81\x00", 2},
        {125, "\x81\x7d", 2},
        {126, "\x81\x7e\x00\x7e", 4},
        {65535, "\x81\x7e\xff\xff", 4},
        {65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10},
        {0x0102030405060708, "\x81\x7f\x01\x02\x03\x04\x05\x06\x07\x08", 10},
    };
    char head[WS_HEAD_BYTES];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t n = ws_frame_head(WS_TEXT, rows[i].n, head);

        assert_str_eq(str_from(head, n), str_from(rows[i].head, rows[i].len));
    }
    assert_int_equal(ws_frame_head(WS_PONG, 5, head), 2);
    assert_memory_equal(head, "\x8a\x05", 2);
}

static void a_reason_is_cut_between_characters(void **state)
{
    char payload[WS_CONTROL_BYTES], words[256];

    (void)state;
    assert_int_equal(ws_close_payload(WS_GOING_AWAY, STR("bye"), payload), 5);
    assert_memory_equal(payload,
                        "\x03\xe9"
                        "bye",
                        5);
    assert_int_equal(ws_close_payload(WS_NORMAL, STR(""), payload), 2);
    memset(words, 'a', sizeof(words));
    memcpy(words + 122, "\xe2\x82\xac", 3);
    assert_int_equal(ws_close_payload(WS_NORMAL, str_from(words, 200), payload), 2 + 122);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_has_its_outcome_however_it_is_cut),
        cmocka_unit_test(nothing_is_kept_between_two_messages),
        cmocka_unit_test(what_is_announced_takes_no_memory),
        cmocka_unit_test(tiny_fragments_take_no_more_than_their_bytes),
        cmocka_unit_test(without_memory_the_connection_ends_with_1011),
        cmocka_unit_test(frames_and_messages_count_in_the_budget),
        cmocka_unit_test(a_message_can_be_taken_without_a_copy),
        cmocka_unit_test(behind_the_stop_only_the_end_counts),
        cmocka_unit_test(every_end_has_a_reason_in_words),
        cmocka_unit_test(a_head_of_ours_has_the_shortest_length),
        cmocka_unit_test(a_reason_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
