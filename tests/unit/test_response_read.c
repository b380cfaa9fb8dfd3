/* test_response_read.c -- responses from what is stored of them, and back to the same bytes. */
#include "lib/test.h"

#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/round_run.h"
#include "response/response_read.h"

static const struct response_conf bare = {.error_event = true};

/* What is stored of a response, each text in a block of its own. */
struct stored {
    char *head, *tail, *item;
    str texts[3];
};

static void stored_fini(struct stored *s)
{
    free(s->head);
    free(s->tail);
    free(s->item);
}

/* Returns whether it is read. Nothing of the texts is needed afterwards. */
static bool read_stored(str head, str tail, str item, struct response *ret, struct err *reterr)
{
    struct stored s = {exact_copy(head), exact_copy(tail), exact_copy(item), {head, tail, item}};
    const str item_view = str_from(s.item, item.len);
    int rc = response_read(&bare, str_from(s.head, head.len), str_from(s.tail, tail.len),
                           &item_view, item.len > 0, ret, reterr);

    stored_fini(&s);
    return rc == 0;
}

static bool is_same_again(const struct response *r, str head, str tail, str item)
{
    struct buf whole = {.limit = 0}, again = {.limit = 0};
    bool is_same;

    buf_append(&whole, head);
    buf_append(&whole, item);
    buf_append(&whole, tail);
    response_object(r, &again);
    is_same = str_eq(buf_str(&whole), buf_str(&again));
    buf_fini(&whole);
    buf_fini(&again);
    return is_same;
}

/* ---- objects */

#define HEAD(completed_at, status, error, details)                                                        \
    "{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1767225600,\"completed_at\":" completed_at \
    ",\"status\":\"" status "\",\"error\":" error ",\"incomplete_details\":" details                      \
    ",\"output\":["
#define ENDED             HEAD("1767225602", "completed", "null", "null")
#define TAIL(usage, echo) "],\"usage\":" usage ",\"service_tier\":\"default\"" echo "}"
#define USAGE                                                                                      \
    "{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":1,\"cache_write_tokens\":2}," \
    "\"output_tokens\":7,\"output_tokens_details\":{\"reasoning_tokens\":3},\"total_tokens\":16}"
#define ERROR(code, message, type, param)                                                          \
    "{\"code\":\"" code "\",\"message\":\"" message "\",\"type\":\"" type "\",\"param\":" param "}"
#define ECHO ",\"background\":true,\"model\":\"a \\\"b\\\"\",\"metadata\":{\"x\":\"],\"}"
#define MESSAGE                                                                                    \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","      \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"a\",\"annotations\":[],\"logprobs\":[]}]}"

static const struct object_case {
    const char *claim, *head, *tail, *item;
} good[] = {
    {"one that is complete", ENDED, TAIL(USAGE, ECHO), MESSAGE},
    {"one without an echo", ENDED, TAIL(USAGE, ""), ""},
    {"one that was cut short",
     HEAD("null", "incomplete", "null", "{\"reason\":\"max_output_tokens\"}"), TAIL(USAGE, ECHO),
     MESSAGE},
    {"one that failed before the model had answered",
     HEAD("null", "failed", ERROR("server_error", "No \xc3\xa9.\\n", "server_error", "null"),
          "null"),
     TAIL("null", ECHO), ""},
    {"one that failed afterwards",
     HEAD("null", "failed", ERROR("server_error", "x", "server_error", "null"), "null"),
     TAIL(USAGE, ECHO), MESSAGE},
    {"one that runs", HEAD("null", "in_progress", "null", "null"), TAIL("null", ECHO), ""},
    {"one that waits", HEAD("null", "queued", "null", "null"), TAIL("null", ECHO), ""},
    {"one that was cancelled before it ran", HEAD("null", "cancelled", "null", "null"),
     TAIL("null", ECHO), ""},
    {"one that was cancelled", HEAD("null", "cancelled", "null", "null"), TAIL(USAGE, ECHO),
     MESSAGE},
};

static void objects_are_written_as_they_were_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        const str head = str_from_c(good[i].head), tail = str_from_c(good[i].tail);
        const str item = str_from_c(good[i].item);
        struct response r;
        struct err e = {.msg = ""};

        if (!read_stored(head, tail, item, &r, &e))
            fail_msg("%s: %s", good[i].claim, e.msg);
        if (!is_same_again(&r, head, tail, item))
            fail_msg("%s: another object", good[i].claim);
        assert_int_equal(r.conf.created_at, 1767225600);
        assert_true(r.conf.error_event);
        response_fini(&r);
    }
}

static const struct object_case bad[] = {
    {"no JSON", "{", "}", ""},
    {"nothing", "", "", ""},
    {"no object", "[", "]", ""},
    {"a status that there is not", HEAD("null", "gone", "null", "null"), TAIL(USAGE, ECHO), ""},
    {"a status of another type", "{\"id\":\"resp_1\",\"status\":1,\"output\":[", TAIL(USAGE, ""),
     ""},
    {"no id", "{\"object\":\"response\",\"status\":\"completed\",\"output\":[", TAIL(USAGE, ""),
     ""},
    {"an id that is too long",
     "{\"id\":\"resp_0123456789012345678901234567890123456789012345678901234567890123456789\"", "}",
     ""},
    {"no reason", HEAD("null", "incomplete", "null", "{}"), TAIL(USAGE, ECHO), ""},
    {"no details", HEAD("null", "incomplete", "null", "null"), TAIL(USAGE, ECHO), ""},
    {"no error", HEAD("null", "failed", "null", "null"), TAIL(USAGE, ECHO), ""},
    {"an error that this gateway does not know",
     HEAD("null", "failed", ERROR("odd", "x", "server_error", "null"), "null"), TAIL(USAGE, ECHO),
     ""},
    {"a member that is not written", ENDED, "],\"x\":1,\"usage\":" USAGE ",\"service_tier\":\"\"}",
     ""},
    {"a usage without a member", ENDED, TAIL("{\"input_tokens\":9}", ECHO), ""},
    {"no usage", ENDED, TAIL("null", ECHO), ""},
    {"no service tier", ENDED, "],\"usage\":" USAGE "}", ""},
    {"a space", "{ \"id\":\"resp_1\"", TAIL(USAGE, ECHO), ""},
    {"a member behind the echo of another object", ENDED, TAIL(USAGE, ECHO) "}", ""},
    {"a head that goes on behind the items", ENDED "]",
     ",\"usage\":" USAGE ",\"service_tier\":\"default\"}", ""},
    {"an item that is none", ENDED, TAIL(USAGE, ECHO), "{}"},
};

