/* test_upstream_pool.c -- places at upstreams, who waits for them, and what follows a failure (OPERATIONS 4.4 to
 * 4.7, 5.4). */
#include "upstream_pool_fixture.h"

/* No checks, and whole figures. */
#define FILE_OF(upstreams, policy)                                                                 \
    "{\"defaults\": {\"health\": \"off\"}, \"upstreams\": {" upstreams "},"                        \
    " \"policies\": {\"*\": {" policy "}}}"
#define SERVER(name, members)                                                                      \
    "\"" name "\": {\"url\": \"http://" name ":1\", \"models\": [\"m\"]" members "}"
#define TWO         SERVER("a", ", \"max_concurrency\": 1") ", " SERVER("b", ", \"max_concurrency\": 1")
#define ONE_PLACE   SERVER("a", ", \"max_concurrency\": 1")
#define SHORT_QUEUE "\"queue_limit\": 2, \"queue_owner\": 1, \"queue_timeout\": \"10s\""

/* ---- places */

static void a_place_is_counted_until_it_is_given_back(void **state)
{
    struct asker one, two;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ""), ""), NULL);
    gets(&one);
    gets(&two);
    assert_int_equal(view_of("a").in_flight, 2);
    done(&one);
    assert_int_equal(view_of("a").in_flight, 1);
    gone(&two);
    assert_int_equal(view_of("a").in_flight, 0);
    assert_int_equal(view_of("a").n_served, 2);
    close_rig();
}

static void an_end_that_is_told_twice_counts_once(void **state)
{
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ""), ""), NULL);
    gets(&one);
    (void)end_as(&one, UPSTREAM_OUTCOME_OK, 0);
    (void)end_as(&one, UPSTREAM_OUTCOME_OK, 0);
    leave(&one);
    assert_int_equal(view_of("a").in_flight, 0);
    gone(&one);
    close_rig();
}

static void the_single_upstream_has_places_without_end(void **state)
{
    struct asker askers[100];

    (void)state;
    open_rig(NULL, (const char *const[]){"--upstream", "http://h:1", NULL});
    for (size_t i = 0; i < COUNT_OF(askers); i++) {
        gets(&askers[i]);
        assert_int_equal(askers[i].ticket.choice, ROUTING_BY_ONLY);
    }
    assert_int_equal(view_of("default").in_flight, COUNT_OF(askers));
    for (size_t i = 0; i < COUNT_OF(askers); i++)
        done(&askers[i]);
    close_rig();
}

static void a_full_upstream_is_waited_for(void **state)
{
    struct asker one, two;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&one);
    waits(&two);
    pass(1000);
    still_waits(&two);
    assert_int_equal(n_waiting(), 1);
    done(&one);
    has_got(&two);
    assert_int_equal(n_waiting(), 0);
    done(&two);
    close_rig();
}

static void a_place_that_is_free_elsewhere_is_taken_before_one_is_waited_for(void **state)
{
    struct asker one, two, three;

    (void)state;
    open_rig(FILE_OF(TWO, ""), NULL);
    gets(&one);
    gets(&two);
    assert_false(str_eq(place_of(&one), place_of(&two)));
    waits(&three);
    done(&two);
    has_got(&three);
    done(&three);
    done(&one);
    close_rig();
}

static void owners_take_turns(void **state)
{
    struct asker now, first, second, other;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&now);
    waits(&first);
    waits(&second);
    (void)prepare(&other, "m", "another");
    assert_int_equal(ask(&other), UPSTREAM_TICKET_WAITING);
    done(&now);
    has_got(&first);
    done(&first);
    has_got(&other);
    still_waits(&second);
    done(&other);
    has_got(&second);
    done(&second);
    close_rig();
}

static void a_round_of_a_turn_that_runs_goes_first(void **state)
{
    struct asker now, fresh, later;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&now);
    waits(&fresh);
    prepare(&later, "m", "o")->is_later = true;
    assert_int_equal(ask(&later), UPSTREAM_TICKET_WAITING);
    done(&now);
    has_got(&later);
    done(&later);
    has_got(&fresh);
    done(&fresh);
    close_rig();
}

