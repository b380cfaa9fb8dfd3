/* test_fair_queue.c -- whose turn it is among those that wait (OPERATIONS 5.4). */
#include "lib/test.h"
#include "lib/test_seed.h"

#include "lib/failing_malloc.h"
#include "upstream/fair_queue.h"

enum { MOST = 500, MANY = 1000000 };

struct waiter {
    struct fair_ticket ticket;
    uint64_t owner;
    enum fair_class of;
    bool is_later;
    unsigned serial; /* the order in which they came */
    unsigned target; /* upstream that it waits for; 0: any */
};

static struct waiter waiters[MOST];

static struct waiter *waiter_of(struct fair_ticket *ticket)
{
    return ticket == NULL ? NULL : (struct waiter *)(void *)ticket;
}

static enum fair_answer add(struct fair_queue *q, struct waiter *w, uint64_t owner, unsigned weight)
{
    const struct fair_place place = {
        .owner = owner, .of = w->of, .weight = weight, .is_later = w->is_later};

    w->owner = owner;
    return fair_queue_add(q, &w->ticket, &place);
}

/* Makes an anonymous one wait. */
static struct waiter *wait_for_turn(struct fair_queue *q, unsigned i, uint64_t owner,
                                    enum fair_class of, unsigned weight)
{
    waiters[i] = (struct waiter){.of = of, .serial = i};
    assert_int_equal(add(q, &waiters[i], owner, weight), FAIR_QUEUED);
    return &waiters[i];
}

static bool anyone(void *arg, const struct fair_ticket *ticket)
{
    (void)arg;
    (void)ticket;
    return true;
}

static struct waiter *grant(struct fair_queue *q)
{
    return waiter_of(fair_queue_next(q, anyone, NULL));
}

/* ---- order */

static void an_empty_queue_has_nobody(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, 100, 20);
    assert_null(grant(&q));
    fair_queue_fini(&q);
    q = (struct fair_queue){.n = 0};
    fair_queue_fini(&q);
}

static void one_owner_is_served_first_come_first_served(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 0; i < 10; i++)
        (void)wait_for_turn(&q, i, 7, FAIR_CLASS_NORMAL, 3);
    for (unsigned i = 0; i < 10; i++)
        assert_ptr_equal(grant(&q), &waiters[i]);
    assert_int_equal(q.n, 0);
    fair_queue_fini(&q);
}

static void later_rounds_stand_in_front_of_new_turns_of_their_owner_only(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    (void)wait_for_turn(&q, 0, 1, FAIR_CLASS_NORMAL, 1);
    (void)wait_for_turn(&q, 1, 2, FAIR_CLASS_NORMAL, 1);
    for (unsigned i = 2; i < 4; i++) {
        waiters[i] = (struct waiter){.of = FAIR_CLASS_NORMAL, .is_later = true};
        assert_int_equal(add(&q, &waiters[i], 2, 1), FAIR_QUEUED);
    }
    assert_ptr_equal(grant(&q), &waiters[0]);
    assert_ptr_equal(grant(&q), &waiters[2]);
    assert_ptr_equal(grant(&q), &waiters[3]);
    assert_ptr_equal(grant(&q), &waiters[1]);
    fair_queue_fini(&q);
}

/* ---- shares */

/* Grants n times among owners who always have one waiting, and counts them. */
static void play_greedy(struct fair_queue *q, unsigned n, const unsigned *weights, size_t n_owners,
                        unsigned *ret_grants)
{
    for (unsigned i = 0; i < n_owners * 3; i++)
        (void)wait_for_turn(q, i, i % n_owners, FAIR_CLASS_NORMAL, weights[i % n_owners]);
    for (unsigned i = 0; i < n; i++) {
        struct waiter *w = grant(q);

        assert_non_null(w);
        ret_grants[w->owner]++;
        assert_int_equal(add(q, w, w->owner, weights[w->owner]), FAIR_QUEUED);
    }
}

static void weights_three_to_one_are_grants_three_to_one(void **state)
{
    static const unsigned weights[] = {3, 1};
    unsigned grants[2] = {0};
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    play_greedy(&q, 400, weights, 2, grants);
    assert_in_range(grants[0], 290, 310);
    assert_in_range(grants[1], 90, 110);
    fair_queue_fini(&q);
}

static void any_weights_are_shares(void **state)
{
    static const unsigned weights[] = {1, 2, 5, 100, 17};
    unsigned grants[COUNT_OF(weights)] = {0};
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    play_greedy(&q, 125 * 8, weights, COUNT_OF(weights), grants);
    for (size_t i = 0; i < COUNT_OF(weights); i++)
        assert_int_equal(grants[i], 8 * weights[i]);
    fair_queue_fini(&q);
}

