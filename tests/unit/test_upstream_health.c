/* test_upstream_health.c -- the states of an upstream (OPERATIONS 4.6), by a clock made of numbers. */
#include "lib/test.h"
#include "lib/test_seed.h"

#include "upstream/upstream_health.h"

static const struct upstream_health_conf conf = {
    .eject_after = 3, .eject_time_ms = 10000, .loading_wait_ms = 60000};

enum { MIDDLE = 0x7FFFFFFF }; /* the chance that leaves a time as it is */

static struct upstream_health_moment at(uint64_t now_ms)
{
    return (struct upstream_health_moment){.now_ms = now_ms, .chance = MIDDLE};
}

/* ---- one step of a story; returns the reason of the news, or STR_NONE */

static struct upstream_health_news news;

static str end_probe(struct upstream_health_record *h, uint32_t probe, enum upstream_outcome o,
                     uint64_t now_ms)
{
    const struct upstream_health_moment m = at(now_ms);

    return upstream_health_end(h, &conf, probe, o, &m, &news) ? news.reason : STR_NONE;
}

static str end(struct upstream_health_record *h, enum upstream_outcome o, uint64_t now_ms)
{
    return end_probe(h, 0, o, now_ms);
}

static str try_once(struct upstream_health_record *h, enum upstream_outcome o, uint64_t now_ms)
{
    return end_probe(h, upstream_health_begin(h), o, now_ms);
}

static str check(struct upstream_health_record *h, enum upstream_check c, uint64_t now_ms)
{
    const struct upstream_health_moment m = at(now_ms);

    return upstream_health_check(h, &conf, c, &m, &news) ? news.reason : STR_NONE;
}

static void assert_use(const struct upstream_health_record *h, uint64_t now_ms,
                       enum upstream_use use)
{
    assert_int_equal(upstream_health_use(h, &conf, now_ms), use);
}

static void assert_state(const struct upstream_health_record *h, enum upstream_health_state state)
{
    assert_str_eq(upstream_health_word(h->state), upstream_health_word(state));
}

#define assert_quiet(reason) assert_true(str_is_none(reason))

/* ---- up, ejected, half_open */

static struct upstream_health_record ejected_at(uint64_t now_ms)
{
    struct upstream_health_record h = {.n_moves = 0};

    assert_quiet(end(&h, UPSTREAM_OUTCOME_CONNECT, now_ms));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_502, now_ms));
    assert_str_c(end(&h, UPSTREAM_OUTCOME_RESET, now_ms), "reset");
    return h;
}

static struct upstream_health_record half_open_at(uint64_t now_ms)
{
    struct upstream_health_record h = ejected_at(now_ms - 10000);

    assert_true(upstream_health_advance(&h, now_ms, &news));
    return h;
}

static void an_upstream_is_up_at_the_start(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    assert_state(&h, UPSTREAM_STATE_UP);
    assert_use(&h, 0, UPSTREAM_USE_FREELY);
    assert_int_equal(upstream_health_begin(&h), 0);
    assert_true(upstream_health_next_ms(&h, &conf, 0) == UINT64_MAX);
}

static void three_counted_failures_in_a_row_eject_and_its_caches_are_forgotten(void **state)
{
    struct upstream_health_record h = ejected_at(5);

    (void)state;
    assert_state(&h, UPSTREAM_STATE_EJECTED);
    assert_int_equal(news.from, UPSTREAM_STATE_UP);
    assert_int_equal(news.to, UPSTREAM_STATE_EJECTED);
    assert_int_equal(news.ejection, METRIC_EJECTION_RESET);
    assert_true(news.forgets);
    assert_use(&h, 5, UPSTREAM_USE_NOT);
}

static void a_success_begins_the_row_anew_and_what_does_not_count_does_nothing(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        assert_quiet(end(&h, UPSTREAM_OUTCOME_CONNECT, i));
        assert_quiet(end(&h, UPSTREAM_OUTCOME_CONNECT, i));
        assert_quiet(end(&h, UPSTREAM_OUTCOME_OK, i));
    }
    for (enum upstream_outcome o = 0; o < UPSTREAM_OUTCOMES; o++) {
        const bool counts = upstream_outcome_row(o)->failure != METRIC_EJECTION_UNCOUNTED;

        for (unsigned i = 0; i < 10 && !counts && o != UPSTREAM_OUTCOME_LOADING; i++)
            assert_quiet(end(&h, o, i));
    }
    assert_quiet(end(&h, UPSTREAM_OUTCOME_IDLE, 20));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_4XX, 20));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_IDLE, 20));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_CLIENT_GONE, 20));
    assert_str_c(end(&h, UPSTREAM_OUTCOME_IDLE, 20), "timeout");
}

