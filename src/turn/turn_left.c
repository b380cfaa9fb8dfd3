/* turn_left.c -- a turn whose client has left, and that goes on for those who read it (CONTRACT 4.8).
 *
 *     goes on for                                            until nobody has read it for
 *     whoever may come back, when there is a resume_window   resume_window
 *     who has joined it by the key of its request            JOINED_WINDOW_MS
 *
 * A client that repeats its request with the same key joins the turn, often before the end of its first
 * connection is known here; that end is not the end of what the client waits for. Other readers keep it
 * alive in a resume_window alone.
 *
 * The turn has what it reads of its client later: the body, in whose text the request stands, and the key of
 * the caller. Nobody takes the client's place. In the end the turn ends as it would have ended when its
 * client left. */
#include "base/budget.h"
#include "ev/log.h"
#include "flight/peer_nobody.h"
#include "turn/turn_internal.h"

enum { POOL_LOOK_AGAIN_MS = 20, JOINED_WINDOW_MS = 1000 };

/* On the heap. */
struct turn_left {
    struct nobody nobody;
    struct http_header authorization; /* its only one */
    struct arena arena;               /* of all texts here */
    struct loop_timer *timer;         /* once the client has left */
    uint64_t since_ms;                /* that was when */
    bool is_over;                     /* nobody has read it for long enough */
};

/* ---- before */

static bool has_window(const struct turn *t)
{
    const struct config *c = t->flight.worker->config;

    return c->resume_window_ms > 0 && c->resumable == CONFIG_RESUMABLE_STORED;
}

static uint64_t window_ms(const struct turn *t)
{
    return has_window(t) ? t->flight.worker->config->resume_window_ms : JOINED_WINDOW_MS;
}

/* Streams of the background, and those over WebSocket, have no client whose end ends them alone. */
static bool is_kept_for(const struct turn *t)
{
    return (has_window(t) || t->may_be_joined) && t->run == NULL && !t->is_count &&
           !t->is_compact && !t->flight.peer.ops->manners.sends_messages;
}

static bool copy_request(struct turn_left *left, const struct turn *t, str *body)
{
    const struct http_request *r = t->flight.http;
    const str key = http_request_header(r, STR("authorization"));
    struct arena *a = &left->arena;
    struct http_request *own = &left->nobody.request;

    left->authorization = (struct http_header){STR("authorization"), arena_dup(a, key)};
    *own = (struct http_request){
        .method = arena_dup(a, r->method),
        .path = arena_dup(a, r->path),
        .query = arena_dup(a, r->query),
        .headers = &left->authorization,
        .n_headers = str_is_none(key) ? 0 : 1,
        .has_body = true,
        .peer = t->flight.client,
    };
    left->nobody.request_id = t->flight.request_id;
    left->nobody.body = own->body = *body = arena_dup(a, *body);
    return !a->has_failed;
}

int turn_left_keep(struct turn *t, str *body, struct err *reterr)
{
    if (!is_kept_for(t))
        return 0;
    t->left = budget_alloc(sizeof(*t->left), sizeof(*t->left));
    if (t->left == NULL)
        return err_set_no_memory(reterr);
    arena_init(&t->left->arena, 0); /* a body is bounded by max_body, whatever is made of it */
    return copy_request(t->left, t, body) ? 0 : err_set_no_memory(reterr);
}

/* ---- afterwards */

/* For how long nobody has read it for whom it goes on. */
static uint64_t unread_ms(const struct turn *t, uint64_t since_ms)
{
    const uint64_t now_ms = loop_now_ms(t->flight.worker->loop);

    return running_unread_ms(&t->entry, !has_window(t), since_ms, now_ms);
}

/* What was left out since its client is gone cannot be caught up on. */
bool turn_left_may_go_on(const void *arg)
{
    const struct turn *t = arg;

    return t->is_begun && t->left != NULL && !t->left->is_over && t->response.conf.keeps_cuts &&
           t->flight.stage < TURN_RECORD && !flight_is_gone(&t->flight) &&
           (has_window(t) || t->left->timer != NULL || unread_ms(t, 0) == 0);
}

static void start_timer(struct turn *t, uint64_t passed_ms)
{
    const uint64_t all_ms = window_ms(t);

    loop_timer_start(t->left->timer, all_ms > passed_ms ? all_ms - passed_ms : 0);
}

static void on_timer(void *arg)
{
    struct turn *t = arg;
    uint64_t passed_ms;

    if (t->flight.stage >= TURN_RECORD)
        return; /* it will be stored */
    passed_ms = unread_ms(t, t->left->since_ms);
    t->left->is_over = passed_ms >= window_ms(t);
    if (!t->left->is_over)
        start_timer(t, passed_ms);
    else if (t->flight.is_on_pool)
        loop_timer_start(t->left->timer, POOL_LOOK_AGAIN_MS);
    else
        peer_nobody_leave(&t->left->nobody);
}

static void log_left(const struct turn *t)
{
    log_line(LOG_INFO, "turn_left",
             (struct log_field[]){
                 LOG_STR("id", id_str(&t->response.id)), LOG_INT("window_ms", window_ms(t)),
                 LOG_STR("client", t->flight.client), LOG_STR("owner", t->flight.caller.name),
                 LOG_STR("request_id", t->flight.request_id), LOG_END});
}

bool turn_left_go_on(void *arg)
{
    struct turn *t = arg;
    struct turn_left *left = t->left;
    struct worker *w = t->flight.worker;

    left->timer = loop_timer_new(w->loop, on_timer, t);
    if (left->timer == NULL)
        return false;
    log_left(t);
    w->n_runs++;
    left->since_ms = loop_now_ms(w->loop);
    flight_take_peer(&t->flight, peer_nobody(&left->nobody), &left->nobody.request);
    start_timer(t, 0);
    return true;
}

void turn_left_free(struct turn *t)
{
    struct turn_left *left = t->left;

    if (left == NULL)
        return;
    if (left->timer != NULL)
        t->flight.worker->n_runs--;
    loop_timer_free(left->timer);
    arena_fini(&left->arena);
    budget_free(left, sizeof(*left));
    t->left = NULL;
}
