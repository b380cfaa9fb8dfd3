/* test_routing_load.c -- many requests at once on four upstreams: conversations stay where they were, a
 * prompt that everybody has overloads nobody (OPERATIONS 4.5). */
#include "lib/test.h"

#include "affinity/routing.h"
#include "base/buf.h"
#include "lib/test_seed.h"

enum { N_UPSTREAMS = 4, N_TALKS = 40, N_TURNS = 20, N_CLIENTS = 200, KEY = 7, NONE = -1 };

/* What a pool would keep: loads and rounds served, and the memory. */
struct site {
    struct routing_candidate c[N_UPSTREAMS];
    struct routing_conf conf;
    struct affinity *affinity;
    uint64_t now_ms;
};

static unsigned seed;

static unsigned dice(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

static void site_init(struct site *s)
{
    *s = (struct site){.conf = {ROUTING_AFFINITY, 0.3, 2000, ROUTING_WAIT_BYTES}};
    for (size_t i = 0; i < N_UPSTREAMS; i++)
        s->c[i] =
            (struct routing_candidate){.upstream = (uint16_t)i, .weight = 1, .may_be_used = true};
    s->affinity =
        affinity_new(&(struct affinity_conf){AFFINITY_SESSIONS, AFFINITY_MARKS, 30 * 60 * 1000});
    assert_non_null(s->affinity);
}

static uint64_t bound_of(const struct site *s)
{
    uint64_t n = 1;

    for (size_t i = 0; i < N_UPSTREAMS; i++)
        n += s->c[i].in_flight;
    return (5 * n + 4 * N_UPSTREAMS - 1) / (4 * N_UPSTREAMS);
}

/* Sends a request with this body; returns the upstream that it went to. */
static int send_body(struct site *s, uint64_t session, const struct buf *body)
{
    struct arena a = {.limit = 0};
    struct prefix_marks m;
    struct routing_request r = {.waited_ms = 0};
    struct routing_choice choice;
    uint64_t bound = bound_of(s);

    assert_true(prefix_marks_read(buf_str(body), KEY, &a, &m));
    r.prompt = (struct affinity_prompt){session, 0, m.marks, m.n};
    choice = routing_choose(&s->conf, s->affinity, &r, s->c, N_UPSTREAMS, s->now_ms);
    assert_int_equal(choice.outcome, ROUTING_CHOSEN);
    s->c[choice.index].in_flight++;
    s->c[choice.index].n_served++;
    assert_true(s->c[choice.index].in_flight <= bound + 1);
    affinity_note(s->affinity, &r.prompt, s->c[choice.index].upstream, s->now_ms++);
    arena_fini(&a);
    return (int)choice.index;
}

/* ---- conversations: whoever has an answer asks again at once, answers come in any order */

struct talk {
    uint64_t session;
    struct buf messages;
    int upstream; /* where its request is; NONE before the first */
    unsigned n_turns;
};

static void say(struct talk *t, const char *role, unsigned n)
{
    buf_c(&t->messages, t->messages.len == 0 ? "" : ",");
    buf_c(&t->messages, "{\"role\":\"");
    buf_c(&t->messages, role);
    buf_c(&t->messages, "\",\"content\":\"");
    for (unsigned i = 0; i < n; i++)
        buf_uint(&t->messages, dice(1000000));
    buf_c(&t->messages, "\"}");
}

static int send_turn(struct site *s, struct talk *t)
{
    struct buf body = {.limit = 0};
    int upstream;

    say(t, "user", 1 + dice(50));
    buf_c(&body, "{\"model\":\"m\",\"messages\":[");
    buf_append(&body, buf_str(&t->messages));
    buf_c(&body, "],\"stream\":true}");
    upstream = send_body(s, t->session, &body);
    buf_fini(&body);
    say(t, "assistant", 1 + dice(100));
    t->n_turns++;
    return upstream;
}

/* Returns whether the next turn went where the one before was. */
static bool take_turn(struct site *s, struct talk *t)
{
    int before = t->upstream;

    if (before != NONE)
        s->c[before].in_flight--;
    t->upstream = send_turn(s, t);
    return t->upstream == before;
}

/* The part of later turns that stayed, in percent. */
static unsigned play_talks(bool has_sessions, unsigned n_shared)
{
    struct talk talks[N_TALKS] = {{.session = 0}};
    struct talk shared = {.session = 0};
    unsigned n_stayed = 0, n_left = N_TALKS * N_TURNS;
    struct site s;

    site_init(&s);
    say(&shared, "system", n_shared);
    for (unsigned i = 0; i < N_TALKS; i++) {
        talks[i].session = has_sessions ? 1000 + i : 0;
        talks[i].upstream = NONE;
        buf_append(&talks[i].messages, buf_str(&shared.messages));
        (void)take_turn(&s, &talks[i]);
        n_left--;
    }
    while (n_left > 0) {
        struct talk *t = &talks[dice(N_TALKS)];

        if (t->n_turns == N_TURNS)
            continue;
        n_stayed += take_turn(&s, t) ? 1 : 0;
        n_left--;
    }
    for (unsigned i = 0; i < N_TALKS; i++)
        buf_fini(&talks[i].messages);
    buf_fini(&shared.messages);
    affinity_free(s.affinity);
    return n_stayed * 100 / (N_TALKS * (N_TURNS - 1));
}

static void of_later_turns_95_in_100_stay(void **state)
{
    (void)state;
    seed = test_seed();
    for (unsigned n_shared = 1; n_shared <= 10000; n_shared *= 10) {
        assert_in_range(play_talks(true, n_shared), 95, 100);
        assert_in_range(play_talks(false, n_shared), 95, 100);
    }
}

/* ---- a prompt that everybody has; send_body() checks the bound */

static void a_hot_prefix_never_loads_one_upstream_above_the_bound(void **state)
{
    int at[N_CLIENTS];
    struct talk hot = {.session = 0};
    struct buf body = {.limit = 0};
    struct site s;

    (void)state;
    seed = test_seed();
    site_init(&s);
    say(&hot, "system", 5000);
    buf_c(&body, "{\"model\":\"m\",\"messages\":[");
    buf_append(&body, buf_str(&hot.messages));
    buf_c(&body, "]}");
    for (size_t i = 0; i < N_CLIENTS; i++)
        at[i] = NONE;
    for (unsigned step = 0; step < 20000; step++) {
        /* few at first, then all of them */
        unsigned i = dice(1 + step % N_CLIENTS);

        if (at[i] == NONE) {
            at[i] = send_body(&s, 0, &body);
        } else {
            s.c[at[i]].in_flight--;
            at[i] = NONE;
        }
    }
    buf_fini(&hot.messages);
    buf_fini(&body);
    affinity_free(s.affinity);
}

/* ---- whatever happens */

static void make_any(struct routing_candidate *c, struct routing_turn *turn, uint16_t i)
{
    *c = (struct routing_candidate){.upstream = i,
                                    .tier = dice(3),
                                    .weight = 1 + dice(5),
                                    .in_flight = dice(6),
                                    .max_concurrency = dice(5),
                                    .may_be_used = dice(4) > 0,
                                    .was_tried = dice(6) == 0,
                                    .n_served = dice(20),
                                    .turn = turn};
}

static bool is_eligible(const struct routing_candidate *c)
{
    return c->may_be_used && !c->was_tried &&
           (c->max_concurrency == 0 || c->in_flight < c->max_concurrency);
}

static void check_any(const struct routing_choice *r, const struct routing_candidate *c, size_t n)
{
    unsigned n_eligible = 0, lowest = 9;

    for (size_t i = 0; i < n; i++) {
        n_eligible += is_eligible(&c[i]) ? 1 : 0;
        if (is_eligible(&c[i]) && c[i].tier < lowest)
            lowest = c[i].tier;
    }
    assert_true((r->outcome == ROUTING_FULL || r->outcome == ROUTING_NONE) == (n_eligible == 0));
    if (r->outcome == ROUTING_CHOSEN)
        assert_true(is_eligible(&c[r->index]) && c[r->index].tier == lowest);
    if (r->outcome == ROUTING_WAITS)
        assert_true(!is_eligible(&c[r->index]) && c[r->index].may_be_used &&
                    !c[r->index].was_tried && c[r->index].tier <= lowest);
}

static void by_chance_whoever_is_chosen_is_eligible_and_of_the_lowest_tier(void **state)
{
    struct routing_candidate c[6];
    struct routing_turn turns[6] = {{0}};
    struct site s;

    (void)state;
    seed = test_seed();
    site_init(&s);
    for (unsigned round = 0; round < 100000; round++) {
        const struct prefix_mark mark = {dice(8), 20000};
        struct routing_request r = {.prompt = {dice(8), 0, &mark, 1}, .waited_ms = dice(2) * 3000};
        size_t n = 1 + dice(6);
        struct routing_choice choice;

        for (uint16_t i = 0; i < n; i++)
            make_any(&c[i], &turns[i], i);
        s.conf.policy = (enum routing_policy)dice(ROUTING_POLICIES);
        choice = routing_choose(&s.conf, s.affinity, &r, c, n, round);
        check_any(&choice, c, n);
        if (choice.outcome == ROUTING_CHOSEN)
            affinity_note(s.affinity, &r.prompt, c[choice.index].upstream, round);
    }
    affinity_free(s.affinity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_later_turns_95_in_100_stay),
        cmocka_unit_test(a_hot_prefix_never_loads_one_upstream_above_the_bound),
        cmocka_unit_test(by_chance_whoever_is_chosen_is_eligible_and_of_the_lowest_tier),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
