/* test_upstream_pool_random.c -- whatever tickets do, in whatever order: no upstream has more than its limit, what is
 * counted is what is there, nobody waits for what is free, and at the end all is at rest. */
#include "upstream_pool_fixture.h"

#include "lib/test_seed.h"

enum { TICKETS = 60, STEPS = 4000, SERVERS = 4 };

#define SERVER(name, members)                                                                      \
    "\"" name "\": {\"url\": \"http://" name ":1\", \"models\": [\"m\", \"n\"]" members "}"
#define FILE_OF(policy)                                                                                                                                                                   \
    "{\"defaults\": {\"health\": \"off\"}, \"upstreams\": {" SERVER("a", ", \"max_concurrency\": 1") ", " SERVER(                                                                         \
        "b",                                                                                                                                                                              \
        ", \"max_concurrency\": 3, \"weight\": 3") ", " SERVER("c",                                                                                                                       \
                                                               ", \"max_concurrency\": 2, \"tier\": 1") ", "                                                                              \
                                                                                                        "\"d\": {\"url\": \"http://d:1\", \"models\": [\"n\"], \"max_concurrency\": 2}}," \
                                                                                                        " \"policies\": {\"*\": {\"policy\": \"" policy                                   \
                                                                                                        "\", \"queue_limit\": 30,"                                                        \
                                                                                                        " \"queue_owner\": 12, \"queue_timeout\": \"20s\"}}}"

static const char *const names[SERVERS] = {"a", "b", "c", "d"};

struct actor {
    struct asker asker;
    bool is_there; /* its arena is in use */
    bool is_busy;  /* waits or has a place */
};

static struct actor actors[TICKETS];

static unsigned draw(unsigned n)
{
    return (unsigned)rand() % n;
}

static enum upstream_ticket_state state_of(const struct actor *a)
{
    return a->is_busy ? a->asker.ticket.state : UPSTREAM_TICKET_IDLE;
}

/* ---- what actors do */

static void renew(struct actor *a)
{
    static const char *const owners[] = {"x", "y", "z"};
    static const char *const sessions[] = {"", "one", "two"};

    if (a->is_there)
        arena_fini(&a->asker.arena);
    a->is_there = true;
    (void)prepare(&a->asker, draw(2) == 0 ? "m" : "n", owners[draw(3)]);
    a->asker.want.session = str_from_c(sessions[draw(3)]);
    a->asker.want.body_bytes = draw(1000);
    a->asker.want.is_later = draw(4) == 0;
    a->asker.want.priority = (enum fair_class)draw(FAIR_CLASSES);
    a->asker.want.weight = 1 + draw(3);
}

static void ask_for(struct actor *a)
{
    const enum upstream_ticket_state s = ask(&a->asker);

    a->is_busy = s == UPSTREAM_TICKET_WAITING || s == UPSTREAM_TICKET_GRANTED;
}

static void end_attempt(struct actor *a)
{
    static const enum upstream_outcome outcomes[] = {
        UPSTREAM_OUTCOME_OK,      UPSTREAM_OUTCOME_OK,    UPSTREAM_OUTCOME_OK,
        UPSTREAM_OUTCOME_OK,      UPSTREAM_OUTCOME_429,   UPSTREAM_OUTCOME_503,
        UPSTREAM_OUTCOME_CONNECT, UPSTREAM_OUTCOME_RESET, UPSTREAM_OUTCOME_4XX,
        UPSTREAM_OUTCOME_LOADING};
    const struct upstream_end end = {.outcome = outcomes[draw(COUNT_OF(outcomes))],
                                     .is_shown = draw(8) == 0,
                                     .is_final = draw(8) == 0,
                                     .retry_after_s = (int)draw(4)};

    a->is_busy = false;
    if (upstream_pool_end(rig.pool, &a->asker.ticket, &end, &a->asker.arena).next !=
            UPSTREAM_NEXT_GIVE_UP &&
        draw(6) > 0)
        ask_for(a);
    else
        leave(&a->asker);
}

