/* turn_fixture.h -- the way of a turn to each state that waits (turn.c). */
#ifndef ANTIPHON_TESTS_UNIT_TURN_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_TURN_FIXTURE_H

#include "flight_fixture.h"

#include "resume/reader.h"

#define CHUNK(choice) "data: {\"choices\":[{\"index\":0," choice "}]}\n\n"
#define SAYS(text)    CHUNK("\"delta\":{\"content\":\"" text "\"}")
#define CALLS(name)                                                                                \
    CHUNK("\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\","           \
          "\"function\":{\"name\":\"" name "\",\"arguments\":\"{}\"}}]}")
#define STOPS(reason) CHUNK("\"delta\":{},\"finish_reason\":\"" reason "\"") "data: [DONE]\n\n"

#define INPUT  "\"input\":\"x\",\"stream\":true"
#define UNKEPT INPUT ",\"store\":false"
#define SERVER(more)                                                                               \
    ",\"tools\":[{\"type\":\"mcp\",\"server_label\":\"s\",\"require_approval\":\"never\"" more "}]"
#define REMOTE SERVER(",\"server_url\":\"https://example.com/mcp\"")
#define TOOLS  "[{\"name\":\"t\",\"input_schema\":{\"type\":\"object\"}}]"

/* A model with so small a window that what is measured may be beyond it. */
#define WINDOW "small context_window=16"
#define MEASURED                                                                                   \
    ",\"truncation\":\"auto\",\"model\":\"small\",\"instructions\":\"Be brief and exact.\""

/* Has the client from now on. */
void reader_start(struct worker *w, struct peer client, const struct http_request *r,
                  const struct caller *caller, const struct reader_want *want)
{
    (void)w;
    (void)r;
    (void)caller;
    assert_int_equal(str_find(want->id, STR("resp_")), 0);
    assert_int_equal(want->after, -1);
    stage.n_readers++;
    peer_start(client, 200, NULL, 0);
    peer_end(client, STR(""));
}

static inline void open_turn_stage(void)
{
    static const char *const flags[] = {"--mcp-remote", "public", "--model-settings", WINDOW, NULL};

    stage_open(flags);
}