/* Two names of one upstream have a queue each. */
static void groups_that_share_an_upstream_take_turns(void **state)
{
    struct asker now, askers[2][3];
    unsigned served[2] = {0, 0};

    (void)state;
    open_rig("{\"upstreams\": {\"a\": {\"url\": \"http://a:1\", \"max_concurrency\": 1,"
             " \"models\": [\"m\", \"n\"]}}}",
             NULL);
    gets(&now);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 2; k++) {
            (void)prepare(&askers[k][i], k == 0 ? "m" : "n", "o");
            assert_int_equal(ask(&askers[k][i]), UPSTREAM_TICKET_WAITING);
        }
    }
    done(&now);
    for (size_t i = 0; i < 6; i++) {
        const size_t k = look(&askers[0][served[0]]) == UPSTREAM_TICKET_GRANTED ? 0 : 1;

        assert_in_range(served[k], 0, 2);
        has_got(&askers[k][served[k]]);
        done(&askers[k][served[k]++]);
        assert_in_range(served[0] + 1 - served[1], 0, 2); /* neither is ahead by two */
    }
    close_rig();
}

/* What one waits for, since its prompt is there, keeps nobody else from what is free. */
static void who_waits_for_one_upstream_does_not_hold_up_another(void **state)
{
    struct buf body = {.limit = 0};
    struct asker knows, full, waiter, other;

    (void)state;
    open_rig(FILE_OF(TWO, ""), NULL);
    buf_c(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (unsigned i = 0; i < 20000; i++)
        buf_char(&body, 'x');
    buf_c(&body, "\"}]}");
    prepare(&knows, "m", "o")->body = buf_str(&body);
    assert_int_equal(ask(&knows), UPSTREAM_TICKET_GRANTED);
    is_at(&knows, "a");
    prepare(&waiter, "m", "o")->body = buf_str(&body);
    assert_int_equal(ask(&waiter), UPSTREAM_TICKET_WAITING);
    gets(&other);
    is_at(&other, "b");
    still_waits(&waiter);
    waits(&full);
    done(&knows);
    has_got(&waiter);
    is_at(&waiter, "a");
    done(&waiter);
    has_got(&full);
    done(&full);
    done(&other);
    buf_fini(&body);
    close_rig();
}

static void a_prompt_is_not_waited_for_longer_than_affinity_wait(void **state)
{
    struct buf body = {.limit = 0};
    struct asker knows, waiter;

    (void)state;
    open_rig(FILE_OF(TWO, ""), (const char *const[]){"--affinity-wait", "2s", NULL});
    buf_c(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (unsigned i = 0; i < 20000; i++)
        buf_char(&body, 'x');
    buf_c(&body, "\"}]}");
    prepare(&knows, "m", "o")->body = buf_str(&body);
    assert_int_equal(ask(&knows), UPSTREAM_TICKET_GRANTED);
    prepare(&waiter, "m", "o")->body = buf_str(&body);
    assert_int_equal(ask(&waiter), UPSTREAM_TICKET_WAITING);
    pass(1900);
    still_waits(&waiter);
    pass(200);
    has_got(&waiter);
    assert_int_equal(waiter.ticket.choice, ROUTING_BY_OVERFLOW);
    is_at(&waiter, "b");
    done(&waiter);
    done(&knows);
    buf_fini(&body);
    close_rig();
}

/* ---- refusals */

static void an_owner_has_a_share_of_the_queue(void **state)
{
    struct asker now, first, second;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, SHORT_QUEUE), NULL);
    gets(&now);
    waits(&first);
    is_refused(&second, begin(&second), ERR_RATE_LIMIT,
               "Too many requests of yours are waiting. Please try again in 5s.");
    assert_int_equal(second.e.retry_after_s, 5);
    gone(&second);
    gone(&first);
    done(&now);
    close_rig();
}

static void a_queue_has_an_end(void **state)
{
    struct asker now, waiters[2], more;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, SHORT_QUEUE), NULL);
    gets(&now);
    for (size_t i = 0; i < 2; i++) {
        (void)prepare(&waiters[i], "m", i == 0 ? "one" : "two");
        assert_int_equal(ask(&waiters[i]), UPSTREAM_TICKET_WAITING);
    }
    (void)prepare(&more, "m", "three");
    is_refused(&more, ask(&more), ERR_OVERLOADED, "Please try again in 5s.");
    gone(&more);
    gone(&waiters[0]);
    gone(&waiters[1]);
    done(&now);
    close_rig();
}

static void nothing_waits_where_no_queue_is_wanted(void **state)
{
    struct asker now, more;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, "\"queue_limit\": 0"), NULL);
    gets(&now);
    is_refused(&more, begin(&more), ERR_OVERLOADED, "Please try again in");
    gone(&more);
    done(&now);
    close_rig();
}

