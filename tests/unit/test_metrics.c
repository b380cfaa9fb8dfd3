/* test_metrics.c -- what is counted on many threads is told once, in one order, in both formats. */
#include "lib/test.h"

#include <uv.h>

#include "lib/failing_malloc.h"
#include "metrics/metrics_page.h"

enum { MAX_MODELS = 3, DAY_S = 24 * 60 * 60, N_THREADS = 4, N_TIMES = 10000 };

static int open_metrics(void **state)
{
    (void)state;
    return metrics_open(&(struct metrics_conf){MAX_MODELS, 7}) ? 0 : -1;
}

static int close_metrics(void **state)
{
    (void)state;
    metrics_close();
    return 0;
}

/* ---- reading a page */

static struct buf page;

static int fini_page(void **state)
{
    buf_fini(&page);
    return close_metrics(state);
}

static str write_page(enum metrics_format format)
{
    buf_reset(&page);
    assert_int_equal(metrics_page_write(format, NULL, 0, &page), 0);
    return buf_str(&page);
}

/* The line that begins with the text, behind it; STR_NONE when there is none. */
static str line_behind(str text, const char *begin)
{
    while (text.len > 0) {
        str line = str_cut(&text, '\n');

        if (str_starts_with(line, str_from_c(begin)))
            return str_skip(line, strlen(begin));
    }
    return STR_NONE;
}

static void assert_line(enum metrics_format format, const char *begin, const char *rest)
{
    str found = line_behind(write_page(format), begin);

    if (str_is_none(found))
        print_error("no line begins with %s\n", begin);
    assert_str_c(found, rest);
}

/* ---- */

static void without_opening_nothing_is_counted(void **state)
{
    (void)state;
    assert_null(metrics_at(METRIC_UNKNOWN_FIELDS, 0));
    assert_null(metrics_of(METRIC_ROUNDS, &(struct metric_labels){{2}}));
    metrics_count(METRIC_UNKNOWN_FIELDS, 0);
    metrics_observe(METRIC_ROUNDS, NULL, 1);
    assert_int_equal(metric_word(METRIC_DOMAIN_SERVER, STR("docs")), METRIC_WORD_NONE);
}

static void every_family_is_there_from_the_start(void **state)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "histogram"};

    (void)state;
    for (unsigned m = 0; m < METRICS; m++) {
        const struct metric_family *f = metric_family(m);
        char begin[200];

        (void)snprintf(begin, sizeof(begin), "# TYPE %.*s ", STR_ARG(f->name));
        assert_line(METRICS_TEXT, begin, types[f->type]);
        (void)snprintf(begin, sizeof(begin), "# HELP %.*s ", STR_ARG(f->name));
        assert_false(str_is_none(line_behind(write_page(METRICS_TEXT), begin)));
    }
    assert_line(METRICS_TEXT, "antiphon_events_total{type=\"response.created\"} ", "0");
    assert_line(METRICS_TEXT, "antiphon_store_commits_total ", "0");
    assert_true(
        str_is_none(line_behind(write_page(METRICS_TEXT), "antiphon_response_rounds_count")));
}

static void names_are_in_order_and_in_units(void **state)
{
    str text, former = STR("");

    (void)state;
    text = write_page(METRICS_TEXT);
    for (unsigned n = 0; n < METRICS;) {
        str line = str_cut(&text, '\n');

        if (!str_starts_with(line, STR("# HELP ")))
            continue;
        line = str_skip(line, strlen("# HELP "));
        line = str_cut(&line, ' ');
        assert_true(str_order(former, line) < 0);
        former = line;
        n++;
    }
    for (unsigned m = 0; m < METRICS; m++) {
        const struct metric_family *f = metric_family(m);
        bool is_micro = str_ends_with(f->name, STR("_seconds")) ||
                        str_ends_with(f->name, STR("_ratio")) ||
                        str_ends_with(f->name, STR("_seconds_total"));

        assert_int_equal(f->scale, is_micro ? 1000000 : 1);
        assert_true((f->type == METRIC_COUNTER) == str_ends_with(f->name, STR("_total")));
        assert_true((f->type >= METRIC_HISTOGRAM) == (f->width > 1));
        assert_int_equal(str_find_char(f->help, '\\') + str_find_char(f->help, '\n'),
                         2 * f->help.len);
        for (unsigned i = 1; f->type >= METRIC_HISTOGRAM && i < f->n_bounds; i++)
            assert_true(f->bounds[i - 1] < f->bounds[i]);
    }
}

