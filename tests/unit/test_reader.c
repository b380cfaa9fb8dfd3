/* test_reader.c -- a reader of a response that is made here, made elsewhere, or over: the bytes are those
 * that were sent first, whatever the reader goes through on its way. */
#include "flight_fixture.h"

#include "lib/failing_malloc.h"
#include "response/response.h"
#include "resume/reader.h"
#include "resume/running.h"
#include "store/store_events.h"

enum { MOST_ROWS = 8, LARGE = 300 * 1024 };

/* The response, and the turn that makes it. */
static struct {
    struct running *table;
    struct running_entry entry;
    struct response response;
    struct tool_set tools;
    struct buf sent; /* its stream, as it was sent first */
    unsigned n_fills;

    /* what is stored of it */
    enum store_status status;
    struct cuts whole;
    struct replay journal;
    struct store_event_row rows[MOST_ROWS];
    struct arena of_rows;
    size_t n_rows, rows_at_once;
    bool is_stored, has_no_cuts;
} the;

/* ---- the turn */

static enum running_outcome fill(struct running_entry *entry, struct running_ask *ask)
{
    the.n_fills++;
    return running_fill(ask, &the.response, entry->n_durable);
}

static void cancel(struct running_entry *entry)
{
    (void)entry;
    fail();
}

static const struct running_ops ops = {fill, cancel};

static void begin_turn(void)
{
    running_add(the.table, &the.entry, &ops, STR(""), STR("resp_1"), stage.worker.loop);
    the.entry.n_durable = UINT64_MAX;
}

static void end_turn(void)
{
    running_remove(&the.entry);
}

/* ---- the response */

static void make_response(bool is_background)
{
    const struct response_conf conf = {.ids = &stage.worker.ids,
                                       .tools = &the.tools,
                                       .service_tier = STR_NONE,
                                       .echo = STR("\"model\":\"m\""),
                                       .is_background = is_background,
                                       .error_event = true,
                                       .keeps_cuts = true};

    response_init(&the.response, &conf);
}

static void say(const char *text)
{
    const struct delta d = {.kind = DELTA_TEXT, .text = str_from_c(text)};

    (void)response_delta(&the.response, &d, &the.sent);
    running_notify(&the.entry); /* which may be in no table */
}

static void say_much(size_t bytes)
{
    struct buf text = {.limit = 0};

    for (size_t i = 0; i < bytes; i++)
        buf_char(&text, 'x');
    say(buf_cstr(&text));
    buf_fini(&text);
}

/* The response has come to its end, which is stored before the last event is sent. */
static void finish(void)
{
    response_end_round(&the.response, FINISH_STOP, &the.sent);
    response_finish(&the.response, FINISH_STOP, 1, &the.sent);
    response_whole_cuts(&the.response, &the.whole);
    the.status = STORE_COMPLETED;
    the.is_stored = true;
}

static void send_end(void)
{
    response_end(&the.response, &the.sent);
    running_notify(&the.entry);
    end_turn();
}

/* ---- the store */

/* Stores what is new of a response under way. */
static void store_row(void)
{
    struct store_event_row *row = &the.rows[the.n_rows++];
    struct journal_row made;

    assert_int_equal(
        replay_journal(&the.journal, &the.response, buf_str(&the.response.cuts.bytes), &made), 0);
    row->first = (int64_t)made.first;
    row->cuts = arena_dup(&the.of_rows, made.cuts);
    row->done = arena_dup(&the.of_rows, buf_str(&made.done));
    row->pieces = arena_dup(&the.of_rows, buf_str(&made.pieces));
    journal_row_fini(&made);
    the.status = STORE_IN_PROGRESS;
    the.is_stored = true;
}

/* The text of the buf, which is freed. The arena has failed when there is no memory for it. */
static str take_text(struct arena *a, struct buf *text)
{
    const str copy = buf_failed(text) ? STR_NONE : arena_dup(a, buf_str(text));

    a->has_failed = a->has_failed || buf_failed(text);
    buf_fini(text);
    return copy;
}