static void good_checks_do_not_hide_that_traffic_fails(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    assert_quiet(end(&h, UPSTREAM_OUTCOME_504, 0));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 1));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_504, 2));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 3));
    assert_str_c(end(&h, UPSTREAM_OUTCOME_504, 4), "http_5xx");
}

static void the_last_candidate_is_never_ejected(void **state)
{
    struct upstream_health_record h = {.n_moves = 0}, half = half_open_at(10000);
    struct upstream_health_moment m = at(0);

    (void)state;
    m.is_last = true;
    for (unsigned i = 0; i < 20; i++)
        assert_false(upstream_health_end(&h, &conf, 0, UPSTREAM_OUTCOME_CONNECT, &m, &news));
    assert_use(&h, 0, UPSTREAM_USE_FREELY);
    assert_str_c(end(&h, UPSTREAM_OUTCOME_CONNECT, 1), "connect"); /* another one is there again */

    assert_false(upstream_health_end(&half, &conf, upstream_health_begin(&half),
                                     UPSTREAM_OUTCOME_CONNECT, &m, &news));
    assert_use(&half, 10000, UPSTREAM_USE_PROBE);
}

static void with_eject_after_0_none_is_ejected(void **state)
{
    const struct upstream_health_conf never = {.eject_time_ms = 10000};
    struct upstream_health_record h = {.n_moves = 0};
    const struct upstream_health_moment m = at(0);

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        assert_false(upstream_health_end(&h, &never, 0, UPSTREAM_OUTCOME_CONNECT, &m, &news));
}

static void an_ejection_ends_by_time_alone(void **state)
{
    struct upstream_health_record h = ejected_at(1000);
    const uint64_t until_ms = upstream_health_next_ms(&h, &conf, 1000);

    (void)state;
    assert_in_range(until_ms, 10999, 11001);
    assert_quiet(end(&h, UPSTREAM_OUTCOME_OK, 2000)); /* it began before */
    assert_quiet(end(&h, UPSTREAM_OUTCOME_CONNECT, 2000));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 2000));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 2000));
    assert_int_equal(upstream_health_next_ms(&h, &conf, 2000), until_ms);
    assert_false(upstream_health_advance(&h, until_ms - 1, &news));
    assert_true(upstream_health_advance(&h, until_ms, &news));
    assert_str_c(news.reason, "time");
    assert_state(&h, UPSTREAM_STATE_HALF_OPEN);
    assert_true(upstream_health_next_ms(&h, &conf, until_ms) == UINT64_MAX);
}

static void half_open_takes_one_attempt_at_a_time(void **state)
{
    struct upstream_health_record h = half_open_at(10000);
    uint32_t probe;

    (void)state;
    assert_use(&h, 10000, UPSTREAM_USE_PROBE);
    probe = upstream_health_begin(&h);
    assert_int_not_equal(probe, 0);
    assert_use(&h, 10000, UPSTREAM_USE_NOT);
    assert_int_equal(upstream_health_begin(&h), 0);
    assert_quiet(end_probe(&h, probe, UPSTREAM_OUTCOME_CLIENT_GONE, 10001)); /* says nothing */
    assert_use(&h, 10001, UPSTREAM_USE_PROBE);
}

static void two_successes_of_either_kind_close_half_open_and_one_check_does_not(void **state)
{
    struct upstream_health_record traffic = half_open_at(10000), checks = half_open_at(10000),
                                  both = half_open_at(10000);

    (void)state;
    assert_quiet(try_once(&traffic, UPSTREAM_OUTCOME_OK, 10001));
    assert_str_c(try_once(&traffic, UPSTREAM_OUTCOME_OK, 10002), "success");
    assert_state(&traffic, UPSTREAM_STATE_UP);

    assert_quiet(check(&checks, UPSTREAM_CHECK_OK, 10001));
    assert_state(&checks, UPSTREAM_STATE_HALF_OPEN);
    assert_str_c(check(&checks, UPSTREAM_CHECK_OK, 10002), "success");

    assert_quiet(check(&both, UPSTREAM_CHECK_OK, 10001));
    assert_str_c(try_once(&both, UPSTREAM_OUTCOME_OK, 10002), "success");
}