static void words_have_the_index_of_their_labels(void **state)
{
    const unsigned error = METRIC_STORE_OPERATION_SAVE * 2 + METRIC_RESULT_ERROR;

    (void)state;
    metrics_observe(METRIC_STORE_SECONDS, metrics_at(METRIC_STORE_SECONDS, error), 700);
    metrics_count(METRIC_HEARTBEATS, METRIC_HEARTBEAT_EVENT);
    assert_line(
        METRICS_TEXT,
        "antiphon_store_operation_seconds_bucket{operation=\"save\",result=\"error\",le=\"0.0005\"} ",
        "0");
    assert_line(
        METRICS_TEXT,
        "antiphon_store_operation_seconds_bucket{operation=\"save\",result=\"error\",le=\"0.001\"} ",
        "1");
    assert_line(METRICS_TEXT,
                "antiphon_store_operation_seconds_sum{operation=\"save\",result=\"error\"} ",
                "0.0007");
    assert_line(METRICS_TEXT,
                "antiphon_store_operation_seconds_count{operation=\"save\",result=\"ok\"} ", "0");
    assert_line(METRICS_TEXT, "antiphon_heartbeats_total{kind=\"event\"} ", "1");
    assert_line(METRICS_TEXT, "antiphon_heartbeats_total{kind=\"comment\"} ", "0");
}

static void a_series_has_one_place_for_its_labels(void **state)
{
    struct metric_labels labels = {{0}};
    metric_cell *first = NULL;

    (void)state;
    for (uint16_t i = 0; i < 2000; i++) {
        metric_cell *cells;

        labels.v[0] = (uint16_t)(i + 2);
        cells = metrics_of(METRIC_ROUNDS, &labels);
        assert_non_null(cells);
        if (i == 0)
            first = cells;
        metrics_observe(METRIC_ROUNDS, cells, 35);
    }
    labels.v[0] = 2;
    assert_ptr_equal(metrics_of(METRIC_ROUNDS, &labels), first);
    assert_ptr_not_equal(metrics_of(METRIC_MCP_RESTARTS, &labels), first);
    assert_int_equal(atomic_load(&first[8]), 1);
    assert_int_equal(atomic_load(&first[9]), 35);
}

static void labels_are_told_in_order_and_empty_ones_not_at_all(void **state)
{
    const uint16_t b = metric_word(METRIC_DOMAIN_ROUTE, STR("b")),
                   a = metric_word(METRIC_DOMAIN_ROUTE, STR("a"));
    str text;

    (void)state;
    metrics_add(metrics_of(METRIC_REQUESTS, &(struct metric_labels){{b, 200}}), 1);
    metrics_add(metrics_of(METRIC_REQUESTS, &(struct metric_labels){{a, 404}}), 2);
    metrics_add(metrics_of(METRIC_REQUESTS, &(struct metric_labels){{a, 0, METRIC_WORD_OTHER}}), 3);
    text = write_page(METRICS_TEXT);
    text = str_skip(text, str_find(text, STR("antiphon_requests_total{")));
    assert_str_c(str_cut(&text, '\n'),
                 "antiphon_requests_total{route=\"a\",status=\"000\",model=\"_other\"} 3");
    assert_str_c(str_cut(&text, '\n'), "antiphon_requests_total{route=\"a\",status=\"404\"} 2");
    assert_str_c(str_cut(&text, '\n'), "antiphon_requests_total{route=\"b\",status=\"200\"} 1");
}