static void load_items(struct arena *a, struct store_items *ret)
{
    *ret = (struct store_items){.v = arena_array(a, the.response.n_items, sizeof(*ret->v))};
    for (const struct output_item *it = the.response.first; it != NULL && ret->v != NULL;
         it = it->next) {
        struct buf body = {.limit = 0};

        output_item_write(it, &body);
        ret->v[ret->n++].body = take_text(a, &body);
    }
}

static void load_object(struct arena *a, struct store_response *ret)
{
    struct buf head = {.limit = 0}, tail = {.limit = 0};

    response_object_head(&the.response, &head);
    response_object_tail(&the.response, &tail);
    ret->head = take_text(a, &head);
    ret->tail = take_text(a, &tail);
}

static void load_rows(int64_t from, struct arena *a, struct store_events *ret)
{
    ret->rows = arena_array(a, MOST_ROWS, sizeof(*ret->rows));
    for (size_t i = 0; i < the.n_rows && ret->rows != NULL; i++) {
        if (the.rows[i].first < from)
            continue;
        ret->has_more = ret->n_rows == the.rows_at_once;
        if (ret->has_more)
            return;
        ret->rows[ret->n_rows++] = the.rows[i];
    }
}

int store_get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                     struct store_events *ret, struct err *reterr)
{
    (void)s;
    assert_str_eq(owner, STR(""));
    *ret = (struct store_events){.status = the.status};
    if (!the.is_stored || !str_eq(id, STR("resp_1"))) {
        err_set(reterr, ERR_NOT_FOUND, "There is no response %.*s.", STR_ARG(id));
        return -1;
    }
    load_object(a, &ret->response);
    if (the.status == STORE_QUEUED || the.status == STORE_IN_PROGRESS) {
        load_rows(from, a, ret);
    } else {
        load_items(a, &ret->response.items);
        ret->response.cuts = the.has_no_cuts ? STR_NONE : arena_dup(a, buf_str(&the.whole.bytes));
    }
    return a->has_failed ? err_set_no_memory(reterr) : 0;
}

/* ---- the reader */

static void begin_reader_for(const char *method, const struct reader_want *want)
{
    const struct caller nobody = {.owner = STR(""), .name = STR_NONE};

    stage.request = (struct http_request){
        .method = str_from_c(method), .path = STR("/v1/responses/resp_1"), .peer = STR("unix")};
    reader_start(&stage.worker, peer_of_exchange(&stage.x), &stage.request, &nobody, want);
}

static void begin_reader(int64_t after)
{
    begin_reader_for("GET", &(struct reader_want){.id = STR("resp_1"), .after = after});
}

static void pass(void)
{
    fake_loop_pass(stage.worker.loop, 0);
}

static void poll(void)
{
    fake_loop_pass(stage.worker.loop, stage.load.config.resume_poll_ms);
}

/* The bytes behind the event of that number. */
static str sent_after(int64_t after)
{
    str rest = buf_str(&the.sent);

    for (; after >= 0 && rest.len > 0; after--)
        rest = str_skip(rest, str_find(rest, STR("\n\n")) + 2);
    return rest;
}

static void assert_read(int64_t after)
{
    assert_str_eq(buf_str(&stage.x.said), sent_after(after));
}

static void assert_read_to_the_end(int64_t after)
{
    assert_true(stage.x.is_over);
    assert_false(stage.x.is_aborted);
    assert_int_equal(stage.x.status, 200);
    assert_read(after);
    assert_null(stage.worker.flights);
}

static void assert_refused(enum err_code code)
{
    assert_true(stage.x.is_over);
    assert_int_equal(stage.x.why, code);
}

static void assert_broken_off(void)
{
    assert_true(stage.x.is_aborted);
    assert_null(stage.worker.flights);
}

/* ---- around a test */