static void what_waits_is_bounded_in_all(void **state)
{
    struct asker now, first, second;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), (const char *const[]){"--max-queue-memory", "1000", NULL});
    gets(&now);
    prepare(&first, "m", "o")->body_bytes = 600;
    assert_int_equal(ask(&first), UPSTREAM_TICKET_WAITING);
    prepare(&second, "m", "o")->body_bytes = 600;
    is_refused(&second, ask(&second), ERR_OVERLOADED, "max_queue_memory");
    gone(&first); /* and takes its bytes along */
    assert_int_equal(ask(&second), UPSTREAM_TICKET_WAITING);
    gone(&second);
    done(&now);
    close_rig();
}

static void a_wait_has_an_end(void **state)
{
    struct asker now, late;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, SHORT_QUEUE), NULL);
    gets(&now);
    waits(&late);
    pass(9900);
    still_waits(&late);
    pass(200);
    assert_int_equal(late.n_told, 1);
    is_refused(&late, look(&late), ERR_OVERLOADED, "queue_timeout");
    assert_int_equal(look(&late), UPSTREAM_TICKET_IDLE);
    assert_int_equal(ask(&late), UPSTREAM_TICKET_WAITING); /* it may ask again */
    gone(&late);
    done(&now);
    close_rig();
}

/* The time that is told is that of rounds before: 8 s each, of which one runs at a time. */
static void who_is_sent_away_is_told_when_to_come(void **state)
{
    struct asker now, first, second;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, SHORT_QUEUE), NULL);
    gets(&now);
    pass(8000);
    done(&now);
    gets(&now);
    waits(&first);
    is_refused(&second, begin(&second), ERR_RATE_LIMIT, "Please try again in 8s.");
    gone(&second);
    gone(&first);
    done(&now);
    close_rig();
}

static void nobody_waits_for_upstreams_that_are_all_drained(void **state)
{
    struct asker now, waiter, more;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&now);
    waits(&waiter);
    assert_true(upstream_pool_drain(rig.pool, STR("a")));
    pass(0);
    assert_int_equal(waiter.n_told, 1);
    is_refused(&waiter, look(&waiter), ERR_UPSTREAM_UNAVAILABLE, "No upstream server is available");
    is_refused(&more, begin(&more), ERR_UPSTREAM_UNAVAILABLE, "No upstream server is available");
    gone(&more);
    gone(&waiter);
    done(&now); /* what was under way goes on */
    close_rig();
}

/* ---- leaving */

static void whoever_leaves_gives_back_what_it_has(void **state)
{
    struct asker now, waiter, unseen, late;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, SHORT_QUEUE), NULL);
    gets(&now);
    waits(&waiter);
    gone(&waiter); /* from the queue */
    assert_int_equal(waiter.n_told, 0);
    waits(&unseen);
    leave(&now);    /* a place */
    leave(&now);    /* which it has no more */
    leave(&unseen); /* granted, while the message is under way */
    gone(&unseen);
    assert_int_equal(unseen.n_told, 1);
    gone(&now);
    assert_rest();
    gets(&now);
    waits(&late);
    pass(10100);
    gone(&late); /* refused, which it has not seen */
    assert_int_equal(late.n_told, 1);
    gone(&now);
    close_rig();
}

static void a_ticket_that_left_unseen_hears_nothing_of_before(void **state)
{
    struct asker now, waiter;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&now);
    waits(&waiter);
    done(&now);
    leave(&waiter); /* granted, and not looked at */
    gets(&now);
    assert_int_equal(ask(&waiter), UPSTREAM_TICKET_WAITING);
    assert_false(waiter.ticket.has_news);
    pass(0); /* the message of before */
    waiter.n_told = 0;
    still_waits(&waiter);
    done(&now);
    has_got(&waiter);
    done(&waiter);
    close_rig();
}

/* ---- after a failure */

static void a_connection_that_fails_is_tried_elsewhere_at_once(void **state)
{
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", "") ", " SERVER("b", ""), ""), NULL);
    gets(&one);
    is_at(&one, "a");
    assert_int_equal(end_as(&one, UPSTREAM_OUTCOME_CONNECT, 0).next, UPSTREAM_NEXT_OTHER);
    assert_int_equal(view_of("a").in_flight, 0);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    is_at(&one, "b");
    assert_int_equal(one.ticket.choice, ROUTING_BY_FAILOVER);
    done(&one);
    gets(&one); /* what the next round has tried is nothing */
    done(&one);
    close_rig();
}