static void values_of_labels_are_escaped(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    metrics_page_escape(STR("a\"b\\c\nd\xffz\xc3\xa9"), &out);
    assert_str_c(buf_str(&out), "a\\\"b\\\\c\\nd\xEF\xBF\xBDz\xc3\xa9");
    buf_fini(&out);
}

/* ---- threads */

static void without_memory_nothing_is_counted_and_later_it_is(void **state)
{
    const struct metric_labels labels = {{5}};

    (void)state;
    for (long n = 0; metrics_own == NULL; n++) {
        failing_malloc_begin(n, FAILS_FOR_GOOD);
        (void)metrics_begin_thread();
        (void)failing_malloc_end();
    }
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_null(metrics_of(METRIC_ROUNDS, &labels));
    assert_true(failing_malloc_end());
    assert_non_null(metrics_of(METRIC_ROUNDS, &labels));
    failing_malloc_begin(0, FAILS_FOR_GOOD);
    assert_int_equal(metrics_page_write(METRICS_TEXT, NULL, 0, &page), -1);
    assert_true(failing_malloc_end());
}

static void count_much(void *arg)
{
    const struct metric_labels labels = {{2}};

    (void)arg;
    for (unsigned i = 0; i < N_TIMES; i++) {
        metrics_count(METRIC_UNKNOWN_FIELDS, 0);
        metrics_move(METRIC_OPEN_STREAMS, 0, 1);
        metrics_observe(METRIC_ROUNDS, metrics_of(METRIC_ROUNDS, &labels), 1);
    }
}

static void threads_are_added_up_while_they_count(void **state)
{
    uv_thread_t ids[N_THREADS];

    (void)state;
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(uv_thread_create(&ids[i], count_much, NULL), 0);
    for (unsigned i = 0; i < 20; i++)
        (void)write_page(i % 2 == 0 ? METRICS_TEXT : METRICS_OPEN_METRICS);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(uv_thread_join(&ids[i]), 0);
    metrics_move(METRIC_OPEN_STREAMS, 0, -N_THREADS * N_TIMES);
    assert_line(METRICS_TEXT, "antiphon_unknown_fields_total ", "40000");
    assert_line(METRICS_TEXT, "antiphon_response_rounds_count ", "40000");
    assert_line(METRICS_TEXT, "antiphon_open_streams ", "0");
}

/* ---- what is asked for at a scrape */

static void tell_memory(void *arg, struct metrics_page *p)
{
    const struct metric_labels labels = {{metric_word(METRIC_DOMAIN_UPSTREAM, STR("default"))}};

    metrics_page_add_at(p, METRIC_MEMORY, METRIC_MEMORY_QUEUE, *(const int *)arg);
    metrics_page_add_at(p, METRIC_START_TIME, 0, 1500000);
    metrics_page_add(p, METRIC_IN_FLIGHT, &labels, 3);
}

static void a_source_is_asked_at_every_page(void **state)
{
    int bytes = 12;
    const struct metrics_source source = {tell_memory, &bytes};
    str text;

    (void)state;
    assert_int_equal(metrics_page_write(METRICS_TEXT, &source, 1, &page), 0);
    text = buf_str(&page);
    assert_str_c(line_behind(text, "antiphon_memory_bytes{use=\"queue\"} "), "12");
    assert_str_c(line_behind(text, "antiphon_memory_bytes{use=\"trace\"} "), "0");
    assert_str_c(line_behind(text, "process_start_time_seconds "), "1.5");
    assert_str_c(line_behind(text, "antiphon_upstream_in_flight{upstream=\"default\"} "), "3");
    buf_reset(&page);
    bytes = -1;
    assert_int_equal(metrics_page_write(METRICS_TEXT, &source, 1, &page), 0);
    assert_str_c(line_behind(buf_str(&page), "antiphon_memory_bytes{use=\"queue\"} "), "-1");
}

