/* test_cuts.c -- cuts are read as they were noted, whatever they are; what is stored is no trap. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "response/cuts.h"

enum { N_CUTS = 300 };

static struct event_cut text_delta(size_t from, size_t len)
{
    return (struct event_cut){.type = EVENT_TEXT_DELTA, .from = from, .len = len};
}

static void note_opening(struct cuts *c)
{
    static const enum event_type opening[] = {EVENT_CREATED, EVENT_IN_PROGRESS, EVENT_ITEM_ADDED,
                                              EVENT_PART_ADDED};

    for (size_t i = 0; i < COUNT_OF(opening); i++)
        cuts_note(c, &(struct event_cut){.type = opening[i]});
}

static void a_delta_that_follows_another_costs_a_byte(void **state)
{
    struct cuts c = {.n = 0};
    struct event_cut cut = text_delta(0, 4);

    (void)state;
    note_opening(&c);
    assert_int_equal(c.bytes.len, 4);
    for (int i = 0; i < 100; i++, cut.from += 4)
        cuts_note(&c, &cut);
    assert_int_equal(c.bytes.len, 4 + 4 + 99);
    assert_int_equal(c.n, 104);
    cuts_fini(&c);
}

/* Lengths are a byte or two, and the same again for logprobs. */
static void logprobs_cost_their_length(void **state)
{
    struct cuts c = {.n = 0};
    struct event_cut cut = text_delta(0, 5);
    size_t before;

    (void)state;
    note_opening(&c);
    cut.logprobs_len = 100;
    cuts_note(&c, &cut);
    before = c.bytes.len;
    for (int i = 1; i < 10; i++) {
        cut.from += 5;
        cut.logprobs_from = (size_t)i * 101;
        cuts_note(&c, &cut);
    }
    assert_int_equal(c.bytes.len, before + 9 * 2);
    cuts_fini(&c);
}

/* ---- any cuts */

static size_t some_length(struct chance *c)
{
    static const size_t lengths[] = {0, 1, 5, 127, 128, 191, 192, 300, 20000, 1U << 30};

    return lengths[chance_below(c, COUNT_OF(lengths))];
}

static void place_delta(struct event_cut *cut, const struct event_cut *before, struct chance *c)
{
    cut->from = some_length(c);
    cut->len = some_length(c);
    if ((event_members(cut->type) & EV_LOGPROBS) != 0 && chance_below(c, 2) == 0) {
        cut->logprobs_len = 1 + some_length(c);
        cut->logprobs_from = some_length(c);
    }
    if (before == NULL || chance_below(c, 3) == 0)
        return;
    cut->type = before->type; /* it goes on */
    cut->item = before->item;
    cut->part = before->part;
    cut->from = before->from + before->len;
    if ((event_members(cut->type) & EV_LOGPROBS) == 0)
        cut->logprobs_from = cut->logprobs_len = 0;
    else if (cut->logprobs_len > 0)
        cut->logprobs_from = before->logprobs_from + before->logprobs_len + 1;
}

static bool is_delta(enum event_type type)
{
    return (event_members(type) & EV_DELTA) != 0;
}

static bool has_item(enum event_type type)
{
    return (event_members(type) & EV_OUTPUT_INDEX) != 0;
}

static struct event_cut some_cut(const struct event_cut *last_delta, struct chance *c)
{
    struct event_cut cut = {.type = (enum event_type)(1 + chance_below(c, EVENT_COUNT - 1))};

    if (chance_below(c, 2) == 0)
        cut.type = EVENT_TEXT_DELTA;
    if (has_item(cut.type))
        cut.item = chance_below(c, 3);
    if ((event_members(cut.type) & (EV_CONTENT_INDEX | EV_SUMMARY_INDEX)) != 0)
        cut.part = chance_below(c, 3);
    if (is_delta(cut.type))
        place_delta(&cut, last_delta, c);
    if (!is_delta(cut.type) && chance_below(c, 5) == 0)
        cut.note = chance_below(c, 2) == 0 ? STR("") : STR("flex");
    return cut;
}

static void make_cuts(struct event_cut *cuts, struct chance *c)
{
    const struct event_cut *last = NULL;

    for (size_t i = 0; i < N_CUTS; i++) {
        cuts[i] = some_cut(last, c);
        if (is_delta(cuts[i].type))
            last = &cuts[i];
    }
}

static void check_same(const struct event_cut *got, const struct event_cut *expected)
{
    assert_string_equal(event_name(got->type), event_name(expected->type));
    assert_int_equal(got->item, expected->item);
    assert_int_equal(got->part, expected->part);
    assert_int_equal(str_is_none(got->note), str_is_none(expected->note));
    assert_true(str_is_none(got->note) || str_eq(got->note, expected->note));
    if (!is_delta(got->type))
        return;
    assert_int_equal(got->from, expected->from);
    assert_int_equal(got->len, expected->len);
    assert_int_equal(got->logprobs_len, expected->logprobs_len);
    assert_true(got->logprobs_len == 0 || got->logprobs_from == expected->logprobs_from);
}