static int open_stage(void **state)
{
    static const char *const flags[] = {"--heartbeat-interval", "15s", NULL};

    (void)state;
    stage_open(flags);
    memset(&the, 0, sizeof(the));
    the.rows_at_once = MOST_ROWS;
    the.table = running_new(1);
    running_open(the.table, stage.worker.loop);
    stage.worker.running = the.table;
    make_response(false);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    end_turn();
    pass();
    flight_drop_all(&stage.worker); /* of a test that has failed */
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
    running_free(the.table);
    response_fini(&the.response);
    cuts_fini(&the.whole);
    arena_fini(&the.of_rows);
    buf_fini(&the.sent);
    stage_close();
    return 0;
}

/* ---- made here */

static void one_that_is_made_here_is_read_as_it_is_made(void **state)
{
    (void)state;
    begin_turn();
    response_start(&the.response, &the.sent);
    begin_reader(-1);
    assert_int_equal(stage.x.status, 200);
    pass();
    assert_read(-1);
    say("Hello");
    pass();
    assert_read(-1);
    say(" there");
    pass();
    finish();
    send_end();
    pass();
    assert_read_to_the_end(-1);
    assert_null(stage.store_task);
}

static void a_reader_may_begin_behind_what_there_is(void **state)
{
    (void)state;
    begin_turn();
    response_start(&the.response, &the.sent);
    begin_reader(3);
    say("Hello");
    pass();
    assert_read(3);
    say(" there");
    pass();
    finish();
    send_end();
    pass();
    assert_read_to_the_end(3);
}

/* The client has read all that there is of a response that is made here. */
static void begin_live_reader(void)
{
    begin_turn();
    response_start(&the.response, &the.sent);
    begin_reader(-1);
    pass();
}

static void a_slow_reader_is_not_filled(void **state)
{
    unsigned n_fills;

    (void)state;
    begin_live_reader();
    stage.x.handler->on_blocked(stage.x.arg, true);
    say("one");
    pass();
    n_fills = the.n_fills;
    say("two");
    say("three");
    pass();
    assert_int_equal(the.n_fills, n_fills);
    stage.x.handler->on_blocked(stage.x.arg, false);
    pass();
    assert_read(-1);
    finish();
    send_end();
    pass();
    assert_read_to_the_end(-1);
}

static void what_a_slow_reader_has_not_had_comes_from_the_store(void **state)
{
    (void)state;
    begin_live_reader();
    stage.x.handler->on_blocked(stage.x.arg, true);
    say("one");
    pass();
    say_much(LARGE);
    finish();
    send_end();
    pass();
    assert_null(stage.store_task);
    stage.x.handler->on_blocked(stage.x.arg, false);
    stage_settle();
    assert_read_to_the_end(-1);
}

static void only_what_is_durable_is_read(void **state)
{
    size_t n;

    (void)state;
    begin_turn();
    response_start(&the.response, &the.sent);
    say("one");
    the.entry.n_durable = the.response.cuts.n;
    n = the.sent.len;
    begin_reader(-1);
    say("two");
    pass();
    assert_int_equal(stage.x.said.len, n);
    the.entry.n_durable = the.response.cuts.n;
    running_notify(&the.entry);
    pass();
    assert_read(-1);
    client_leaves();
}

static void a_turn_that_is_gone_and_not_stored_breaks_the_stream_off(void **state)
{
    (void)state;
    begin_live_reader();
    end_turn();
    stage_settle();
    assert_broken_off();
}

/* The client leaves: nothing is left of its flight. */
static void leave_at_rest(void)
{
    client_leaves();
    assert_null(stage.worker.flights);
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
}

static void a_reader_that_leaves_ends_nothing_else(void **state)
{
    (void)state;
    begin_live_reader();
    leave_at_rest();
    say("nobody hears");
}

/* ---- one that joins by the key of its request */

static struct {
    unsigned n_begun; /* requests that began anew */
    const struct http_exchange *exchange;
    const struct http_request *request;
    str owner;
} anew;

/* What takes the reader's place watches the exchange, and answers it. */
static void begin_anew(struct worker *w, struct http_exchange *x, const struct http_request *r,
                       const struct caller *caller)
{
    assert_ptr_equal(w, &stage.worker);
    assert_false(x->is_over);
    assert_int_equal(x->status, 0);
    anew.n_begun++;
    anew.exchange = x;
    anew.request = r;
    anew.owner = caller->owner;
    http_exchange_respond(x, 200, NULL, 0, STR("anew"));
}