/* ---- OpenMetrics */

static void open_metrics_has_units_and_an_end(void **state)
{
    (void)state;
    metrics_observe(METRIC_ROUNDS, metrics_of(METRIC_ROUNDS, &(struct metric_labels){{0}}), 2);
    assert_line(METRICS_OPEN_METRICS, "# TYPE antiphon_events ", "counter");
    assert_line(METRICS_OPEN_METRICS, "antiphon_events_total{type=\"error\"} ", "0");
    assert_line(METRICS_OPEN_METRICS, "# TYPE antiphon_connections ", "gauge");
    assert_line(METRICS_OPEN_METRICS, "# TYPE antiphon_connections_total ", "unknown");
    assert_line(METRICS_OPEN_METRICS, "# UNIT antiphon_stream_bytes ", "bytes");
    assert_line(METRICS_OPEN_METRICS, "# UNIT process_cpu_seconds ", "seconds");
    assert_line(METRICS_OPEN_METRICS, "# UNIT antiphon_prefix_kept_ratio ", "ratio");
    assert_line(METRICS_OPEN_METRICS, "antiphon_response_rounds_bucket{le=\"2.0\"} ", "1");
    assert_line(METRICS_TEXT, "antiphon_response_rounds_bucket{le=\"2\"} ", "1");
    assert_true(str_ends_with(write_page(METRICS_OPEN_METRICS), STR("\n# EOF\n")));
    assert_true(str_is_none(line_behind(write_page(METRICS_TEXT), "# UNIT")));
    assert_true(str_is_none(line_behind(write_page(METRICS_TEXT), "# EOF")));
}

static void a_bucket_shows_the_trace_it_saw_last(void **state)
{
    const struct metric_trace trace = {0x0102030405060708, 0xf0e0d0c0b0a09080};
    metric_cell *cells =
        metrics_of(METRIC_FIRST_TOKEN, &(struct metric_labels){{METRIC_OPERATION_CHAT}});
    const char *bucket =
        "gen_ai_server_time_to_first_token_seconds_bucket{gen_ai_operation_name=\"chat\",le=\"0.04\"} ";

    (void)state;
    metrics_observe_traced(METRIC_FIRST_TOKEN, cells, 30000, (struct metric_trace){1, 1});
    metrics_observe_traced(METRIC_FIRST_TOKEN, cells, 31000, trace);
    metrics_observe_traced(METRIC_FIRST_TOKEN, cells, 32000, (struct metric_trace){0, 0});
    metrics_observe_traced(METRIC_FIRST_TOKEN, NULL, 32000, trace);
    assert_line(METRICS_OPEN_METRICS, bucket,
                "3 # {trace_id=\"0102030405060708f0e0d0c0b0a09080\"} 0.031");
    assert_line(METRICS_TEXT, bucket, "3");
}

/* ---- models */

static void a_model_is_told_when_it_was_learnt(void **state)
{
    uint16_t a;

    (void)state;
    assert_int_equal(metric_model(STR("a"), 1), METRIC_WORD_OTHER);
    assert_int_equal(metric_model(STR(""), 1), METRIC_WORD_NONE);
    a = metric_model_learn(STR("a"), false, 1);
    assert_true(a > METRIC_WORD_OTHER);
    assert_int_equal(metric_model(STR("a"), 2), a);
    assert_int_equal(metric_model_learn(STR("a"), true, 2), a);
    assert_str_c(metric_word_text(METRIC_DOMAIN_MODEL, a), "a");
    assert_int_equal(metric_model(STR("b"), 2), METRIC_WORD_OTHER);
}