static void one_upstream_is_asked_again_after_a_wait(void **state)
{
    struct asker one;
    struct upstream_plan plan;

    (void)state;
    open_rig(NULL,
             (const char *const[]){"--upstream", "http://h:1", "--retry-attempts", "2", NULL});
    gets(&one);
    plan = end_as(&one, UPSTREAM_OUTCOME_503, 3);
    assert_int_equal(plan.next, UPSTREAM_NEXT_SAME);
    assert_int_equal(plan.wait_ms, 3000);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_WAITING);
    pass(2900);
    still_waits(&one);
    pass(200);
    has_got(&one);
    plan = end_as(&one, UPSTREAM_OUTCOME_503, 5);
    assert_int_equal(plan.next, UPSTREAM_NEXT_GIVE_UP);
    assert_int_equal(plan.denied, METRIC_DENIAL_ATTEMPTS);
    assert_int_equal(one.ticket.retry_after_s, 3); /* the least that was said */
    gone(&one);
    close_rig();
}

/* A retry that comes back into a queue is in time for its end: no other clock would wake it. */
static void a_retry_that_finds_no_place_waits_no_longer_than_others(void **state)
{
    struct asker one, other;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, "\"queue_timeout\": \"10s\""),
             (const char *const[]){"--retry-attempts", "3", NULL});
    gets(&one);
    assert_int_equal(end_as(&one, UPSTREAM_OUTCOME_503, 2).next, UPSTREAM_NEXT_SAME);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_WAITING);
    gets(&other);
    pass(11900);
    still_waits(&one);
    pass(200);
    assert_int_equal(one.n_told, 1);
    is_refused(&one, look(&one), ERR_OVERLOADED, "queue_timeout");
    gone(&one);
    done(&other);
    close_rig();
}

static void whoever_leaves_between_attempts_leaves_nothing(void **state)
{
    struct asker one;

    (void)state;
    open_rig(NULL,
             (const char *const[]){"--upstream", "http://h:1", "--retry-attempts", "2", NULL});
    gets(&one);
    (void)end_as(&one, UPSTREAM_OUTCOME_503, 3);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_WAITING);
    leave(&one);
    assert_rest();
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED); /* a new round, which waits for nothing */
    assert_int_equal(end_as(&one, UPSTREAM_OUTCOME_503, 3).next, UPSTREAM_NEXT_SAME);
    gone(&one);
    close_rig();
}

static void what_is_final_is_not_asked_again(void **state)
{
    const struct upstream_end end = {.outcome = UPSTREAM_OUTCOME_CONNECT, .is_final = true};
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", "") ", " SERVER("b", ""), ""), NULL);
    gets(&one);
    assert_int_equal(upstream_pool_end(rig.pool, &one.ticket, &end, &one.arena).next,
                     UPSTREAM_NEXT_GIVE_UP);
    gone(&one);
    close_rig();
}

static void what_was_shown_or_whose_client_left_is_not_asked_again(void **state)
{
    struct upstream_end end = {.outcome = UPSTREAM_OUTCOME_CONNECT, .is_shown = true};
    struct upstream_plan plan;
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", "") ", " SERVER("b", ""), ""), NULL);
    gets(&one);
    plan = upstream_pool_end(rig.pool, &one.ticket, &end, &one.arena);
    assert_int_equal(plan.denied, METRIC_DENIAL_SHOWN);
    end.has_client_left = true;
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    plan = upstream_pool_end(rig.pool, &one.ticket, &end, &one.arena);
    assert_int_equal(plan.denied, METRIC_DENIAL_CLIENT_GONE);
    gone(&one);
    close_rig();
}

/* Three may always be under way. */
static void retries_have_a_budget(void **state)
{
    struct asker askers[4];

    (void)state;
    open_rig(NULL,
             (const char *const[]){"--upstream", "http://h:1", "--retry-attempts", "3", NULL});
    for (size_t i = 0; i < 4; i++)
        gets(&askers[i]);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(end_as(&askers[i], UPSTREAM_OUTCOME_RESET, 0).next, UPSTREAM_NEXT_SAME);
        assert_int_equal(ask(&askers[i]), UPSTREAM_TICKET_GRANTED);
    }
    assert_int_equal(end_as(&askers[3], UPSTREAM_OUTCOME_RESET, 0).denied, METRIC_DENIAL_BUDGET);
    arena_fini(&askers[3].arena);
    for (size_t i = 0; i < 3; i++)
        done(&askers[i]);
    close_rig();
}