static void join_turn(void)
{
    memset(&anew, 0, sizeof(anew));
    begin_turn();
    the.entry.n_durable = 0;
    response_start(&the.response, &the.sent);
    begin_reader_for(
        "POST", &(struct reader_want){
                    .id = STR("resp_1"), .after = -1, .again = begin_anew, .exchange = &stage.x});
}

static void show_all(void)
{
    the.entry.n_durable = UINT64_MAX;
    running_notify(&the.entry);
    pass();
}

static void who_joins_by_a_key_gets_a_head_with_the_first_event(void **state)
{
    (void)state;
    join_turn();
    pass();
    fake_loop_pass(stage.worker.loop, 16000);
    assert_int_equal(stage.x.status, 0);
    show_all();
    assert_int_equal(stage.x.status, 200);
    assert_read(-1);
    say("Hello");
    pass();
    finish();
    send_end();
    pass();
    assert_read_to_the_end(-1);
    assert_int_equal(anew.n_begun, 0);
}

static void a_request_begins_anew_when_its_turn_is_given_up_before_the_first_event(void **state)
{
    (void)state;
    join_turn();
    pass();
    end_turn();
    stage_settle();
    assert_int_equal(anew.n_begun, 1);
    assert_ptr_equal(anew.exchange, &stage.x);
    assert_ptr_equal(anew.request, &stage.request);
    assert_str_eq(anew.owner, STR(""));
    assert_str_eq(buf_str(&stage.x.said), STR("anew"));
    assert_null(stage.worker.flights);
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
    begin_turn(); /* which has no reader any more */
    assert_int_equal(running_unread_ms(&the.entry, false, 0, 1), 1);
}

static void a_request_begins_anew_when_its_turn_is_gone_before_it_is_asked(void **state)
{
    (void)state;
    join_turn();
    end_turn();
    stage_settle();
    assert_int_equal(anew.n_begun, 1);
    assert_null(stage.worker.flights);
}

static void what_was_joined_and_has_begun_is_broken_off(void **state)
{
    (void)state;
    join_turn();
    show_all();
    end_turn();
    stage_settle();
    assert_broken_off();
    assert_int_equal(anew.n_begun, 0);
}

static void what_was_joined_and_is_over_before_the_first_event_is_read_from_the_store(void **state)
{
    (void)state;
    join_turn();
    say("Hello");
    finish();
    send_end();
    assert_int_equal(stage.x.status, 0);
    stage_settle();
    assert_read_to_the_end(-1);
    assert_int_equal(anew.n_begun, 0);
}

static void a_store_that_fails_is_told_who_has_joined_and_nothing_begins(void **state)
{
    static const struct err failure = {.code = ERR_STORE_AWAY, .msg = "away"};

    (void)state;
    join_turn();
    end_turn();
    pass();
    store_reports(&failure);
    assert_refused(ERR_STORE_AWAY);
    assert_int_equal(anew.n_begun, 0);
    assert_null(stage.worker.flights);
}

static void who_has_joined_may_leave_before_the_first_event(void **state)
{
    (void)state;
    join_turn();
    pass();
    client_leaves();
    assert_null(stage.worker.flights);
    end_turn();
    assert_int_equal(anew.n_begun, 0);
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
}

static void a_worker_that_ends_refuses_who_has_no_event_yet(void **state)
{
    static const struct err ends = {.code = ERR_OVERLOADED, .msg = "The gateway ends."};

    (void)state;
    join_turn();
    pass();
    flight_end_all(&stage.worker, &ends);
    assert_refused(ERR_OVERLOADED);
    assert_null(stage.worker.flights);
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
}

/* ---- signs of life */

static void a_silent_stream_has_signs_of_life(void **state)
{
    (void)state;
    begin_turn();
    response_start(&the.response, &the.sent);
    begin_reader(-1);
    fake_loop_pass(stage.worker.loop, 16000);
    assert_true(client_was_told(": heartbeat"));
    client_leaves();
}

/* ---- over */