static void one_failure_of_half_open_ejects_again(void **state)
{
    struct upstream_health_record h = half_open_at(10000), by_check = half_open_at(10000);

    (void)state;
    assert_quiet(try_once(&h, UPSTREAM_OUTCOME_OK, 10001));
    assert_str_c(try_once(&h, UPSTREAM_OUTCOME_TLS, 10002), "tls");
    assert_true(news.forgets);
    assert_int_equal(news.ejection, METRIC_EJECTION_TLS);
    assert_in_range(upstream_health_next_ms(&h, &conf, 10002), 30001, 30003);
    assert_str_c(check(&by_check, UPSTREAM_CHECK_FAIL, 10001), "check");
    assert_int_equal(news.ejection, METRIC_EJECTION_CHECK);
}

static void an_attempt_of_before_is_no_probe(void **state)
{
    struct upstream_health_record h = half_open_at(10000);
    const uint32_t probe = upstream_health_begin(&h);

    (void)state;
    assert_str_c(check(&h, UPSTREAM_CHECK_FAIL, 10001), "check");
    assert_true(upstream_health_advance(&h, 50000, &news));
    assert_int_not_equal(upstream_health_begin(&h), 0);
    assert_quiet(end_probe(&h, probe, UPSTREAM_OUTCOME_CONNECT, 50001));
    assert_quiet(end_probe(&h, probe, UPSTREAM_OUTCOME_OK, 50001));
    assert_quiet(end(&h, UPSTREAM_OUTCOME_CONNECT, 50001));
    assert_use(&h, 50001, UPSTREAM_USE_NOT); /* the probe of now is still under way */
}

static void ejections_in_a_row_double_up_to_five_minutes_and_begin_anew_when_up(void **state)
{
    static const uint64_t seconds[] = {10, 20, 40, 80, 160, 300, 300, 300};
    struct upstream_health_record h = ejected_at(0);
    uint64_t now_ms = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        const uint64_t until_ms = upstream_health_next_ms(&h, &conf, now_ms);

        assert_in_range(until_ms - now_ms, 1000 * seconds[i] - 1, 1000 * seconds[i] + 1);
        now_ms = until_ms;
        assert_true(upstream_health_advance(&h, now_ms, &news));
        assert_str_c(try_once(&h, UPSTREAM_OUTCOME_CONNECT, now_ms), "connect");
    }
    assert_true(upstream_health_advance(&h, now_ms + 400000, &news));
    (void)try_once(&h, UPSTREAM_OUTCOME_OK, now_ms);
    assert_str_c(try_once(&h, UPSTREAM_OUTCOME_OK, now_ms), "success");
    for (unsigned i = 0; i < 3; i++)
        (void)end(&h, UPSTREAM_OUTCOME_CONNECT, now_ms);
    assert_in_range(upstream_health_next_ms(&h, &conf, now_ms) - now_ms, 9999, 10001);
}

static void chance_moves_an_ejection_by_a_tenth_at_most(void **state)
{
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    for (uint64_t chance = 0; chance <= UINT32_MAX; chance += UINT32_MAX / 5000) {
        struct upstream_health_record h = {.n_failures = 2};
        const struct upstream_health_moment m = {.chance = (uint32_t)chance};

        assert_true(upstream_health_end(&h, &conf, 0, UPSTREAM_OUTCOME_DNS, &m, &news));
        least = h.until_ms < least ? h.until_ms : least;
        most = h.until_ms > most ? h.until_ms : most;
    }
    assert_int_equal(least, 9000);
    assert_int_equal(most, 11000);
}

/* ---- down */