/* ---- states */

static void a_model_that_is_loaded_is_asked_for_each_second(void **state)
{
    struct asker first, second, third;

    (void)state;
    open_rig(NULL, (const char *const[]){"--upstream", "http://h:1", NULL});
    gets(&first);
    assert_int_equal(end_as(&first, UPSTREAM_OUTCOME_LOADING, 0).next, UPSTREAM_NEXT_SAME);
    assert_int_equal(view_of("default").state, UPSTREAM_STATE_LOADING);
    waits(&second);
    waits(&third);
    assert_int_equal(ask(&first), UPSTREAM_TICKET_WAITING);
    pass(900);
    still_waits(&first);
    still_waits(&second);
    pass(150);
    assert_int_equal(first.n_told + second.n_told + third.n_told, 1); /* who asks */
    assert_int_equal(view_of("default").in_flight, 1);
    if (second.n_told == 1) {
        has_got(&second);
        done(&second);
    } else {
        has_got(&first);
        done(&first);
    }
    pass(0);
    assert_int_equal(view_of("default").state, UPSTREAM_STATE_UP);
    assert_int_equal(n_waiting(), 0);          /* all have gone */
    assert_int_equal(rig.pool->n_retrying, 0); /* which is no retry */
    gone(&first);
    gone(&second);
    gone(&third);
    close_rig();
}

static void a_model_that_is_not_loaded_in_time_is_its_servers_answer(void **state)
{
    struct asker one;
    unsigned n = 0;

    (void)state;
    open_rig(NULL, (const char *const[]){"--upstream", "http://h:1", "--loading-wait", "5s", NULL});
    gets(&one);
    while (n < 9 && end_as(&one, UPSTREAM_OUTCOME_LOADING, 0).next == UPSTREAM_NEXT_SAME) {
        n++;
        assert_int_equal(ask(&one), UPSTREAM_TICKET_WAITING);
        pass(1100);
        has_got(&one);
    }
    assert_int_equal(n, 5);
    gone(&one);
    close_rig();
}

static void what_fails_three_times_is_left_alone(void **state)
{
    struct asker one, two;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    (void)prepare(&one, "m", "o");
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    assert_int_equal(view_of("a").state, UPSTREAM_STATE_EJECTED);
    gets(&two);
    is_at(&two, "b");
    done(&two);
    fails(&one, 3, UPSTREAM_OUTCOME_502); /* the last one stays, and what it says is passed on */
    assert_int_equal(view_of("b").state, UPSTREAM_STATE_UP);
    gone(&one);
    close_rig();
}

static void of_ejected_ones_alone_the_next_is_used(void **state)
{
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    (void)prepare(&one, "m", "o");
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    assert_true(upstream_pool_drain(rig.pool, STR("b")));
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    is_at(&one, "a");
    assert_int_equal(one.ticket.choice, ROUTING_BY_FAILOVER);
    done(&one);
    close_rig();
}

/* The last resort has no more places than before; nor has a model that is not loaded in time. */
static void what_is_used_for_want_of_another_keeps_its_limit(void **state)
{
    struct asker one, two;

    (void)state;
    open_rig(FILE_OF(TWO, ""), NULL);
    (void)prepare(&one, "m", "o");
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    assert_true(upstream_pool_drain(rig.pool, STR("b")));
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    waits(&two);
    done(&one);
    has_got(&two);
    done(&two);
    close_rig();

    open_rig(FILE_OF(ONE_PLACE, ""), (const char *const[]){"--loading-wait", "5s", NULL});
    (void)prepare(&one, "m", "o");
    fails(&one, 1, UPSTREAM_OUTCOME_LOADING);
    pass(6000);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    waits(&two);
    done(&one);
    has_got(&two);
    done(&two);
    close_rig();
}

