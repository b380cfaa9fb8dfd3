/* chat_turn_fixture.h -- the way of a chat turn to each stage that waits (front/chat_turn.c). */
#ifndef ANTIPHON_TESTS_UNIT_CHAT_TURN_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_CHAT_TURN_FIXTURE_H

#include "turn_fixture.h"

#include "front/chat_turn.h"
#include "front/relay.h"

#define MESSAGES "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"
#define STREAM   MESSAGES ",\"stream\":true"

/* What is only passed on is not looked at here. */
void relay_begin(struct worker *w, struct peer client, const struct http_request *r,
                 const struct caller *caller)
{
    struct http_exchange *const x = client.of;

    (void)w;
    (void)r;
    (void)caller;
    assert_int_equal(x->n_held, 0);
    x->is_over = true;
    stage.n_relayed++;
}

void relay_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct caller *caller)
{
    relay_begin(w, peer_of_exchange(x), r, caller);
}

/* There is a server with one tool, t. */
static inline void offer_tool(void)
{
    stage.server.label = STR("s");
    stage.server.approval.mode = MCP_APPROVAL_NEVER;
    stage.view = (struct mcp_server_view){
        .conf = &stage.server,
        .is_available = true,
        .hurry_ms = UINT64_MAX,
        .error = STR(""),
        .tools = mcp_catalogue_from_item(STR("s"), STR(TOOLS)),
    };
}

static inline void begin_chat(const char *members)
{
    offer_tool();
    stage_begin_at(chat_turn_start, members);
}

static inline void reach_chat_tools(void)
{
    server_starts();
    stage_begin_at(chat_turn_start, STREAM);
}

static inline void reach_chat_read(void)
{
    struct buf large = {.limit = 0};

    buf_c(&large, STREAM ",\"user\":\"");
    for (size_t i = 0; i < WORKER_LARGE_BYTES; i++)
        buf_char(&large, 'a');
    buf_char(&large, '"');
    begin_chat(buf_cstr(&large));
    buf_fini(&large);
}

/* A large request, which has been read, is written for the upstream. */
static inline void reach_chat_ask(void)
{
    reach_chat_read();
    assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
}

static inline void reach_chat_round(void)
{
    begin_chat(STREAM);
}

static inline void reach_chat_speech(void)
{
    reach_chat_round();
    upstream_begins(200);
    upstream_says(SAYS("hello"));
}

static inline void reach_chat_refusal(void)
{
    reach_chat_round();
    upstream_begins(400);
    upstream_says("{\"error\":");
}

static inline void reach_chat_calls(void)
{
    reach_chat_round();
    upstream_begins(200);
    upstream_says(CALLS("mcp__s__t") STOPS("tool_calls"));
    upstream_ends(NULL);
}

static inline void reach_chat_done(void)
{
    reach_chat_speech();
    upstream_says(STOPS("stop"));
}

#endif