/* An empty queue would cost it nothing, one that is just being served one grant. */
static void one_beside_a_hundred_waits_at_most_one_grant_longer(void **state)
{
    (void)state;
    for (unsigned before = 0; before < 50; before++) {
        struct fair_queue q;
        unsigned n = 0;

        fair_queue_init(&q, MANY, MANY);
        for (unsigned i = 1; i <= 100; i++)
            (void)wait_for_turn(&q, i, 1, FAIR_CLASS_NORMAL, 1);
        for (unsigned i = 0; i < before; i++)
            (void)grant(&q);
        (void)wait_for_turn(&q, 0, 2, FAIR_CLASS_NORMAL, 1);
        while (grant(&q) != &waiters[0])
            n++;
        assert_true(n <= 1);
        fair_queue_fini(&q);
    }
}

static void whoever_has_nothing_waiting_saves_up_nothing(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    (void)wait_for_turn(&q, 0, 1, FAIR_CLASS_NORMAL, 100);
    (void)grant(&q);
    for (unsigned i = 0; i < 4; i++)
        (void)wait_for_turn(&q, i, i % 2, FAIR_CLASS_NORMAL, 1);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(grant(&q)->owner, i % 2);
    fair_queue_fini(&q);
}

/* ---- classes */

static void a_lower_class_has_every_tenth_grant_while_a_higher_one_waits(void **state)
{
    struct fair_queue q;
    unsigned n = 0;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 0; i < 100; i++)
        (void)wait_for_turn(&q, i, i % 3, FAIR_CLASS_HIGH, 1);
    for (unsigned i = 100; i < 110; i++)
        (void)wait_for_turn(&q, i, 9, FAIR_CLASS_LOW, 1);
    for (unsigned i = 1; i <= 110; i++) {
        const bool is_low = grant(&q)->of == FAIR_CLASS_LOW;

        n += is_low;
        assert_int_equal(is_low, i % 10 == 0);
        if (n == 10)
            break;
    }
    fair_queue_fini(&q);
}

static void each_of_two_lower_classes_has_one_of_any_ten_grants(void **state)
{
    unsigned since[FAIR_CLASSES] = {0}, n[FAIR_CLASSES] = {0};
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 0; i < 30; i++)
        (void)wait_for_turn(&q, i, i, (enum fair_class)(i % FAIR_CLASSES), 1);
    for (unsigned i = 0; i < 1000; i++) {
        struct waiter *w = grant(&q);

        n[w->of]++;
        for (enum fair_class c = 0; c < FAIR_CLASSES; c++) {
            since[c] = c == w->of ? 0 : since[c] + 1;
            assert_true(since[c] < FAIR_QUEUE_EVERY);
        }
        assert_int_equal(add(&q, w, w->owner, 1), FAIR_QUEUED);
    }
    assert_true(n[FAIR_CLASS_HIGH] >= 780);
    fair_queue_fini(&q);
}

static void a_lower_class_that_was_not_there_has_not_been_passed(void **state)
{
    struct fair_queue q;
    struct waiter *low;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 1; i < 100; i++)
        (void)wait_for_turn(&q, i, 1, FAIR_CLASS_HIGH, 1);
    low = wait_for_turn(&q, 0, 2, FAIR_CLASS_LOW, 1);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(grant(&q)->of, FAIR_CLASS_HIGH);
    fair_queue_remove(&q, &low->ticket);
    assert_int_equal(grant(&q)->of, FAIR_CLASS_HIGH);
    (void)wait_for_turn(&q, 0, 2, FAIR_CLASS_LOW, 1);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(grant(&q)->of, FAIR_CLASS_HIGH);
    assert_int_equal(grant(&q)->of, FAIR_CLASS_LOW);
    fair_queue_fini(&q);
}

/* ---- limits */