/* In an exact copy, so that a sanitizer sees what is read behind the end. */
static void check_read(const struct cuts *c, const struct event_cut *expected)
{
    char *copy = exact_copy(buf_str(&c->bytes));
    const str bytes = str_from(copy, c->bytes.len);
    struct cuts_reader r = {.at = 0};
    struct event_cut cut;

    for (size_t i = 0; i < N_CUTS; i++) {
        assert_true(cuts_next(&r, bytes, &cut));
        check_same(&cut, &expected[i]);
    }
    assert_false(cuts_next(&r, bytes, &cut));
    assert_int_equal(r.at, bytes.len);
    assert_int_equal(r.n, c->n);
    free(copy);
}

/* The bytes as rows of a store: each goes on where the one before has ended. */
static void check_append(const struct cuts *c, struct chance *chance)
{
    const str bytes = buf_str(&c->bytes);
    struct cuts_reader r = {.at = 0};
    struct cuts again = {.n = 0};
    struct event_cut cut;
    size_t from = 0;

    while (cuts_next(&r, bytes, &cut)) {
        if (chance_below(chance, 4) != 0)
            continue;
        assert_true(cuts_append(&again, str_from(bytes.p + from, r.at - from)));
        from = r.at;
    }
    assert_true(cuts_append(&again, str_skip(bytes, from)));
    assert_true(cuts_append(&again, STR("")));
    assert_str_eq(buf_str(&again.bytes), bytes);
    assert_int_equal(again.n, c->n);
    assert_memory_equal(&again.place, &c->place, sizeof(again.place));
    cuts_fini(&again);
}

/* Whole cuts, as they are stored for good. */
static void check_packed(const struct cuts *c)
{
    struct buf packed = {.limit = 0};
    struct cuts again = {.n = 0};

    cuts_pack(buf_str(&c->bytes), &packed);
    assert_true(cuts_append(&again, buf_str(&packed)));
    assert_str_eq(buf_str(&again.bytes), buf_str(&c->bytes));
    assert_int_equal(again.n, c->n);
    for (size_t len = 0; len < packed.len; len++) {
        struct cuts part = {.n = 0};
        char *copy = exact_copy(str_from(packed.p, len));

        (void)cuts_append(&part, str_from(copy, len));
        assert_true(part.bytes.len <= c->bytes.len);
        cuts_fini(&part);
        free(copy);
    }
    cuts_fini(&again);
    buf_fini(&packed);
}

static void two_small_deltas_take_a_byte_when_all_is_packed(void **state)
{
    struct buf packed = {.limit = 0};
    struct cuts c = {.n = 0};
    struct event_cut cut = text_delta(0, 4);

    (void)state;
    note_opening(&c);
    for (unsigned i = 0; i < 2001; i++) {
        cut.len = 1 + i % 12;
        cuts_note(&c, &cut);
        cut.from += cut.len;
    }
    cuts_pack(buf_str(&c.bytes), &packed);
    assert_int_equal(packed.len, 1 + 4 + 4 + 1000); /* the first has its place beside it */
    check_packed(&c);
    buf_fini(&packed);
    cuts_fini(&c);
}

static void any_cuts_are_read_as_they_were_noted(void **state)
{
    struct event_cut cuts[N_CUTS];
    struct chance chance = {.state = 3};

    (void)state;
    for (int run = 0; run < 200; run++) {
        struct cuts c = {.n = 0};

        make_cuts(cuts, &chance);
        for (size_t i = 0; i < N_CUTS; i++)
            cuts_note(&c, &cuts[i]);
        check_read(&c, cuts);
        check_append(&c, &chance);
        if (run % 20 == 0)
            check_packed(&c);
        cuts_fini(&c);
    }
}