static void other_forms_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct response r;
        struct err e = {.msg = ""};

        if (read_stored(str_from_c(bad[i].head), str_from_c(bad[i].tail), str_from_c(bad[i].item),
                        &r, &e))
            fail_msg("%s was read", bad[i].claim);
        assert_int_equal(e.code, ERR_STORE);
    }
}

/* What is left of a text that was cut off anywhere is no response. */
static void cut_texts_are_refused(void **state)
{
    const str head = str_from_c(good[0].head), tail = str_from_c(good[0].tail);
    const str item = str_from_c(good[0].item);
    struct response r;
    struct err e;

    (void)state;
    for (size_t n = 0; n < head.len; n++)
        assert_false(read_stored(str_from(head.p, n), tail, item, &r, &e));
    for (size_t n = 0; n < tail.len; n++)
        assert_false(read_stored(head, str_from(tail.p, n), item, &r, &e));
    for (size_t n = 1; n < item.len; n++)
        assert_false(read_stored(head, tail, str_from(item.p, n), &r, &e));
}

/* ---- errors */

static void write_failed(const struct err *e, struct buf *head, struct buf *tail)
{
    struct test_ids ids;
    struct response_conf conf = bare;
    struct response r;

    test_ids_reset(&ids);
    conf.ids = &ids.source;
    conf.echo = str_from_c(round_plain_echo);
    response_init(&r, &conf);
    response_fail(&r, e, NULL);
    response_object_head(&r, head);
    response_object_tail(&r, tail);
    response_fini(&r);
}

static void every_error_is_read_back(void **state)
{
    (void)state;
    for (enum err_code code = ERR_NONE + 1; code < ERR_COUNT; code++) {
        struct buf head = {.limit = 0}, tail = {.limit = 0};
        struct response r;
        struct err e;

        err_set_param(&e, code, "input[0].\"x\"", "A \"line\"\n of text \x01 \xe2\x80\xa8.");
        write_failed(&e, &head, &tail);
        if (!read_stored(buf_str(&head), buf_str(&tail), STR(""), &r, &e))
            fail_msg("code %d: %s", (int)code, e.msg);
        assert_true(is_same_again(&r, buf_str(&head), buf_str(&tail), STR("")));
        response_fini(&r);
        buf_fini(&head);
        buf_fini(&tail);
    }
}

/* ---- memory */

static void memory_that_runs_out_is_told(void **state)
{
    const struct object_case *cases[] = {&good[0], &good[2], &good[3]};
    struct response r;
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const str item = str_from_c(cases[i]->item);
        bool has_failed = true;

        for (long n = 0; has_failed; n++) {
            int rc;

            failing_malloc_begin(n, FAILS_ONCE);
            rc = response_read(&bare, str_from_c(cases[i]->head), str_from_c(cases[i]->tail), &item,
                               item.len > 0, &r, &e);
            has_failed = failing_malloc_end();
            assert_int_equal(rc, has_failed ? -1 : 0);
            if (rc == 0)
                response_fini(&r);
            else
                assert_int_equal(e.code, ERR_INTERNAL);
        }
    }
}

/* ---- size */

/* All memory that was asked for to read a response of so many messages, each with as many parts
 * again, annotations and logprobs. */
static size_t bytes_to_read(size_t n)
{
    struct buf item = {.limit = 0};
    str *items = calloc(n, sizeof(*items));
    struct response r;
    struct err e;
    size_t before;

    buf_c(&item, "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
                 "\"assistant\",\"content\":[");
    for (size_t i = 0; i < n; i++)
        buf_c(&item, i == 0 ? "" : ",{\"type\":\"refusal\",\"refusal\":\"no\"},"),
            buf_c(&item, "{\"type\":\"output_text\",\"text\":\"a\",\"annotations\":[{\"a\":1},{}],"
                         "\"logprobs\":[{},{}]}");
    buf_c(&item, "]}");
    assert_non_null(items);
    for (size_t i = 0; i < n; i++)
        items[i] = i == 0 ? buf_str(&item) : STR(MESSAGE);
    before = failing_malloc_bytes();
    assert_int_equal(response_read(&bare, STR(ENDED), STR(TAIL(USAGE, ECHO)), items, n, &r, &e), 0);
    before = failing_malloc_bytes() - before;
    response_fini(&r);
    buf_fini(&item);
    free(items);
    return before;
}

static void what_is_read_costs_what_it_is_long(void **state)
{
    (void)state;
    assert_true(bytes_to_read(16000) < 5 * bytes_to_read(4000));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_are_written_as_they_were_read),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(cut_texts_are_refused),
        cmocka_unit_test(every_error_is_read_back),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(what_is_read_costs_what_it_is_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
