/* turn_journal.c -- what is new of a response in the background, written down before anybody sees it.
 *
 *     events --(background_commit)--> row --> the store --> n_durable: readers get them
 *
 * A response is read for a row on the loop, between two of its events; rows are given to the store one
 * after the other. While the store is away they are tried again each second, and the response goes on: what
 * it holds in memory is bounded as any response is, and a row is no more than what is new of it. */
#include "turn/turn_internal.h"
#include "turn/turn_run.h"

enum { TRY_AGAIN_MS = 1000 };

static bool has_news(const struct turn *t)
{
    return t->run->journal.has_row || t->response.cuts.n > t->run->journal.walk.next;
}

/* ---- one row */

static int append_row(struct store_session *s, void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_run *run = t->run;
    struct turn_journal *j = &run->journal;
    const struct store_event_row row = {.first = (int64_t)j->row.first,
                                        .cuts = j->row.cuts,
                                        .done = buf_str(&j->row.done),
                                        .pieces = buf_str(&j->row.pieces)};

    run->wish = STORE_GO_ON;
    if (!run->is_started && store_start_work(s, run->work.id, run->work.lock, j->head, j->tail,
                                             &run->wish, reterr) == -1)
        return -1;
    if (run->wish != STORE_GO_ON)
        return 0;
    return store_append_events(s, run->work.id, run->work.lock, &row, &run->wish, reterr);
}

/* Readers get what the row has. */
static void show_row(struct turn *t)
{
    if (!t->run->is_started)
        turn_enter_table(t);
    t->run->is_started = true;
    t->entry.n_durable = t->run->journal.walk.next;
    running_notify(&t->entry);
}

static void on_row(void *arg, const struct err *failure)
{
    struct turn *t = arg;
    struct turn_journal *j = &t->run->journal;
    const bool is_over = failure == NULL && turn_run_is_unwanted(t->run);

    t->flight.n_tasks--;
    j->is_writing = false;
    j->is_failing = j->has_row = failure != NULL;
    if (failure == NULL && !is_over)
        show_row(t);
    if (flight_has_client(&t->flight) && is_over) {
        peer_nobody_leave(&t->run->nobody);
    } else if (failure == NULL && t->run->wish == STORE_CANCEL && t->flight.stage < TURN_RECORD) {
        turn_run_cancel(t);
    } else {
        turn_journal_note(t);
        turn_wake(&t->flight);
    }
}

static void start_row(struct turn *t)
{
    struct turn_journal *j = &t->run->journal;

    t->flight.n_tasks++;
    j->is_writing = true;
    j->task = (struct store_task){.access = STORE_WRITE,
                                  .work = append_row,
                                  .done = on_row,
                                  .arg = t,
                                  .loop = t->flight.worker->loop};
    store_start(t->flight.worker->store, &j->task);
}

/* What is new since the last row. The cuts go on growing, and move, while the row is under way. */
static int make_row(struct turn *t, struct err *reterr)
{
    struct turn_journal *j = &t->run->journal;

    journal_row_fini(&j->row);
    j->row = (struct journal_row){.n = 0};
    buf_reset(&j->cuts);
    if (replay_journal(&j->walk, &t->response, buf_str(&t->response.cuts.bytes), &j->row) == -1) {
        err_set(reterr, ERR_INTERNAL, "The events of the response do not fit it.");
        return -1;
    }
    buf_append(&j->cuts, j->row.cuts);
    j->row.cuts = buf_str(&j->cuts);
    if (buf_failed(&t->response.cuts.bytes) || buf_failed(&j->cuts) || buf_failed(&j->row.done) ||
        buf_failed(&j->row.pieces))
        return err_set_no_memory(reterr);
    j->has_row = true;
    t->last_event_ms = loop_now_ms(t->flight.worker->loop);
    return 0;
}

void turn_journal_write(struct turn *t)
{
    struct err e;

    t->run->journal.is_timed = false;
    if (t->run->journal.is_writing || !t->has_response || !has_news(t))
        return;
    if (t->run->journal.has_row || make_row(t, &e) == 0) {
        start_row(t);
        return;
    }
    turn_end_early(t, &e);
    flight_free_if_over(&t->flight);
}

void turn_journal_note(struct turn *t)
{
    struct turn_journal *j = &t->run->journal;
    const uint64_t wait_ms =
        j->is_failing ? TRY_AGAIN_MS : t->flight.worker->config->background_commit_ms;

    if (j->is_writing || j->is_timed || t->flight.is_on_pool || t->flight.stage >= TURN_RECORD ||
        !t->has_response || !has_news(t))
        return;
    j->is_timed = true;
    loop_timer_start(t->run->clock, wait_ms);
}

/* ---- the first one */

/* The object as it is while the response is made. */
static int keep_ends(struct turn *t, struct err *reterr)
{
    struct turn_journal *j = &t->run->journal;
    struct buf text = {.limit = 0};
    bool ok;

    response_object_head(&t->response, &text);
    j->head = arena_dup(&t->kept, buf_str(&text));
    ok = !buf_failed(&text);
    buf_reset(&text);
    response_object_tail(&t->response, &text);
    j->tail = arena_dup(&t->kept, buf_str(&text));
    ok = ok && !buf_failed(&text) && !str_is_none(j->head) && !str_is_none(j->tail);
    buf_fini(&text);
    return ok ? 0 : err_set_no_memory(reterr);
}

int turn_journal_start(struct turn *t, struct err *reterr)
{
    response_start(&t->response, NULL);
    if (keep_ends(t, reterr) == -1 || make_row(t, reterr) == -1)
        return -1;
    start_row(t);
    return 0;
}

void turn_journal_fini(struct turn_journal *j)
{
    journal_row_fini(&j->row);
    buf_fini(&j->cuts);
}
