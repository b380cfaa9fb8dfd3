/* test_response_restore_rows.c -- rows that are damaged, that do not fit, and what reading them costs. */
#include "restore_fixture.h"

#include "lib/failing_malloc.h"

/* ---- damage */

static void make_row(struct live_response *l)
{
    static const struct delta d = {
        .kind = DELTA_TEXT, .text = STR_INIT("text"), .logprobs = STR_INIT("{\"t\":1},{}")};
    const struct response_conf conf = {.interleaved_calls = true};

    live_begin(l, &conf);
    response_start(&l->r, NULL);
    think(l);
    assert_true(response_delta(&l->r, &d, NULL));
    assert_true(response_delta(&l->r, &d, NULL));
    refuse(l);
    call_first(l);
    call_second(l);
    call_first(l);
    (void)response_begin_listing(&l->r, STR("docs"), NULL);
    answer(l);
    assert_true(response_delta(&l->r, &d, NULL));
    write_row(l);
}

/* A response that was made of other bytes is used as if nothing had happened. */
static void use_row(const struct live_response *l, str cuts, str done, str pieces)
{
    const struct err why = crash();
    struct buf out = {.limit = 0};
    struct response_restore to;
    struct replay p;
    struct err e = {.code = ERR_NONE};

    begin_restore(l, &to);
    if (response_restore_row(&to, cuts, done, pieces, &e) == -1) {
        assert_int_equal(e.code, ERR_STORE);
    } else {
        replay_init(&p);
        (void)replay_events(&p, &to.response, buf_str(&to.response.cuts.bytes), UINT64_MAX, -1,
                            false, SIZE_MAX, &out);
        response_fail(&to.response, &why, &out);
        response_end(&to.response, &out);
    }
    response_fini(&to.response);
    buf_fini(&out);
}

static void use_with_other_bytes(const struct live_response *l, int which)
{
    static const char others[] = "\0\"{}[],:0nx\n\x01\xc0\xc9\xcc\xfc\xfd\xfe\xff";
    str texts[] = {l->row.cuts, buf_str(&l->row.done), buf_str(&l->row.pieces)};
    const str was = texts[which];
    char *copy = exact_copy(was);

    for (size_t n = 0; n < was.len; n++) {
        for (size_t k = 0; k < sizeof(others) - 1; k++) {
            copy[n] = others[k];
            texts[which] = str_from(copy, was.len);
            use_row(l, texts[0], texts[1], texts[2]);
        }
        copy[n] = was.p[n];
        texts[which] = str_from(copy, n);
        use_row(l, texts[0], texts[1], texts[2]);
        texts[which] = str_from(copy + n + 1, was.len - n - 1);
        use_row(l, texts[0], texts[1], texts[2]);
    }
    free(copy);
}

static void damaged_rows_are_refused_or_used(void **state)
{
    struct live_response l;

    (void)state;
    make_row(&l);
    for (int which = 0; which < 3; which++)
        use_with_other_bytes(&l, which);
    live_fini(&l);
}

static bool is_refused(const struct live_response *l, str cuts, const char *done,
                       const char *pieces)
{
    struct response_restore to;
    struct err e = {.code = ERR_NONE};
    bool refused;

    begin_restore(l, &to);
    refused = response_restore_row(&to, cuts, str_from_c(done), str_from_c(pieces), &e) == -1;
    assert_int_equal(e.code, refused ? ERR_STORE : ERR_NONE);
    response_fini(&to.response);
    return refused;
}

#define ADDED                                                                                      \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\","    \
    "\"content\":[]}\n"
#define DONE                                                                                       \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","      \
    "\"content\":[]}\n"
#define CALL                                                                                       \
    "{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"in_progress\",\"call_id\":\"c\","    \
    "\"name\":\"f\",\"arguments\":\"\"}\n"
#define LISTING                                                                                    \
    "{\"id\":\"mcpl_1\",\"type\":\"mcp_list_tools\",\"server_label\":\"s\",\"tools\":[]}\n"
#define PART "{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[],\"logprobs\":[]}\n"

enum { MAX_CUTS = 6 };