/* Whoever is told looks, as a flight does. */
static void look_at(struct actor *a)
{
    const enum upstream_ticket_state s = look(&a->asker);

    a->is_busy = s == UPSTREAM_TICKET_WAITING || s == UPSTREAM_TICKET_GRANTED;
}

static void act(struct actor *a)
{
    if (a->is_busy)
        look_at(a);
    if (!a->is_busy) {
        pass(0); /* no message is under way to what is made anew */
        renew(a);
        ask_for(a);
    } else if (draw(5) == 0) {
        leave(&a->asker);
        a->is_busy = false;
    } else if (state_of(a) == UPSTREAM_TICKET_GRANTED) {
        end_attempt(a);
    }
}

static void order(void)
{
    const str name = str_from_c(names[draw(SERVERS)]);

    if (draw(3) == 0)
        (void)upstream_pool_drain(rig.pool, name);
    else
        (void)upstream_pool_resume(rig.pool, name);
}

/* ---- what must be so */

static bool is_free_for(const struct actor *a, size_t candidate)
{
    const struct upstream_entry *u =
        &a->asker.want.table->entries[a->asker.route.candidates[candidate].entry];
    const unsigned char *tried = a->asker.ticket.tried;

    return u->live->health.state == UPSTREAM_STATE_UP &&
           u->live->in_flight < upstream_live_limit(u->live, u) &&
           (tried == NULL || !tried[candidate]);
}

static void assert_waits_for_something(const struct actor *a)
{
    if (!fair_ticket_waits(&a->asker.ticket.queued))
        return; /* for a time */
    for (size_t i = 0; i < a->asker.route.n; i++)
        assert_false(is_free_for(a, i));
}

static void assert_sound(void)
{
    unsigned granted[SERVERS] = {0};
    size_t n_queued = 0, bytes = 0;

    for (size_t i = 0; i < TICKETS; i++) {
        const struct actor *a = &actors[i];

        if (state_of(a) == UPSTREAM_TICKET_GRANTED) {
            granted[place_of(&a->asker).p[0] - 'a']++;
        } else if (state_of(a) == UPSTREAM_TICKET_WAITING) {
            assert_waits_for_something(a);
            n_queued++;
            bytes += a->asker.want.body_bytes;
        }
    }
    for (size_t i = 0; i < SERVERS; i++) {
        const struct upstream_view view = view_of(names[i]);

        assert_int_equal(view.in_flight, granted[i]);
        assert_in_range(view.in_flight, 0, view.limit);
    }
    assert_int_equal(rig.pool->n_waiting, n_queued);
    assert_int_equal(rig.pool->waiting_bytes, bytes);
}

static void act_for_a_while(const char *file)
{
    open_rig(file, (const char *const[]){"--max-queue-memory", "20000", NULL});
    for (unsigned step = 0; step < STEPS; step++) {
        act(&actors[draw(TICKETS)]);
        if (draw(200) == 0)
            order();
        if (draw(4) == 0)
            pass(draw(draw(20) == 0 ? 30000 : 500));
        if (step == STEPS / 2)
            take_next(file, (const char *const[]){"--max-queue-memory", "20000", NULL});
        assert_sound();
    }
    for (size_t i = 0; i < TICKETS; i++) {
        if (actors[i].is_there)
            gone(&actors[i].asker);
        actors[i] = (struct actor){.is_there = false};
    }
    close_rig();
}

static void nothing_is_lost_or_given_twice(void **state)
{
    static const char *const files[] = {FILE_OF("affinity"), FILE_OF("least"),
                                        FILE_OF("round_robin"), FILE_OF("first")};

    (void)state;
    srand(test_seed());
    for (size_t i = 0; i < COUNT_OF(files); i++)
        act_for_a_while(files[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_or_given_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