static void three_bad_checks_in_a_row_are_down_and_two_good_ones_up(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 0));
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 1));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 2));
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 3));
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 4));
    assert_str_c(check(&h, UPSTREAM_CHECK_FAIL, 5), "checks");
    assert_state(&h, UPSTREAM_STATE_DOWN);
    assert_int_equal(news.ejection, METRIC_EJECTION_UNCOUNTED);
    assert_use(&h, 1000000, UPSTREAM_USE_NOT); /* it is checked, not tried */
    assert_quiet(end(&h, UPSTREAM_OUTCOME_OK, 6));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 7));
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 8));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 9));
    assert_str_c(check(&h, UPSTREAM_CHECK_OK, 10), "checks");
    assert_state(&h, UPSTREAM_STATE_UP);
}

static void bad_checks_make_down_of_any_state_but_drained(void **state)
{
    struct upstream_health_record ejected = ejected_at(0), loading = {.n_moves = 0};

    (void)state;
    (void)end(&loading, UPSTREAM_OUTCOME_LOADING, 0);
    for (unsigned i = 0; i < 3; i++) {
        (void)check(&ejected, UPSTREAM_CHECK_FAIL, i);
        (void)check(&loading, UPSTREAM_CHECK_FAIL, i);
    }
    assert_state(&ejected, UPSTREAM_STATE_DOWN);
    assert_state(&loading, UPSTREAM_STATE_DOWN);
    assert_false(upstream_health_advance(&ejected, 100000, &news));
}

static void a_restart_that_checks_see_is_forgotten_once(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, 0));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 1)); /* slow is not gone */
    assert_quiet(check(&h, UPSTREAM_CHECK_REFUSED, 2));
    assert_str_c(check(&h, UPSTREAM_CHECK_OK, 3), "restart");
    assert_true(news.forgets && news.from == news.to);
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 4));

    for (unsigned i = 0; i < 3; i++)
        (void)check(&h, UPSTREAM_CHECK_REFUSED, 5);
    assert_state(&h, UPSTREAM_STATE_DOWN);
    assert_str_c(check(&h, UPSTREAM_CHECK_LOADING, 6), "loading");
    assert_false(news.forgets);
    assert_str_c(check(&h, UPSTREAM_CHECK_OK, 7), "success");
    assert_true(news.forgets);
    assert_int_equal(news.to, UPSTREAM_STATE_UP);
}

/* ---- loading */

static void loading_is_no_failure_and_the_first_success_ends_it(void **state)
{
    struct upstream_health_record by_traffic = {.n_failures = 2}, by_check = {.n_bad_checks = 2};

    (void)state;
    assert_str_c(end(&by_traffic, UPSTREAM_OUTCOME_LOADING, 0), "loading");
    for (unsigned i = 0; i < 10; i++)
        assert_quiet(try_once(&by_traffic, UPSTREAM_OUTCOME_LOADING, 1000 * i));
    assert_state(&by_traffic, UPSTREAM_STATE_LOADING);
    assert_str_c(try_once(&by_traffic, UPSTREAM_OUTCOME_OK, 10000), "success");
    assert_state(&by_traffic, UPSTREAM_STATE_UP);

    assert_str_c(check(&by_check, UPSTREAM_CHECK_LOADING, 0), "loading");
    assert_quiet(check(&by_check, UPSTREAM_CHECK_FAIL, 0));
    assert_str_c(check(&by_check, UPSTREAM_CHECK_OK, 1), "success");
}

static void a_loading_upstream_is_asked_by_one_a_second(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};
    uint32_t probe;

    (void)state;
    (void)end(&h, UPSTREAM_OUTCOME_LOADING, 5000);
    assert_use(&h, 5999, UPSTREAM_USE_NOT);
    assert_int_equal(upstream_health_next_ms(&h, &conf, 5000), 6000);
    assert_use(&h, 6000, UPSTREAM_USE_ASK);
    assert_int_equal(upstream_health_next_ms(&h, &conf, 6000), 65000);
    probe = upstream_health_begin(&h);
    assert_use(&h, 6000, UPSTREAM_USE_NOT);
    assert_int_equal(upstream_health_next_ms(&h, &conf, 6000), 65000);
    assert_quiet(end_probe(&h, probe, UPSTREAM_OUTCOME_LOADING, 6100));
    assert_use(&h, 7099, UPSTREAM_USE_NOT);
    assert_use(&h, 7100, UPSTREAM_USE_ASK);
    assert_quiet(check(&h, UPSTREAM_CHECK_LOADING, 7100)); /* has asked as well */
    assert_use(&h, 7100, UPSTREAM_USE_NOT);
}