static void what_comes_back_is_asked_by_one_at_a_time(void **state)
{
    struct asker one, two, three;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    (void)prepare(&one, "m", "o");
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    pass(11100);
    assert_int_equal(view_of("a").state, UPSTREAM_STATE_HALF_OPEN);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    is_at(&one, "a");
    gets(&two);
    is_at(&two, "b");
    leave(&one); /* that is no answer */
    gets(&three);
    is_at(&three, "a");
    done(&three);
    assert_int_equal(view_of("a").state, UPSTREAM_STATE_HALF_OPEN);
    gets(&three);
    is_at(&three, "a");
    done(&three);
    assert_int_equal(view_of("a").state, UPSTREAM_STATE_UP);
    done(&two);
    gone(&one);
    close_rig();
}

static void those_who_wait_for_one_that_comes_back_get_it_one_by_one(void **state)
{
    struct asker one, two, three;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    (void)prepare(&one, "m", "o");
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    pass(11100);
    assert_true(upstream_pool_drain(rig.pool, STR("b")));
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    waits(&two);
    waits(&three);
    done(&one);
    has_got(&two);
    still_waits(&three);
    done(&two); /* the second success */
    has_got(&three);
    done(&three);
    close_rig();
}

/* ---- operators, and other tables */

static void what_is_drained_gets_nothing_until_it_is_resumed(void **state)
{
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    assert_true(upstream_pool_drain(rig.pool, STR("a")));
    assert_true(upstream_pool_drain(rig.pool, STR("a")));
    assert_false(upstream_pool_drain(rig.pool, STR("c")));
    assert_false(upstream_pool_check(rig.pool, STR("c")));
    assert_true(upstream_pool_check(rig.pool, STR("a"))); /* which is not checked */
    gets(&one);
    is_at(&one, "b");
    done(&one);
    assert_true(upstream_pool_resume(rig.pool, STR("a")));
    gets(&one);
    is_at(&one, "a");
    done(&one);
    close_rig();
}

static void a_drained_upstream_stays_so_under_another_table(void **state)
{
    struct asker one;

    (void)state;
    open_rig(FILE_OF(SERVER("a", ", \"weight\": 1000") ", " SERVER("b", ""), ""), NULL);
    assert_true(upstream_pool_drain(rig.pool, STR("a")));
    take_next(
        FILE_OF("\"a\": {\"url\": \"http://elsewhere:1\", \"models\": [\"m\"]}, " SERVER("b", ""),
                ""),
        NULL);
    gets(&one);
    is_at(&one, "b");
    done(&one);
    assert_true(upstream_pool_resume(rig.pool, STR("a")));
    assert_int_equal(view_of("a").state, UPSTREAM_STATE_UP);
    close_rig();
}

static void another_table_keeps_what_its_upstreams_do_and_its_limits_hold_at_once(void **state)
{
    struct asker one, two, waiter, other;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&one);
    waits(&waiter);
    waits(&other);
    take_next(FILE_OF(SERVER("b", "") ", " SERVER("a", ", \"max_concurrency\": 2"), ""), NULL);
    has_got(&waiter);
    is_at(&waiter, "a");
    assert_int_equal(view_of("a").in_flight, 2);
    still_waits(&other); /* among the candidates that there were when it asked */
    gets(&two);
    is_at(&two, "b");
    done(&one);
    has_got(&other);
    is_at(&other, "a");
    done(&other);
    done(&waiter);
    done(&two);
    close_rig();
}

static void an_upstream_that_is_in_no_table_any_more_ends_what_it_has(void **state)
{
    struct asker one, waiter;
    struct upstream_sum sum;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&one);
    waits(&waiter);
    take_next(FILE_OF(SERVER("b", ""), ""), NULL);
    upstream_pool_sum(rig.pool, &sum);
    assert_int_equal(sum.n, 1);
    assert_false(upstream_pool_drain(rig.pool, STR("a")));
    done(&one);
    has_got(&waiter);
    is_at(&waiter, "a");
    done(&waiter);
    close_rig();
}

/* ---- choices */

static void a_session_stays_where_it_was_until_that_is_ejected(void **state)
{
    struct asker one, first;

    (void)state;
    open_rig(FILE_OF(SERVER("a", "") ", " SERVER("b", ""), ""), NULL);
    gets(&first);
    is_at(&first, "a");
    prepare(&one, "m", "o")->session = STR("talk");
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    is_at(&one, "b");
    done(&first);
    (void)end_as(&one, UPSTREAM_OUTCOME_OK, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
        is_at(&one, "b");
        assert_int_equal(one.ticket.choice, ROUTING_BY_KEY);
        (void)end_as(&one, UPSTREAM_OUTCOME_OK, 0);
    }
    fails(&one, 3, UPSTREAM_OUTCOME_502);
    assert_int_equal(view_of("b").state, UPSTREAM_STATE_EJECTED);
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    is_at(&one, "a");
    assert_int_not_equal(one.ticket.choice, ROUTING_BY_KEY);
    done(&one);
    close_rig();
}