static void limits_refuse_the_owner_first_and_then_the_group(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, 3, 2);
    (void)wait_for_turn(&q, 0, 1, FAIR_CLASS_HIGH, 1);
    (void)wait_for_turn(&q, 1, 1, FAIR_CLASS_LOW, 1);
    waiters[2] = waiters[3] = (struct waiter){.of = FAIR_CLASS_NORMAL};
    assert_int_equal(add(&q, &waiters[2], 1, 1), FAIR_OWNER_FULL);
    assert_false(fair_ticket_waits(&waiters[2].ticket));
    assert_int_equal(add(&q, &waiters[2], 2, 1), FAIR_QUEUED);
    assert_int_equal(add(&q, &waiters[3], 1, 1), FAIR_OWNER_FULL);
    assert_int_equal(add(&q, &waiters[3], 3, 1), FAIR_FULL);
    assert_int_equal(add(&q, &waiters[3], 1 + FAIR_QUEUE_BUCKETS, 1), FAIR_FULL);
    assert_non_null(grant(&q));
    assert_int_equal(add(&q, &waiters[3], 3, 1), FAIR_QUEUED);
    fair_queue_fini(&q);
    assert_false(fair_ticket_waits(&waiters[3].ticket));
}

static void with_a_limit_of_0_nothing_waits(void **state)
{
    struct fair_queue q;

    (void)state;
    waiters[0] = (struct waiter){.serial = 0};
    fair_queue_init(&q, 0, 20);
    assert_int_equal(add(&q, &waiters[0], 1, 1), FAIR_FULL);
    fair_queue_init(&q, 100, 0);
    assert_int_equal(add(&q, &waiters[0], 1, 1), FAIR_OWNER_FULL);
}

static void without_memory_for_an_owner_the_ticket_is_refused_and_the_next_is_not(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, 100, 20);
    waiters[0] = (struct waiter){.serial = 0};
    failing_malloc_begin(0, FAILS_ONCE);
    assert_int_equal(add(&q, &waiters[0], 1, 1), FAIR_NO_MEMORY);
    assert_true(failing_malloc_end());
    assert_false(fair_ticket_waits(&waiters[0].ticket));
    assert_int_equal(q.n, 0);
    (void)wait_for_turn(&q, 0, 1, FAIR_CLASS_LOW, 1);
    failing_malloc_begin(0, FAILS_FOR_GOOD); /* an owner that is there needs none */
    (void)wait_for_turn(&q, 1, 1, FAIR_CLASS_LOW, 1);
    assert_ptr_equal(grant(&q), &waiters[0]);
    assert_false(failing_malloc_end());
    fair_queue_fini(&q);
}

/* ---- who may be served */

static bool waits_for(void *arg, const struct fair_ticket *ticket)
{
    const struct waiter *w = (const struct waiter *)(const void *)ticket;
    const unsigned *free_targets = arg; /* a set */

    return w->target == 0 || (*free_targets >> w->target & 1) != 0;
}

static void one_that_may_not_be_served_is_passed_over_and_loses_nothing(void **state)
{
    unsigned none = 0, first = 1U << 1;
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 0; i < 8; i++)
        (void)wait_for_turn(&q, i, i % 2, FAIR_CLASS_NORMAL, 2);
    waiters[0].target = waiters[2].target = 1;
    /* Owner 0 has its turn, but only its later tickets may be served. */
    assert_ptr_equal(fair_queue_next(&q, waits_for, &none), &waiters[4].ticket);
    waiters[6].target = 1;
    assert_ptr_equal(fair_queue_next(&q, waits_for, &none), &waiters[1].ticket);
    assert_ptr_equal(fair_queue_next(&q, waits_for, &none), &waiters[3].ticket);
    /* Owner 1 has had its turn, owner 0 one grant of its own. */
    assert_ptr_equal(fair_queue_next(&q, waits_for, &first), &waiters[0].ticket);
    assert_ptr_equal(fair_queue_next(&q, waits_for, &first), &waiters[5].ticket);
    waiters[2].target = waiters[6].target = waiters[7].target = 2;
    assert_null(fair_queue_next(&q, waits_for, &first));
    assert_int_equal(q.n, 3);
    fair_queue_fini(&q);
}

static bool count_question(void *arg, const struct fair_ticket *ticket)
{
    (void)ticket;
    ++*(unsigned *)arg;
    return false;
}

static void each_ticket_is_asked_about_once(void **state)
{
    struct fair_queue q;
    unsigned n = 0;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    for (unsigned i = 0; i < 90; i++)
        (void)wait_for_turn(&q, i, i % 7, (enum fair_class)(i % FAIR_CLASSES), 1 + i % 4);
    for (unsigned i = 0; i < 12; i++) { /* a lower class is due as well */
        struct waiter *w = grant(&q);

        assert_int_equal(add(&q, w, w->owner, 1), FAIR_QUEUED);
    }
    assert_null(fair_queue_next(&q, count_question, &n));
    assert_int_equal(n, 90);
    fair_queue_fini(&q);
}

/* ---- by chance, beside a list that is searched from its beginning each time */