/* Appends members with a text that is more than is read in the loop. */
static inline void write_large(const char *members, struct buf *out)
{
    buf_c(out, members);
    buf_c(out, ",\"metadata\":{},\"instructions\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(out, 'a');
    buf_char(out, '"');
}

static inline void begin_large(const char *members)
{
    struct buf large = {.limit = 0};

    write_large(members, &large);
    (void)stage_begin(buf_cstr(&large));
    buf_fini(&large);
}

/* The model says that much in one event, up to its end. */
static inline void say_large(const char *end)
{
    struct buf large = {.limit = 0};

    buf_c(&large, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&large, 'a');
    upstream_says(buf_cstr(&large));
    buf_fini(&large);
    upstream_says(end);
}

static inline void reach_recognise(void)
{
    stage.awaits_upstream = true;
    (void)stage_begin(UNKEPT);
}

static inline void reach_parse(void)
{
    begin_large(UNKEPT);
}

static inline void reach_load(void)
{
    (void)stage_begin(UNKEPT ",\"previous_response_id\":\"resp_1\"");
}

#define BACKGROUND "\"input\":\"x\",\"background\":true"

static inline void reach_accept(void)
{
    (void)stage_begin(BACKGROUND);
}

static inline void reach_tools(void)
{
    stage.server.label = STR("s");
    stage.view = (struct mcp_server_view){
        .conf = &stage.server, .is_pending = true, .hurry_ms = UINT64_MAX, .error = STR("")};
    (void)stage_begin(UNKEPT SERVER(""));
}

/* A server whose tools join every request is being started. */
static inline void server_starts(void)
{
    stage.server.label = STR("s");
    stage.server.inject = MCP_INJECT_ALWAYS;
    stage.view = (struct mcp_server_view){.conf = &stage.server,
                                          .is_pending = true,
                                          .is_starting = true,
                                          .hurry_ms = UINT64_MAX,
                                          .error = STR("")};
}

static inline void reach_tools_injected(void)
{
    server_starts();
    (void)stage_begin(UNKEPT);
}

static inline void reach_list(void)
{
    (void)stage_begin(UNKEPT REMOTE);
}

static inline void reach_round(void)
{
    (void)stage_begin(UNKEPT);
}

static inline void reach_count(void)
{
    stage_begin_at(turn_start_count, INPUT);
}

static inline void reach_measure(void)
{
    (void)stage_begin(UNKEPT MEASURED);
}

/* The large count's request is being read on the pool. */
static inline void reach_large_count(void)
{
    struct buf answer = {.limit = 0};

    reach_count();
    upstream_begins(200);
    buf_c(&answer, "{\"input_tokens\":7,\"more\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&answer, 'a');
    buf_c(&answer, "\"}");
    upstream_says(buf_cstr(&answer));
    buf_fini(&answer);
    upstream_ends(NULL);
}

static inline void reach_speech(void)
{
    reach_round();
    upstream_begins(200);
    upstream_says(SAYS("hello"));
}

static inline void reach_calls(void)
{
    reach_list();
    server_lists(0, TOOLS);
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
}

/* A conversation that is worth a summary, about 1,100 tokens, and what asks for one. */
#define LONG_TEXT_BYTES 4400
#define TRIGGER         ",{\"type\":\"compaction_trigger\"}"

static inline void begin_long(size_t n_bytes, const char *last, const char *members)
{
    struct buf body = {.limit = 0};

    buf_c(&body, "\"input\":[{\"role\":\"user\",\"content\":\"first\"},{\"role\":\"assistant\","
                 "\"content\":\"");
    for (size_t i = 0; i < n_bytes; i++)
        buf_char(&body, 'b');
    buf_c(&body, "\"},{\"role\":\"user\",\"content\":\"third\"}");
    buf_c(&body, last);
    buf_c(&body, "],");
    buf_c(&body, members);
    (void)stage_begin(buf_cstr(&body));
    buf_fini(&body);
}

static inline void reach_summary(void)
{
    begin_long(10, TRIGGER, "\"stream\":true,\"store\":false");
}

static inline void reach_summary_speech(void)
{
    reach_summary();
    upstream_begins(200);
    upstream_says(SAYS("Goal: "));
}

static inline void reach_compact(void)
{
    begin_long(WORKER_LARGE_BYTES, TRIGGER, "\"stream\":true,\"store\":false");
    while (stage_turn()->flight.stage < TURN_COMPACT)
        assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
}

static inline void reach_compacted(void)
{
    reach_compact();
    stage_settle();
    upstream_begins(200);
    upstream_says(SAYS("Goal: tea.") STOPS("stop"));
}

/* The model searches tools that are much to read. */
static inline void reach_search(void)
{
    struct buf large = {.limit = 0};

    buf_c(&large,
          UNKEPT ",\"tools\":[{\"type\":\"tool_search\"},{\"type\":\"function\",\"name\":\"f\","
                 "\"defer_loading\":true,\"description\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&large, 'a');
    buf_c(&large, "\"}]");
    (void)stage_begin(buf_cstr(&large));
    buf_fini(&large);
    while (stage_turn()->flight.stage < TURN_ROUND)
        assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
    upstream_begins(200);
    upstream_says(CALLS("tool_search") STOPS("tool_calls"));
}

static inline void reach_hear(void)
{
    reach_round();
    upstream_begins(200);
    say_large("\"}}]}\n\n");
}

/* The large text has been read, and its events are to be written once more. */
static inline void reach_close(void)
{
    reach_hear();
    fake_loop_pass(stage.worker.loop, 0);
    upstream_says(STOPS("stop"));
}

static inline void reach_record(void)
{
    (void)stage_begin(INPUT);
    upstream_begins(200);
    say_large("\"}}]}\n\n");
    while (stage_turn()->flight.stage < TURN_CLOSE) {
        fake_loop_pass(stage.worker.loop, 0);
        if (stage_turn()->flight.stage == TURN_ROUND)
            upstream_says(STOPS("stop"));
    }
    while (stage_turn()->flight.stage < TURN_RECORD)
        assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
}

static inline void reach_save(void)
{
    (void)stage_begin(INPUT);
    upstream_begins(200);
    upstream_says(SAYS("hello") STOPS("stop"));
}

static inline void reach_done(void)
{
    reach_speech();
    upstream_says(STOPS("stop"));
}

#endif