static void sessions_of_owners_are_apart(void **state)
{
    struct asker one, other;

    (void)state;
    open_rig(FILE_OF(SERVER("a", "") ", " SERVER("b", ""), ""), NULL);
    prepare(&one, "m", "one")->session = STR("talk");
    assert_int_equal(ask(&one), UPSTREAM_TICKET_GRANTED);
    prepare(&other, "m", "other")->session = STR("talk");
    assert_int_equal(ask(&other), UPSTREAM_TICKET_GRANTED);
    assert_int_not_equal(other.ticket.choice, ROUTING_BY_KEY);
    done(&one);
    done(&other);
    close_rig();
}

#define SIX(x)                                                                                     \
    SERVER(x "1", "")                                                                              \
    ", " SERVER(x "2", "") ", " SERVER(x "3", "") ", " SERVER(x "4", "") ", " SERVER(              \
        x "5", "") ", " SERVER(x "6", "")

/* Their numbers are far apart when tables have come and gone. */
static void many_upstreams_take_turns(void **state)
{
    struct asker askers[36];

    (void)state;
    open_rig(FILE_OF(SERVER("a1", ""), "\"policy\": \"round_robin\""), NULL);
    take_next(FILE_OF(SIX("b"), "\"policy\": \"round_robin\""), NULL);
    take_next(FILE_OF(SIX("a") ", " SIX("c"), "\"policy\": \"round_robin\""), NULL);
    for (size_t i = 0; i < COUNT_OF(askers); i++)
        gets(&askers[i]);
    for (size_t i = 0; i < newest()->n; i++) {
        struct upstream_view view;

        upstream_pool_view(rig.pool, &newest()->entries[i], &view);
        assert_int_equal(view.in_flight, 3);
    }
    for (size_t i = 0; i < COUNT_OF(askers); i++)
        done(&askers[i]);
    close_rig();
}

static void note_group(void *arg, str group, size_t n)
{
    assert_true(str_eq(group, STR("m")));
    *(size_t *)arg = n;
}

static void those_who_wait_are_told_by_group(void **state)
{
    struct asker one, waiters[3];
    size_t n = 0;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&one);
    for (size_t i = 0; i < 3; i++)
        waits(&waiters[i]);
    upstream_pool_each_group(rig.pool, note_group, &n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < 3; i++)
        gone(&waiters[i]);
    done(&one);
    close_rig();
}

/* ---- memory */

/* What one asker and one that waits go through, of which the nth allocation fails; each may be refused. */
static void ask_and_wait(long n)
{
    struct asker one, two;

    (void)prepare(&one, "m", "o");
    (void)prepare(&two, "m", "p");
    one.want.session = STR("talk");
    one.want.body = STR("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}");
    failing_malloc_begin(n, FAILS_ONCE);
    if (ask(&one) == UPSTREAM_TICKET_GRANTED) {
        (void)ask(&two);
        (void)end_as(&one, UPSTREAM_OUTCOME_CONNECT, 0);
        (void)ask(&one);
    }
    leave(&one);
    leave(&two);
    (void)failing_malloc_end();
    gone(&one);
    gone(&two);
}

static void without_memory_one_request_fails_and_nothing_is_lost(void **state)
{
    static const char *const policies[] = {FILE_OF(TWO, ""),
                                           FILE_OF(TWO, "\"policy\": \"round_robin\"")};

    (void)state;
    for (size_t k = 0; k < COUNT_OF(policies); k++) {
        for (long i = 0; i < 40; i++) {
            open_rig(policies[k], NULL);
            ask_and_wait(i);
            close_rig();
        }
    }
}