static void models_give_their_place_back_after_a_day(void **state)
{
    struct metric_labels of_b = {{0}};
    uint16_t a, b;

    (void)state;
    a = metric_model_learn(STR("a"), true, 0);
    b = of_b.v[0] = metric_model_learn(STR("b"), false, 0);
    (void)metric_model_learn(STR("c"), false, 10);
    metrics_observe(METRIC_ROUNDS, metrics_of(METRIC_ROUNDS, &of_b), 1);
    assert_int_equal(metric_model_learn(STR("d"), false, 9),
                     METRIC_WORD_OTHER); /* by a late clock */
    assert_int_equal(metric_model_learn(STR("d"), false, DAY_S - 1), METRIC_WORD_OTHER);
    assert_line(METRICS_TEXT, "antiphon_response_rounds_count{model=\"b\"} ", "1");
    assert_true(metric_model_learn(STR("d"), false, DAY_S) > METRIC_WORD_OTHER);
    assert_true(metric_model_is_gone(b));
    assert_false(metric_model_is_gone(a));
    assert_int_equal(metric_model(STR("b"), DAY_S), METRIC_WORD_OTHER);
    assert_true(
        str_is_none(line_behind(write_page(METRICS_TEXT), "antiphon_response_rounds_count{")));
    assert_int_equal(metric_model_learn(STR("b"), false, 2 * DAY_S), b);
    assert_line(METRICS_TEXT, "antiphon_response_rounds_count{model=\"b\"} ", "1");
}

static void many_values_of_a_bucket_are_counted_at_once(void **state)
{
    const struct metric_labels labels = {{0}};
    metric_cell *cells = metrics_of(METRIC_ROUNDS, &labels);
    const struct metric_range third = metric_bucket(METRIC_ROUNDS, 4);

    (void)state;
    assert_int_equal(third.least, 4); /* of 1 2 3 5 8 ... */
    assert_int_equal(third.end, 6);
    assert_int_equal(metric_bucket(METRIC_ROUNDS, 0).least, 0);
    assert_true(metric_bucket(METRIC_ROUNDS, 1000).end == UINT64_MAX);
    metrics_observe_some(METRIC_ROUNDS, cells, third.least, 7, 31);
    metrics_observe(METRIC_ROUNDS, cells, 3);
    assert_line(METRICS_TEXT, "antiphon_response_rounds_bucket{le=\"3\"} ", "1");
    assert_line(METRICS_TEXT, "antiphon_response_rounds_bucket{le=\"5\"} ", "8");
    assert_line(METRICS_TEXT, "antiphon_response_rounds_sum ", "34");
}

static void two_hundred_tools_have_names_and_those_of_the_gateway(void **state)
{
    char name[16];

    (void)state;
    for (int i = 0; i <= METRIC_TOOLS_MAX; i++) {
        const bool is_last = i == METRIC_TOOLS_MAX;
        uint16_t id;

        (void)snprintf(name, sizeof(name), "t%d", i);
        id = metric_word(METRIC_DOMAIN_TOOL, str_from_c(name));
        assert_int_equal(id == METRIC_WORD_OTHER, is_last);
    }
    assert_str_c(
        metric_word_text(METRIC_DOMAIN_TOOL, metric_word(METRIC_DOMAIN_TOOL, STR("web_search"))),
        "web_search");
    assert_str_c(metric_word_text(METRIC_DOMAIN_TOOL,
                                  metric_word(METRIC_DOMAIN_TOOL, STR("code_interpreter"))),
                 "code_interpreter");
}

static void a_long_name_and_one_too_many_are_others(void **state)
{
    char name[300];

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(metric_model_learn(str_from(name, sizeof(name)), true, 0), METRIC_WORD_OTHER);
    for (int i = 0; i < 2 * METRIC_WORDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "server%d", i);
        (void)metric_word(METRIC_DOMAIN_SERVER, str_from_c(name));
    }
    assert_int_equal(metric_word(METRIC_DOMAIN_SERVER, STR("another")), METRIC_WORD_OTHER);
    assert_true(metric_word(METRIC_DOMAIN_SERVER, STR("server7")) > METRIC_WORD_OTHER);
    assert_str_c(metric_word_text(METRIC_DOMAIN_SERVER, METRIC_WORD_OTHER), "_other");
}