static void make_whole(size_t bytes)
{
    response_start(&the.response, &the.sent);
    say("Hello");
    if (bytes > 0)
        say_much(bytes);
    finish();
    send_end();
}

static void begin_turn_and_make_whole(size_t bytes)
{
    begin_turn();
    make_whole(bytes);
}

static void one_that_is_over_is_read_from_any_event_on(void **state)
{
    const int64_t n = 9; /* events */

    for (int64_t after = -1; after <= n + 1; after++) {
        begin_turn_and_make_whole(0);
        begin_reader(after);
        stage_settle();
        assert_read_to_the_end(after < n ? after : n - 1);
        if (after <= n) {
            (void)close_stage(state);
            (void)open_stage(state);
        }
    }
}

static void a_large_one_is_read_on_the_pool_and_written_in_steps(void **state)
{
    (void)state;
    begin_turn_and_make_whole(LARGE);
    begin_reader(-1);
    stage_settle();
    assert_read_to_the_end(-1);
}

static void what_does_not_keep_its_events_is_refused(void **state)
{
    (void)state;
    begin_turn_and_make_whole(0);
    the.has_no_cuts = true;
    begin_reader(-1);
    stage_settle();
    assert_refused(ERR_INVALID_VALUE);
    assert_true(client_was_told("The events of this response are not kept."));
}

static void one_that_is_too_large_to_be_read_is_refused(void **state)
{
    (void)state;
    begin_turn_and_make_whole(LARGE);
    stage.load.config.max_request_memory_bytes = LARGE / 2;
    begin_reader(-1);
    stage_settle();
    assert_refused(ERR_REQUEST_TOO_LARGE);
    assert_true(client_was_told("max_request_memory"));
}

static void an_unknown_one_is_refused(void **state)
{
    (void)state;
    begin_reader(-1);
    stage_settle();
    assert_refused(ERR_NOT_FOUND);
}

static void nobody_waits_for_a_store_that_is_away(void **state)
{
    (void)state;
    err_set(&stage.store_away, ERR_STORE_AWAY, "away");
    begin_reader(-1);
    assert_refused(ERR_STORE_AWAY);
}

static void damaged_cuts_are_an_error(void **state)
{
    (void)state;
    begin_turn_and_make_whole(0);
    the.whole.bytes.p[the.whole.bytes.len - 1] = (char)251;
    begin_reader(-1);
    stage_settle();
    assert_true(stage.x.is_over);
    assert_true(stage.x.is_aborted || stage.x.status == 500);
}

static void a_head_is_answered_at_once(void **state)
{
    (void)state;
    begin_turn();
    response_start(&the.response, &the.sent);
    begin_reader_for("HEAD", &(struct reader_want){.id = STR("resp_1"), .after = -1});
    assert_int_equal(stage.x.status, 200);
    assert_true(stage.x.is_over);
    pass();
    assert_null(stage.worker.flights);
}

/* ---- made elsewhere */

/* The client has read all that is stored of a response that is made elsewhere. */
static void begin_polling(void)
{
    response_start(&the.response, &the.sent);
    say("one");
    store_row();
    begin_reader(-1);
    stage_settle();
}

static void one_that_is_made_elsewhere_is_polled(void **state)
{
    (void)state;
    begin_polling();
    assert_read(-1);
    say("two");
    store_row();
    pass();
    assert_null(stage.store_task);
    poll();
    stage_settle();
    assert_read(-1);
    poll();
    stage_settle();
    finish();
    response_end(&the.response, &the.sent);
    poll();
    stage_settle();
    assert_read_to_the_end(-1);
}

static void rows_that_do_not_come_at_once_are_fetched_without_a_pause(void **state)
{
    (void)state;
    the.rows_at_once = 1;
    response_start(&the.response, &the.sent);
    for (int i = 0; i < 4; i++) {
        say("more");
        store_row();
    }
    begin_reader(-1);
    stage_settle();
    assert_read(-1);
    client_leaves();
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
}