static void a_table_that_cannot_be_taken_leaves_all_as_it_was(void **state)
{
    struct upstream_table *t;
    struct asker one;
    struct err e;
    int rc = -1;

    (void)state;
    open_rig(FILE_OF(ONE_PLACE, ""), NULL);
    gets(&one);
    t = load_next(FILE_OF(TWO ", " SERVER("c", ""), ""), NULL);
    for (long i = 0; rc == -1; i++) {
        assert_int_equal(rig.pool->lives->name.len, 1);
        assert_null(rig.pool->lives->next);
        failing_malloc_begin(i, FAILS_ONCE);
        rc = upstream_pool_take(rig.pool, t, &e);
        (void)failing_malloc_end();
    }
    assert_int_equal(view_of("a").in_flight, 1);
    done(&one);
    close_rig();
}

static void a_pool_needs_memory(void **state)
{
    struct upstream_pool *p = NULL;
    struct err e;

    (void)state;
    rig = (struct rig){.loop = loop_new(&e)};
    for (long i = 0; p == NULL; i++) {
        failing_malloc_begin(i, FAILS_ONCE);
        p = upstream_pool_new(rig.loop, &e);
        (void)failing_malloc_end();
    }
    upstream_pool_free(p);
    upstream_pool_free(NULL);
    loop_free(rig.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_counted_until_it_is_given_back),
        cmocka_unit_test(an_end_that_is_told_twice_counts_once),
        cmocka_unit_test(the_single_upstream_has_places_without_end),
        cmocka_unit_test(a_full_upstream_is_waited_for),
        cmocka_unit_test(a_place_that_is_free_elsewhere_is_taken_before_one_is_waited_for),
        cmocka_unit_test(owners_take_turns),
        cmocka_unit_test(a_round_of_a_turn_that_runs_goes_first),
        cmocka_unit_test(groups_that_share_an_upstream_take_turns),
        cmocka_unit_test(who_waits_for_one_upstream_does_not_hold_up_another),
        cmocka_unit_test(a_prompt_is_not_waited_for_longer_than_affinity_wait),
        cmocka_unit_test(an_owner_has_a_share_of_the_queue),
        cmocka_unit_test(a_queue_has_an_end),
        cmocka_unit_test(nothing_waits_where_no_queue_is_wanted),
        cmocka_unit_test(what_waits_is_bounded_in_all),
        cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(who_is_sent_away_is_told_when_to_come),
        cmocka_unit_test(nobody_waits_for_upstreams_that_are_all_drained),
        cmocka_unit_test(whoever_leaves_gives_back_what_it_has),
        cmocka_unit_test(a_ticket_that_left_unseen_hears_nothing_of_before),
        cmocka_unit_test(a_connection_that_fails_is_tried_elsewhere_at_once),
        cmocka_unit_test(one_upstream_is_asked_again_after_a_wait),
        cmocka_unit_test(a_retry_that_finds_no_place_waits_no_longer_than_others),
        cmocka_unit_test(whoever_leaves_between_attempts_leaves_nothing),
        cmocka_unit_test(what_is_final_is_not_asked_again),
        cmocka_unit_test(what_was_shown_or_whose_client_left_is_not_asked_again),
        cmocka_unit_test(retries_have_a_budget),
        cmocka_unit_test(a_model_that_is_loaded_is_asked_for_each_second),
        cmocka_unit_test(a_model_that_is_not_loaded_in_time_is_its_servers_answer),
        cmocka_unit_test(what_fails_three_times_is_left_alone),
        cmocka_unit_test(of_ejected_ones_alone_the_next_is_used),
        cmocka_unit_test(what_is_used_for_want_of_another_keeps_its_limit),
        cmocka_unit_test(what_comes_back_is_asked_by_one_at_a_time),
        cmocka_unit_test(those_who_wait_for_one_that_comes_back_get_it_one_by_one),
        cmocka_unit_test(what_is_drained_gets_nothing_until_it_is_resumed),
        cmocka_unit_test(a_drained_upstream_stays_so_under_another_table),
        cmocka_unit_test(another_table_keeps_what_its_upstreams_do_and_its_limits_hold_at_once),
        cmocka_unit_test(an_upstream_that_is_in_no_table_any_more_ends_what_it_has),
        cmocka_unit_test(a_session_stays_where_it_was_until_that_is_ejected),
        cmocka_unit_test(sessions_of_owners_are_apart),
        cmocka_unit_test(many_upstreams_take_turns),
        cmocka_unit_test(those_who_wait_are_told_by_group),
        cmocka_unit_test(without_memory_one_request_fails_and_nothing_is_lost),
        cmocka_unit_test(a_table_that_cannot_be_taken_leaves_all_as_it_was),
        cmocka_unit_test(a_pool_needs_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