static void after_loading_wait_nobody_waits_for_it(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    (void)end(&h, UPSTREAM_OUTCOME_LOADING, 0);
    (void)end(&h, UPSTREAM_OUTCOME_LOADING, 59500);
    assert_use(&h, 59999, UPSTREAM_USE_NOT);
    assert_int_equal(upstream_health_next_ms(&h, &conf, 59999), 60000);
    assert_use(&h, 60000, UPSTREAM_USE_ASK);
    (void)upstream_health_begin(&h);
    assert_use(&h, 60000, UPSTREAM_USE_ASK);
    assert_true(upstream_health_next_ms(&h, &conf, 60000) == UINT64_MAX);
    assert_state(&h, UPSTREAM_STATE_LOADING);
}

static void one_that_loads_and_fails_is_ejected(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    (void)end(&h, UPSTREAM_OUTCOME_LOADING, 0);
    assert_quiet(try_once(&h, UPSTREAM_OUTCOME_CONNECT, 1000));
    assert_quiet(try_once(&h, UPSTREAM_OUTCOME_CONNECT, 2000));
    assert_str_c(try_once(&h, UPSTREAM_OUTCOME_CONNECT, 3000), "connect");
}

/* ---- drained */

static void a_drained_upstream_hears_nothing_until_it_is_resumed(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    assert_true(upstream_health_drain(&h, 0, &news));
    assert_str_c(news.reason, "drain");
    assert_false(upstream_health_drain(&h, 1, &news));
    for (enum upstream_outcome o = 0; o < UPSTREAM_OUTCOMES; o++) {
        for (unsigned i = 0; i < 5; i++)
            assert_quiet(end(&h, o, 2));
    }
    assert_quiet(check(&h, UPSTREAM_CHECK_LOADING, 3));
    assert_quiet(check(&h, UPSTREAM_CHECK_OK, 3));
    assert_use(&h, 1000000, UPSTREAM_USE_NOT);
    assert_false(upstream_health_advance(&h, 1000000, &news));
    assert_true(upstream_health_resume(&h, 1000000, &news));
    assert_str_c(news.reason, "resume");
    assert_state(&h, UPSTREAM_STATE_UP);
    assert_false(upstream_health_resume(&h, 1000000, &news));
}

static void one_that_went_down_while_it_was_drained_is_resumed_as_down(void **state)
{
    struct upstream_health_record h = {.n_moves = 0};

    (void)state;
    (void)upstream_health_drain(&h, 0, &news);
    for (unsigned i = 0; i < 4; i++)
        assert_quiet(check(&h, UPSTREAM_CHECK_FAIL, i));
    assert_true(upstream_health_resume(&h, 5, &news));
    assert_state(&h, UPSTREAM_STATE_DOWN);
    (void)check(&h, UPSTREAM_CHECK_OK, 6);
    assert_str_c(check(&h, UPSTREAM_CHECK_OK, 7), "checks");
}

/* ---- by chance, against the table of states in the words of the clause */