static const struct row_case {
    const char *claim;
    bool is_read;
    const char *done, *pieces;
    struct event_cut cuts[MAX_CUTS];
} row_cases[] = {
    {"nothing", true, "", "", {{0}}},
    {"an item", true, "", ADDED, {{.type = EVENT_ITEM_ADDED}}},
    {"an item that is done",
     true,
     DONE,
     "",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ITEM_DONE}}},
    {"a part", true, "", ADDED PART, {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_PART_ADDED}}},
    {"a delta",
     true,
     "",
     ADDED PART "ab",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .len = 2}}},
    {"a call with a delta",
     true,
     "",
     CALL "ab",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ARGUMENTS_DELTA, .len = 2}}},
    {"an annotation",
     true,
     "",
     ADDED PART "{\"a\":1}\n",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_ANNOTATION},
      {.type = EVENT_PART_DONE}}},
    {"pieces that nothing is said of", false, "", ADDED ADDED, {{.type = EVENT_ITEM_ADDED}}},
    {"items done that nothing is said of", false, DONE, ADDED, {{.type = EVENT_ITEM_ADDED}}},
    {"an item without JSON", false, "", "", {{.type = EVENT_ITEM_ADDED}}},
    {"a done item that is not",
     false,
     ADDED,
     "",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ITEM_DONE}}},
    {"an item that is done twice",
     false,
     DONE DONE,
     "",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ITEM_DONE}, {.type = EVENT_ITEM_DONE}}},
    {"an item that was not announced", false, DONE, "", {{.type = EVENT_ITEM_DONE, .item = 3}}},
    {"an item that was announced too early",
     false,
     "",
     ADDED,
     {{.type = EVENT_ITEM_ADDED, .item = 3}}},
    {"two messages that are open",
     false,
     "",
     ADDED ADDED,
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ITEM_ADDED, .item = 1}}},
    {"a part of a call",
     false,
     "",
     CALL PART,
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_PART_ADDED}}},
    {"two parts that are open",
     false,
     "",
     ADDED PART PART,
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_PART_ADDED, .part = 1}}},
    {"a part that is not the next",
     false,
     "",
     ADDED PART,
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_PART_ADDED, .part = 1}}},
    {"a part that is none",
     false,
     "",
     ADDED "{}\n",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_PART_ADDED}}},
    {"a delta without a part",
     false,
     "",
     ADDED "ab",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_TEXT_DELTA, .len = 2}}},
    {"a delta that is too long",
     false,
     "",
     ADDED PART "ab",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .len = 3}}},
    {"a delta of another place",
     false,
     "",
     ADDED PART "ab",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .from = 1, .len = 2}}},
    {"a delta of another kind",
     false,
     "",
     ADDED PART "ab",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_REFUSAL_DELTA, .len = 2}}},
    {"half an escape",
     false,
     "",
     ADDED PART "a\\",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .len = 2}}},
    {"logprobs that are none",
     false,
     "",
     ADDED PART "a{}{}",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .len = 1, .logprobs_len = 4}}},
    {"logprobs that go on",
     false,
     "",
     ADDED PART "a{},",
     {{.type = EVENT_ITEM_ADDED},
      {.type = EVENT_PART_ADDED},
      {.type = EVENT_TEXT_DELTA, .len = 1, .logprobs_len = 3}}},
    {"an annotation that is none",
     false,
     "",
     ADDED PART "{\n",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_PART_ADDED}, {.type = EVENT_TEXT_ANNOTATION}}},
    {"arguments of another call",
     false,
     "",
     CALL "ab",
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_INPUT_DELTA, .len = 2}}},
    {"a call that is half closed",
     false,
     "",
     CALL,
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_ARGUMENTS_DONE}}},
    {"a listing that is half closed",
     false,
     "",
     LISTING,
     {{.type = EVENT_ITEM_ADDED}, {.type = EVENT_MCP_LIST_COMPLETED}}},
    {"the end of the response", false, "", "", {{.type = EVENT_COMPLETED}}},
    {"an error", false, "", "", {{.type = EVENT_ERROR}}},
};

static void rows_that_do_not_fit_are_refused(void **state)
{
    struct live_response l;

    (void)state;
    live_begin(&l, &restore_conf);
    for (size_t i = 0; i < COUNT_OF(row_cases); i++) {
        const struct row_case *c = &row_cases[i];
        struct cuts cuts = {.n = 0};

        for (size_t k = 0; k < MAX_CUTS && c->cuts[k].type != EVENT_NONE; k++)
            cuts_note(&cuts, &c->cuts[k]);
        if (is_refused(&l, buf_str(&cuts.bytes), c->done, c->pieces) == c->is_read)
            fail_msg("%s", c->claim);
        cuts_fini(&cuts);
    }
    live_fini(&l);
}

/* ---- memory */

static void memory_that_runs_out_is_told(void **state)
{
    bool has_failed = true;
    struct live_response l;

    (void)state;
    make_row(&l);
    for (long n = 0; has_failed; n++) {
        struct response_restore to;
        struct err e;
        int rc;

        begin_restore(&l, &to);
        failing_malloc_begin(n, FAILS_ONCE);
        rc = read_row(&l, &to, &e);
        has_failed = failing_malloc_end();
        assert_int_equal(rc, has_failed ? -1 : 0);
        if (has_failed)
            assert_int_equal(e.code, ERR_INTERNAL);
        response_fini(&to.response);
    }
    live_fini(&l);
}

/* ---- size */

/* All memory that was asked for to restore a response of so many items, one open for long, a row for
 * each event. */
static size_t bytes_to_restore(unsigned n)
{
    const struct response_conf conf = {.interleaved_calls = true};
    struct response_restore to;
    size_t bytes = 0;
    struct live_response l;

    live_begin(&l, &conf);
    begin_restore(&l, &to);
    response_start(&l.r, NULL);
    call(&l, 0, "f", "{\\\"a\\\":");
    for (unsigned i = 1; i <= n; i++) {
        const size_t before = failing_malloc_bytes();
        struct err e;

        call(&l, i, "g", "{}");
        call(&l, 0, "f", "1");
        journal_row_fini(&l.row);
        assert_int_equal(replay_journal(&l.journal, &l.r, buf_str(&l.r.cuts.bytes), &l.row), 0);
        bytes -= failing_malloc_bytes() - before;
        assert_int_equal(read_row(&l, &to, &e), 0);
        bytes += failing_malloc_bytes() - before;
    }
    response_fini(&to.response);
    live_fini(&l);
    return bytes;
}

static void rows_cost_what_they_are_long(void **state)
{
    (void)state;
    assert_true(bytes_to_restore(2000) < 5 * bytes_to_restore(500));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_rows_are_refused_or_used),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(rows_cost_what_they_are_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