struct naive_owner {
    unsigned left, weight; /* of its turn */
    unsigned place;        /* in its ring: the least is next */
};

struct naive {
    struct waiter *waiting[MOST];
    size_t n;
    struct naive_owner owners[FAIR_CLASSES][8];
    unsigned passed[FAIR_CLASSES], places;
};

static size_t count_waiting(const struct naive *v, enum fair_class of, uint64_t owner)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n; i++)
        n += v->waiting[i]->of == of && (owner == UINT64_MAX || v->waiting[i]->owner == owner);
    return n;
}

static void naive_add(struct naive *v, struct waiter *w, unsigned weight)
{
    struct naive_owner *o = &v->owners[w->of][w->owner];

    if (count_waiting(v, w->of, w->owner) == 0)
        *o = (struct naive_owner){.place = v->places++};
    o->weight = weight;
    o->left = o->left < weight ? o->left : weight;
    v->waiting[v->n++] = w;
}

static void naive_remove(struct naive *v, const struct waiter *w)
{
    size_t i = 0;

    while (v->waiting[i] != w)
        i++;
    for (v->n--; i < v->n; i++)
        v->waiting[i] = v->waiting[i + 1];
    if (count_waiting(v, w->of, UINT64_MAX) == 0)
        v->passed[w->of] = 0;
}

/* Does a come before b, both of one class? */
static bool precedes(const struct naive *v, const struct waiter *a, const struct waiter *b)
{
    const unsigned place_a = v->owners[a->of][a->owner].place;
    const unsigned place_b = v->owners[b->of][b->owner].place;

    if (place_a != place_b)
        return place_a < place_b;
    return a->is_later != b->is_later ? a->is_later : a->serial < b->serial;
}

static struct waiter *naive_first(const struct naive *v, enum fair_class of, unsigned free_targets)
{
    struct waiter *first = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct waiter *w = v->waiting[i];

        if (w->of == of && waits_for(&free_targets, &w->ticket) &&
            (first == NULL || precedes(v, w, first)))
            first = w;
    }
    return first;
}

static struct waiter *naive_choose(const struct naive *v, unsigned free_targets)
{
    const unsigned *p = v->passed;
    struct waiter *w = NULL;

    if (p[FAIR_CLASS_LOW] >= 9 || (p[FAIR_CLASS_LOW] == 8 && p[FAIR_CLASS_NORMAL] == 8))
        w = naive_first(v, FAIR_CLASS_LOW, free_targets);
    else if (p[FAIR_CLASS_NORMAL] >= 9)
        w = naive_first(v, FAIR_CLASS_NORMAL, free_targets);
    for (enum fair_class c = 0; c < FAIR_CLASSES && w == NULL; c++)
        w = naive_first(v, c, free_targets);
    return w;
}

static struct waiter *naive_next(struct naive *v, unsigned free_targets)
{
    struct waiter *w = naive_choose(v, free_targets);
    struct naive_owner *o;

    if (w == NULL)
        return NULL;
    for (enum fair_class c = 0; c < FAIR_CLASSES; c++)
        v->passed[c] = c == w->of || count_waiting(v, c, UINT64_MAX) == 0 ? 0 : v->passed[c] + 1;
    o = &v->owners[w->of][w->owner];
    o->left = (o->left == 0 ? o->weight : o->left) - 1;
    if (o->left == 0)
        o->place = v->places++;
    naive_remove(v, w);
    return w;
}

static void play_add(struct fair_queue *q, struct naive *v, unsigned serial)
{
    const unsigned weight = 1 + (unsigned)rand() % 4;
    struct waiter *w = waiters;

    while (fair_ticket_waits(&w->ticket))
        w++;
    *w = (struct waiter){.of = (enum fair_class)(rand() % FAIR_CLASSES),
                         .is_later = rand() % 4 == 0,
                         .target = rand() % 3 == 0 ? 1 + (unsigned)rand() % 3 : 0,
                         .serial = serial};
    if (add(q, w, (uint64_t)rand() % 8, weight) == FAIR_QUEUED)
        naive_add(v, w, weight);
}

static void play_step(struct fair_queue *q, struct naive *v, unsigned serial)
{
    unsigned free_targets = (unsigned)rand() & 0xF;

    switch (rand() % 8) {
    case 0:
    case 1:
    case 2:
    case 3:
        play_add(q, v, serial);
        break;
    case 4:
        if (v->n > 0) {
            struct waiter *w = v->waiting[(size_t)rand() % v->n];

            fair_queue_remove(q, &w->ticket);
            fair_queue_remove(q, &w->ticket);
            naive_remove(v, w);
        }
        break;
    default:
        assert_ptr_equal(waiter_of(fair_queue_next(q, waits_for, &free_targets)),
                         naive_next(v, free_targets));
    }
}