/* May a move be from one state to another, for this reason? */
static bool is_in_table(const struct upstream_health_news *n)
{
    static const struct {
        enum upstream_health_state from, to;
        const char *reason; /* NULL: that of an ejection */
    } moves[] = {
        {UPSTREAM_STATE_UP, UPSTREAM_STATE_EJECTED, NULL},
        {UPSTREAM_STATE_LOADING, UPSTREAM_STATE_EJECTED, NULL},
        {UPSTREAM_STATE_HALF_OPEN, UPSTREAM_STATE_EJECTED, NULL},
        {UPSTREAM_STATE_EJECTED, UPSTREAM_STATE_HALF_OPEN, "time"},
        {UPSTREAM_STATE_HALF_OPEN, UPSTREAM_STATE_UP, "success"},
        {UPSTREAM_STATE_LOADING, UPSTREAM_STATE_UP, "success"},
        {UPSTREAM_STATE_DOWN, UPSTREAM_STATE_UP, "checks"},
        {UPSTREAM_STATE_UP, UPSTREAM_STATE_DOWN, "checks"},
        {UPSTREAM_STATE_LOADING, UPSTREAM_STATE_DOWN, "checks"},
        {UPSTREAM_STATE_EJECTED, UPSTREAM_STATE_DOWN, "checks"},
        {UPSTREAM_STATE_HALF_OPEN, UPSTREAM_STATE_DOWN, "checks"},
        {UPSTREAM_STATE_UP, UPSTREAM_STATE_LOADING, "loading"},
        {UPSTREAM_STATE_EJECTED, UPSTREAM_STATE_LOADING, "loading"},
        {UPSTREAM_STATE_DOWN, UPSTREAM_STATE_LOADING, "loading"},
        {UPSTREAM_STATE_HALF_OPEN, UPSTREAM_STATE_LOADING, "loading"},
        {UPSTREAM_STATE_DRAINED, UPSTREAM_STATE_UP, "resume"},
        {UPSTREAM_STATE_DRAINED, UPSTREAM_STATE_DOWN, "resume"},
    };

    if (n->from == n->to)
        return n->forgets && str_eq(n->reason, STR("restart"));
    if (n->to == UPSTREAM_STATE_DRAINED)
        return str_eq(n->reason, STR("drain"));
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        if (moves[i].from == n->from && moves[i].to == n->to)
            return moves[i].reason == NULL ? n->ejection != METRIC_EJECTION_UNCOUNTED
                                           : str_eq(n->reason, str_from_c(moves[i].reason));
    }
    return false;
}

/* A second opinion of the rows that are counted, kept from all that was heard. */
struct naive {
    unsigned bad_checks, good_checks, failures, successes;
};

struct player {
    struct upstream_health_record h;
    struct naive seen;
    uint32_t probes[4]; /* attempts under way; 0: no probe */
    uint64_t now_ms;
};

static bool play_check(struct player *p, const struct upstream_health_moment *m)
{
    const enum upstream_check c = (enum upstream_check)(rand() % 4);

    p->seen.good_checks = c == UPSTREAM_CHECK_OK ? p->seen.good_checks + 1 : 0;
    p->seen.bad_checks =
        c == UPSTREAM_CHECK_FAIL || c == UPSTREAM_CHECK_REFUSED ? p->seen.bad_checks + 1 : 0;
    p->seen.successes += c == UPSTREAM_CHECK_OK;
    return upstream_health_check(&p->h, &conf, c, m, &news);
}

static bool play_attempt(struct player *p, const struct upstream_health_moment *m)
{
    uint32_t *probe = &p->probes[rand() % 4];
    const uint32_t ended = *probe;
    const enum upstream_outcome o = (enum upstream_outcome)(
        rand() % 2 == 0 ? (int)UPSTREAM_OUTCOME_OK : rand() % UPSTREAM_OUTCOMES);

    if (o == UPSTREAM_OUTCOME_LOADING)
        p->seen.bad_checks = p->seen.good_checks = 0;
    if (upstream_outcome_row(o)->failure != METRIC_EJECTION_UNCOUNTED)
        p->seen.failures++;
    if (o == UPSTREAM_OUTCOME_OK) {
        p->seen.failures = 0;
        p->seen.successes++;
    }
    *probe = upstream_health_use(&p->h, &conf, m->now_ms) == UPSTREAM_USE_NOT
                 ? 0
                 : upstream_health_begin(&p->h);
    return upstream_health_end(&p->h, &conf, ended, o, m, &news);
}

static bool play(struct player *p, const struct upstream_health_moment *m)
{
    switch (rand() % 16) {
    case 0:
        return rand() % 4 == 0 && upstream_health_drain(&p->h, m->now_ms, &news);
    case 1:
        return upstream_health_resume(&p->h, m->now_ms, &news);
    case 2:
    case 3:
    case 4:
        return upstream_health_advance(&p->h, m->now_ms, &news);
    case 5:
    case 6:
    case 7:
    case 8:
        return play_check(p, m);
    default:
        return play_attempt(p, m);
    }
}