static void one_that_is_queued_has_its_first_events(void **state)
{
    (void)state;
    response_fini(&the.response);
    make_response(true);
    response_queue(&the.response, &the.sent);
    the.status = STORE_QUEUED;
    the.is_stored = true;
    begin_reader(-1);
    stage_settle();
    assert_true(client_was_told("response.queued"));
    assert_read(-1);
    response_start(&the.response, &the.sent);
    say("Hello");
    store_row();
    poll();
    stage_settle();
    assert_read(-1);
    client_leaves();
}

static void one_that_begins_here_is_read_without_a_pause(void **state)
{
    (void)state;
    response_fini(&the.response);
    make_response(true);
    response_queue(&the.response, &the.sent);
    the.status = STORE_QUEUED;
    the.is_stored = true;
    begin_reader(-1);
    stage_settle();
    begin_turn();
    response_start(&the.response, &the.sent);
    say("Hello");
    pass();
    assert_read(-1);
    say(" there");
    pass();
    assert_read(-1);
    finish();
    send_end();
    pass();
    assert_read_to_the_end(-1);
}

static void one_that_is_deleted_meanwhile_is_broken_off(void **state)
{
    (void)state;
    begin_polling();
    the.is_stored = false;
    poll();
    stage_settle();
    assert_broken_off();
}

static void a_store_that_fails_meanwhile_breaks_the_stream_off(void **state)
{
    static const struct err failure = {.code = ERR_STORE, .msg = "gone"};

    (void)state;
    begin_polling();
    poll();
    store_reports(&failure);
    assert_broken_off();
}

/* ---- the end of a worker, and of a client */

static void a_worker_that_ends_breaks_the_stream_off(void **state)
{
    static const struct err ends = {.code = ERR_OVERLOADED, .msg = "The gateway ends."};

    (void)state;
    begin_live_reader();
    flight_end_all(&stage.worker, &ends);
    assert_broken_off();
    assert_int_equal(loop_n_expected(stage.worker.loop), 0);
}

/* The client leaves: the flight ends when the work that it has begun is over. */
static void leave_at_work(void)
{
    client_leaves();
    assert_non_null(stage.worker.flights);
    stage_settle();
    assert_null(stage.worker.flights);
}

static void a_client_may_leave_while_the_store_works(void **state)
{
    (void)state;
    begin_turn_and_make_whole(LARGE);
    begin_reader(-1);
    assert_non_null(stage.store_task);
    leave_at_work();
}

static void a_client_may_leave_while_its_response_is_read(void **state)
{
    (void)state;
    begin_turn_and_make_whole(LARGE);
    begin_reader(-1);
    store_reports(NULL);
    leave_at_work();
}

static void a_client_may_leave_between_two_looks_at_the_store(void **state)
{
    (void)state;
    begin_polling();
    leave_at_rest();
}

static void there_are_no_more_readers_than_there_may_be(void **state)
{
    struct running_reader others[16] = {0};
    struct err e;

    (void)state;
    begin_turn();
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_int_equal(
            running_join(the.table, &others[i], STR(""), STR("resp_1"), COUNT_OF(others), &e), 0);
    begin_reader(-1);
    assert_refused(ERR_RATE_LIMIT);
    assert_null(stage.worker.flights);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        running_leave(&others[i], 0);
}

static void padding_is_fresh(void **state)
{
    (void)state;
    begin_turn_and_make_whole(0);
    begin_reader_for("GET",
                     &(struct reader_want){.id = STR("resp_1"), .after = -1, .obfuscate = true});
    stage_settle();
    assert_true(stage.x.is_over);
    assert_true(client_was_told("\"obfuscation\":"));
}

/* ---- without memory */

static void make_live(void)
{
    begin_turn();
    response_start(&the.response, &the.sent);
    say_much(LARGE);
    finish();
    response_end(&the.response, &the.sent);
}

static void make_over(void)
{
    begin_turn_and_make_whole(LARGE);
}

static void make_journal(void)
{
    response_start(&the.response, &the.sent);
    say_much(LARGE);
    store_row();
    say("and more");
    store_row();
}

/* The n-th allocation fails. A client is told that something went wrong, or that is not its stream: nothing
 * is left either way. Returns whether there was one. */