/* ---- Accept */

static void the_greater_weight_decides_the_format(void **state)
{
    static const struct {
        const char *accept;
        enum metrics_format format;
    } rows[] = {
        {"", METRICS_TEXT},
        {"*/*", METRICS_TEXT},
        {"text/html,*/*;q=0.8", METRICS_TEXT},
        {"application/openmetrics-text", METRICS_OPEN_METRICS},
        {"Application/OpenMetrics-Text; version=1.0.0", METRICS_OPEN_METRICS},
        {"application/openmetrics-text;q=0", METRICS_TEXT},
        {"application/openmetrics-text;q=0.5,text/plain;q=0.5", METRICS_OPEN_METRICS},
        {"application/openmetrics-text;q=0.5,text/plain;q=0.500", METRICS_OPEN_METRICS},
        {"application/openmetrics-text;q=0.5,text/plain;q=0.501", METRICS_TEXT},
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         METRICS_OPEN_METRICS},
        {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;q=0.7",
         METRICS_TEXT},
        {"application/openmetrics-text;q=1.5", METRICS_TEXT},
        {"application/openmetrics-text;q=", METRICS_TEXT},
        {", ,;,application/openmetrics-text ; Q = 1 ", METRICS_OPEN_METRICS},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(metrics_accept(str_from_c(rows[i].accept)), rows[i].format);
    assert_int_equal(metrics_accept(STR_NONE), METRICS_TEXT);
    assert_true(
        str_starts_with(metrics_format_type(METRICS_TEXT), STR("text/plain; version=0.0.4;")));
    assert_true(str_starts_with(metrics_format_type(METRICS_OPEN_METRICS),
                                STR("application/openmetrics-text; version=1.0.0;")));
}

static void gzip_is_sent_to_those_who_take_it(void **state)
{
    (void)state;
    assert_true(metrics_accept_gzip(STR("gzip")));
    assert_true(metrics_accept_gzip(STR("deflate, GZIP;q=0.1")));
    assert_true(metrics_accept_gzip(STR("*")));
    assert_false(metrics_accept_gzip(STR("gzip;q=0, *")));
    assert_false(metrics_accept_gzip(STR("identity")));
    assert_false(metrics_accept_gzip(STR_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_opening_nothing_is_counted),
#define WITH_METRICS(test) cmocka_unit_test_setup_teardown(test, open_metrics, fini_page)
        WITH_METRICS(every_family_is_there_from_the_start),
        WITH_METRICS(names_are_in_order_and_in_units),
        WITH_METRICS(words_have_the_index_of_their_labels),
        WITH_METRICS(a_series_has_one_place_for_its_labels),
        WITH_METRICS(labels_are_told_in_order_and_empty_ones_not_at_all),
        WITH_METRICS(values_of_labels_are_escaped),
        WITH_METRICS(without_memory_nothing_is_counted_and_later_it_is),
        WITH_METRICS(threads_are_added_up_while_they_count),
        WITH_METRICS(a_source_is_asked_at_every_page),
        WITH_METRICS(open_metrics_has_units_and_an_end),
        WITH_METRICS(a_bucket_shows_the_trace_it_saw_last),
        WITH_METRICS(a_model_is_told_when_it_was_learnt),
        WITH_METRICS(models_give_their_place_back_after_a_day),
        WITH_METRICS(many_values_of_a_bucket_are_counted_at_once),
        WITH_METRICS(two_hundred_tools_have_names_and_those_of_the_gateway),
        WITH_METRICS(a_long_name_and_one_too_many_are_others),
        cmocka_unit_test(the_greater_weight_decides_the_format),
        cmocka_unit_test(gzip_is_sent_to_those_who_take_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