static void judge_move(const struct player *p, const struct upstream_health_moment *m)
{
    assert_true(is_in_table(&news));
    assert_int_equal(news.to, p->h.state);
    if (news.from == news.to)
        return;
    if (news.to == UPSTREAM_STATE_EJECTED)
        assert_true(!m->is_last && news.forgets);
    if (news.to == UPSTREAM_STATE_EJECTED && news.from == UPSTREAM_STATE_UP)
        assert_true(p->seen.failures >= conf.eject_after);
    if (news.to == UPSTREAM_STATE_DOWN)
        assert_true(p->seen.bad_checks >= 3);
    if (news.from == UPSTREAM_STATE_DOWN && news.to == UPSTREAM_STATE_UP)
        assert_true(p->seen.good_checks >= 2);
    if (news.from == UPSTREAM_STATE_HALF_OPEN && news.to == UPSTREAM_STATE_UP)
        assert_true(p->seen.successes >= 2);
}

static void judge_state(const struct player *p)
{
    assert_true(p->seen.bad_checks < 3 || p->h.state == UPSTREAM_STATE_DOWN ||
                p->h.state == UPSTREAM_STATE_DRAINED);
    if (p->h.state == UPSTREAM_STATE_EJECTED)
        assert_true(p->h.until_ms - p->h.since_ms <= 330000);
}

static void whatever_is_heard_moves_it_as_the_table_says(void **state)
{
    unsigned n_moves[UPSTREAM_STATE_DRAINED + 1] = {0};

    (void)state;
    srand(test_seed());
    for (unsigned story = 0; story < 500; story++) {
        struct player p = {.now_ms = (uint64_t)rand()};

        for (unsigned step = 0; step < 400; step++) {
            const struct upstream_health_moment m = {
                .now_ms = p.now_ms, .is_last = rand() % 8 == 0, .chance = (uint32_t)rand() << 1};
            const enum upstream_health_state before = p.h.state;

            if (play(&p, &m))
                judge_move(&p, &m);
            else
                assert_int_equal(p.h.state, before);
            if (p.h.state != before) {
                n_moves[p.h.state]++;
                p.seen.failures = p.seen.successes = 0;
            }
            judge_state(&p);
            p.now_ms += (uint64_t)rand() % 5000;
        }
    }
    for (size_t i = 0; i < COUNT_OF(n_moves); i++)
        assert_true(n_moves[i] > 100); /* all of it was played */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upstream_is_up_at_the_start),
        cmocka_unit_test(three_counted_failures_in_a_row_eject_and_its_caches_are_forgotten),
        cmocka_unit_test(a_success_begins_the_row_anew_and_what_does_not_count_does_nothing),
        cmocka_unit_test(good_checks_do_not_hide_that_traffic_fails),
        cmocka_unit_test(the_last_candidate_is_never_ejected),
        cmocka_unit_test(with_eject_after_0_none_is_ejected),
        cmocka_unit_test(an_ejection_ends_by_time_alone),
        cmocka_unit_test(half_open_takes_one_attempt_at_a_time),
        cmocka_unit_test(two_successes_of_either_kind_close_half_open_and_one_check_does_not),
        cmocka_unit_test(one_failure_of_half_open_ejects_again),
        cmocka_unit_test(an_attempt_of_before_is_no_probe),
        cmocka_unit_test(ejections_in_a_row_double_up_to_five_minutes_and_begin_anew_when_up),
        cmocka_unit_test(chance_moves_an_ejection_by_a_tenth_at_most),
        cmocka_unit_test(three_bad_checks_in_a_row_are_down_and_two_good_ones_up),
        cmocka_unit_test(bad_checks_make_down_of_any_state_but_drained),
        cmocka_unit_test(a_restart_that_checks_see_is_forgotten_once),
        cmocka_unit_test(loading_is_no_failure_and_the_first_success_ends_it),
        cmocka_unit_test(a_loading_upstream_is_asked_by_one_a_second),
        cmocka_unit_test(after_loading_wait_nobody_waits_for_it),
        cmocka_unit_test(one_that_loads_and_fails_is_ejected),
        cmocka_unit_test(a_drained_upstream_hears_nothing_until_it_is_resumed),
        cmocka_unit_test(one_that_went_down_while_it_was_drained_is_resumed_as_down),
        cmocka_unit_test(whatever_is_heard_moves_it_as_the_table_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