static void any_play_is_granted_as_by_a_list_that_is_searched(void **state)
{
    (void)state;
    srand(test_seed());
    for (unsigned game = 0; game < 100; game++) {
        struct naive v = {.n = 0};
        struct fair_queue q;

        memset(waiters, 0, sizeof(waiters));
        fair_queue_init(&q, 60, 25);
        for (unsigned step = 0; step < 2000; step++) {
            play_step(&q, &v, step);
            assert_int_equal(q.n, v.n);
        }
        fair_queue_fini(&q);
        assert_int_equal(q.n, 0);
    }
}

/* ---- how long it takes */

static void the_wait_is_those_ahead_times_a_round_shared_by_what_runs_at_once(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    assert_int_equal(fair_queue_wait_s(&q, 4), FAIR_QUEUE_UNKNOWN_S);
    fair_queue_note_duration(&q, 3000);
    fair_queue_note_duration(&q, 5000);
    assert_int_equal(fair_queue_wait_s(&q, 0), FAIR_QUEUE_UNKNOWN_S);
    assert_int_equal(fair_queue_wait_s(&q, 4), 1); /* nobody waits */
    for (unsigned i = 0; i < 9; i++)
        (void)wait_for_turn(&q, i, i, FAIR_CLASS_NORMAL, 1);
    assert_int_equal(fair_queue_wait_s(&q, 4), 9);
    assert_int_equal(fair_queue_wait_s(&q, 5), 8); /* 7.2 */
    assert_int_equal(fair_queue_wait_s(&q, 1000), 1);
    assert_int_equal(fair_queue_wait_s(&q, 1), 36);
    for (unsigned i = 0; i < 3; i++)
        fair_queue_note_duration(&q, UINT64_MAX);
    assert_int_equal(fair_queue_wait_s(&q, 1), 60);
    fair_queue_fini(&q);
}

static void the_last_thirty_two_rounds_count(void **state)
{
    struct fair_queue q;

    (void)state;
    fair_queue_init(&q, MANY, MANY);
    (void)wait_for_turn(&q, 0, 0, FAIR_CLASS_NORMAL, 1);
    for (unsigned i = 0; i < 100; i++)
        fair_queue_note_duration(&q, 50000);
    assert_int_equal(fair_queue_wait_s(&q, 1), 50);
    for (unsigned i = 0; i < FAIR_QUEUE_DURATIONS / 2; i++)
        fair_queue_note_duration(&q, 10000);
    assert_int_equal(fair_queue_wait_s(&q, 1), 30);
    for (unsigned i = 0; i < FAIR_QUEUE_DURATIONS / 2; i++)
        fair_queue_note_duration(&q, 10000);
    assert_int_equal(fair_queue_wait_s(&q, 1), 10);
    fair_queue_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_has_nobody),
        cmocka_unit_test(one_owner_is_served_first_come_first_served),
        cmocka_unit_test(later_rounds_stand_in_front_of_new_turns_of_their_owner_only),
        cmocka_unit_test(weights_three_to_one_are_grants_three_to_one),
        cmocka_unit_test(any_weights_are_shares),
        cmocka_unit_test(one_beside_a_hundred_waits_at_most_one_grant_longer),
        cmocka_unit_test(whoever_has_nothing_waiting_saves_up_nothing),
        cmocka_unit_test(a_lower_class_has_every_tenth_grant_while_a_higher_one_waits),
        cmocka_unit_test(each_of_two_lower_classes_has_one_of_any_ten_grants),
        cmocka_unit_test(a_lower_class_that_was_not_there_has_not_been_passed),
        cmocka_unit_test(limits_refuse_the_owner_first_and_then_the_group),
        cmocka_unit_test(with_a_limit_of_0_nothing_waits),
        cmocka_unit_test(without_memory_for_an_owner_the_ticket_is_refused_and_the_next_is_not),
        cmocka_unit_test(one_that_may_not_be_served_is_passed_over_and_loses_nothing),
        cmocka_unit_test(each_ticket_is_asked_about_once),
        cmocka_unit_test(any_play_is_granted_as_by_a_list_that_is_searched),
        cmocka_unit_test(the_wait_is_those_ahead_times_a_round_shared_by_what_runs_at_once),
        cmocka_unit_test(the_last_thirty_two_rounds_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