static void annotations_are_counted_in_their_part(void **state)
{
    static const struct event_cut noted[] = {
        {.type = EVENT_ITEM_ADDED},
        {.type = EVENT_PART_ADDED},
        {.type = EVENT_TEXT_ANNOTATION},
        {.type = EVENT_TEXT_ANNOTATION},
        {.type = EVENT_PART_DONE},
        {.type = EVENT_PART_ADDED, .part = 1},
        {.type = EVENT_TEXT_ANNOTATION, .part = 1},
        {.type = EVENT_ITEM_ADDED, .item = 1},
        {.type = EVENT_PART_ADDED, .item = 1},
        {.type = EVENT_TEXT_ANNOTATION, .item = 1},
        {.type = EVENT_KEEPALIVE},
        {.type = EVENT_TEXT_ANNOTATION, .item = 1},
    };
    static const unsigned expected[COUNT_OF(noted)] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    struct cuts_reader r = {.at = 0};
    struct cuts c = {.n = 0};
    struct event_cut cut;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(noted); i++)
        cuts_note(&c, &noted[i]);
    assert_int_equal(c.bytes.len, COUNT_OF(noted)); /* all is where it is expected */
    for (size_t i = 0; i < COUNT_OF(noted); i++) {
        assert_true(cuts_next(&r, buf_str(&c.bytes), &cut));
        assert_int_equal(cut.annotation, expected[i]);
        assert_int_equal(cut.part, noted[i].part);
    }
    cuts_fini(&c);
}

/* ---- damage */

/* Reads up to the end or what is damaged; returns how much that is. */
static size_t read_all(str bytes)
{
    char *copy = exact_copy(bytes);
    struct cuts_reader r = {.at = 0};
    struct event_cut cut;

    while (cuts_next(&r, str_from(copy, bytes.len), &cut))
        assert_true(r.at <= bytes.len);
    free(copy);
    return r.at;
}

static void cuts_that_were_cut_off_end_before_what_is_not_whole(void **state)
{
    struct event_cut cuts[N_CUTS];
    struct chance chance = {.state = 9};
    struct cuts c = {.n = 0};

    (void)state;
    make_cuts(cuts, &chance);
    for (size_t i = 0; i < N_CUTS; i++)
        cuts_note(&c, &cuts[i]);
    for (size_t len = 0; len < c.bytes.len; len++) {
        const size_t at = read_all(str_from(c.bytes.p, len));
        struct cuts again = {.n = 0};

        assert_true(at <= len && read_all(str_from(c.bytes.p, at)) == at);
        assert_int_equal(cuts_append(&again, str_from(c.bytes.p, len)), at == len);
        assert_int_equal(again.bytes.len, at == len ? len : 0);
        cuts_fini(&again);
    }
    cuts_fini(&c);
}

static void what_is_no_cut_is_refused(void **state)
{
    static const str damaged[] = {
        STR_INIT("\x05"), /* follows no delta */
        STR_INIT("\xc0"),
        STR_INIT("\xfb"),
        STR_INIT("\xff"), /* of no type */
        STR_INIT("\xfe"),
        STR_INIT("\xfe\x01"),                                     /* what of the item? */
        STR_INIT("\xfe\xff\xff\xff\xff\x7f\xc8"),                 /* no such number of items */
        STR_INIT("\xfe\x80\x80\x80\x80\x80\x80\x80\x80\x01\xc8"), /* a number without an end */
        STR_INIT("\xfc\x7f\x61\xc1"),                             /* a note longer than all */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(damaged); i++)
        assert_int_equal(read_all(damaged[i]), 0);
}

/* Cuts are stored: a number that has been given to an event means that event for good. */
static void numbers_of_events_are_what_they_were(void **state)
{
    static const char *const names[] = {
        "response.created",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
        "keepalive",
        "response.output_item.added",
        "response.output_item.done",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.annotation.added",
        "response.output_text.done",
        "response.refusal.delta",
        "response.refusal.done",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.reasoning.delta",
        "response.reasoning.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta",
        "response.custom_tool_call_input.done",
        "response.mcp_list_tools.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call_code.delta",
        "response.code_interpreter_call_code.done",
        "response.code_interpreter_call.interpreting",
        "response.code_interpreter_call.completed",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
        "response.compaction.compacting",
        "response.queued",
    };

    (void)state;
    assert_int_equal(COUNT_OF(names), EVENT_COUNT - 1); /* a new event comes last in this list */
    for (unsigned number = 1; number <= COUNT_OF(names); number++) {
        assert_string_equal(event_name(event_of_number(number)), names[number - 1]);
        assert_int_equal(event_number(event_of_number(number)), number);
    }
    assert_int_equal(event_of_number(0), EVENT_NONE);
    assert_int_equal(event_of_number(EVENT_COUNT), EVENT_NONE);
    assert_int_equal(event_of_number(UINT32_MAX), EVENT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_that_follows_another_costs_a_byte),
        cmocka_unit_test(two_small_deltas_take_a_byte_when_all_is_packed),
        cmocka_unit_test(logprobs_cost_their_length),
        cmocka_unit_test(any_cuts_are_read_as_they_were_noted),
        cmocka_unit_test(annotations_are_counted_in_their_part),
        cmocka_unit_test(cuts_that_were_cut_off_end_before_what_is_not_whole),
        cmocka_unit_test(what_is_no_cut_is_refused),
        cmocka_unit_test(numbers_of_events_are_what_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