static bool read_without_memory(void (*make)(void), long n, enum failing_malloc how)
{
    bool has_failed;

    make();
    failing_malloc_begin(n, how);
    begin_reader(-1);
    stage_settle();
    has_failed = failing_malloc_end();
    if (!has_failed)
        assert_read(-1);
    if (!stage.x.is_over)
        client_leaves(); /* more of it may come */
    stage_settle();
    assert_null(stage.worker.flights);
    return has_failed;
}

static void each_allocation_may_fail(void **state)
{
    static void (*const makes[])(void) = {make_live, make_over, make_journal};

    for (size_t i = 0; i < COUNT_OF(makes); i++) {
        for (long n = 0; n < 2000; n++) {
            const bool once = read_without_memory(makes[i], n, FAILS_ONCE);

            (void)close_stage(state);
            (void)open_stage(state);
            (void)read_without_memory(makes[i], n, FAILS_FOR_GOOD);
            (void)close_stage(state);
            (void)open_stage(state);
            if (!once)
                break;
            assert_int_not_equal(n, 1999);
        }
    }
}

#define ON_STAGE(test) cmocka_unit_test_setup_teardown(test, open_stage, close_stage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(one_that_is_made_here_is_read_as_it_is_made),
        ON_STAGE(a_reader_may_begin_behind_what_there_is),
        ON_STAGE(a_slow_reader_is_not_filled),
        ON_STAGE(what_a_slow_reader_has_not_had_comes_from_the_store),
        ON_STAGE(only_what_is_durable_is_read),
        ON_STAGE(a_turn_that_is_gone_and_not_stored_breaks_the_stream_off),
        ON_STAGE(a_reader_that_leaves_ends_nothing_else),
        ON_STAGE(who_joins_by_a_key_gets_a_head_with_the_first_event),
        ON_STAGE(a_request_begins_anew_when_its_turn_is_given_up_before_the_first_event),
        ON_STAGE(a_request_begins_anew_when_its_turn_is_gone_before_it_is_asked),
        ON_STAGE(what_was_joined_and_has_begun_is_broken_off),
        ON_STAGE(what_was_joined_and_is_over_before_the_first_event_is_read_from_the_store),
        ON_STAGE(a_store_that_fails_is_told_who_has_joined_and_nothing_begins),
        ON_STAGE(who_has_joined_may_leave_before_the_first_event),
        ON_STAGE(a_worker_that_ends_refuses_who_has_no_event_yet),
        ON_STAGE(a_silent_stream_has_signs_of_life),
        ON_STAGE(one_that_is_over_is_read_from_any_event_on),
        ON_STAGE(a_large_one_is_read_on_the_pool_and_written_in_steps),
        ON_STAGE(what_does_not_keep_its_events_is_refused),
        ON_STAGE(one_that_is_too_large_to_be_read_is_refused),
        ON_STAGE(an_unknown_one_is_refused),
        ON_STAGE(nobody_waits_for_a_store_that_is_away),
        ON_STAGE(damaged_cuts_are_an_error),
        ON_STAGE(a_head_is_answered_at_once),
        ON_STAGE(one_that_is_made_elsewhere_is_polled),
        ON_STAGE(rows_that_do_not_come_at_once_are_fetched_without_a_pause),
        ON_STAGE(one_that_is_queued_has_its_first_events),
        ON_STAGE(one_that_begins_here_is_read_without_a_pause),
        ON_STAGE(one_that_is_deleted_meanwhile_is_broken_off),
        ON_STAGE(a_store_that_fails_meanwhile_breaks_the_stream_off),
        ON_STAGE(a_worker_that_ends_breaks_the_stream_off),
        ON_STAGE(a_client_may_leave_while_the_store_works),
        ON_STAGE(a_client_may_leave_while_its_response_is_read),
        ON_STAGE(a_client_may_leave_between_two_looks_at_the_store),
        ON_STAGE(there_are_no_more_readers_than_there_may_be),
        ON_STAGE(padding_is_fresh),
        ON_STAGE(each_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
