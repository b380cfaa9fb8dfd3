/* fuzz_mcp_http.c -- what an MCP server says over HTTP besides JSON: bodies tell the
 * same messages however they are cut, references stay at their origin, challenges are
 * views of their header. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "mcp/proto/mcp_answer.h"
#include "mcp/proto/mcp_challenge.h"
#include "mcp/proto/mcp_reference.h"

enum { MAX_BYTES = 256 };

/* ---- bodies */

struct told {
    struct mcp_answer answer;
    struct buf text;
    bool failed;
};

static void on_message(void *arg, const struct jsonrpc_message *m)
{
    struct told *t = arg;

    buf_uint(&t->text, m->kind);
    buf_append(&t->text, m->id.raw);
    buf_char(&t->text, '\n');
}

static void on_event(void *arg, str name, str data)
{
    struct told *t = arg;

    fuzz_promise(name.len > 0, "an event has a name");
    buf_append(&t->text, data);
    buf_char(&t->text, '\n');
}

static void feed(void *arg, str piece)
{
    struct told *t = arg;

    t->failed = t->failed || mcp_answer_feed(&t->answer, piece) == -1;
}

static void read_body(struct told *t, enum mcp_body body, str bytes, struct cutting cutting)
{
    static const struct mcp_answer_handler handler = {on_message, on_event};

    *t = (struct told){.failed = false};
    mcp_answer_init(&t->answer, MAX_BYTES, &handler, t);
    mcp_answer_begin(&t->answer, body);
    feed_pieces(bytes, cutting, feed, t);
    t->failed = t->failed || mcp_answer_end(&t->answer) == -1;
}

static void check_body(enum mcp_body body, str bytes)
{
    struct told whole, cut;

    read_body(&whole, body, bytes, UNCUT);
    read_body(&cut, body, bytes, BYTE_BY_BYTE);
    fuzz_promise(whole.failed == cut.failed, "any cutting fails alike");
    if (!whole.failed) {
        fuzz_promise(str_eq(buf_str(&whole.text), buf_str(&cut.text)), "and tells the same");
        fuzz_promise(str_eq(buf_str(&whole.answer.last_id), buf_str(&cut.answer.last_id)),
                     "with the same id");
        fuzz_promise(whole.answer.retry_ms == cut.answer.retry_ms, "and time to wait");
    }
    mcp_answer_fini(&whole.answer);
    mcp_answer_fini(&cut.answer);
    buf_fini(&whole.text);
    buf_fini(&cut.text);
}

/* ---- header fields */

static void check_reference(str base, str reference)
{
    struct buf url = {.limit = 0}, again = {.limit = 0};
    str made;

    if (mcp_reference_resolve(base, reference, &url) != MCP_REFERENCE_OK) {
        fuzz_promise(url.len == 0, "what is not followed is not written");
        buf_fini(&url);
        return;
    }
    made = buf_str(&url);
    fuzz_promise(str_starts_with(made, STR("https://me@h:1/")), "the origin stays");
    fuzz_promise(str_is_one_line(made) && str_find_char(made, '#') == made.len &&
                     str_find_char(made, ' ') == made.len,
                 "it is a URL");
    fuzz_promise(mcp_reference_resolve(base, str_skip(made, STR("https://me@h:1").len), &again) !=
                     MCP_REFERENCE_BAD,
                 "and can be a reference");
    buf_fini(&url);
    buf_fini(&again);
}

static void check_view(str header, str view)
{
    fuzz_promise(str_is_none(view) ||
                     (view.p >= header.p && view.p + view.len <= header.p + header.len),
                 "a parameter is a view of the header");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    struct mcp_challenge c = mcp_challenge_read(text);

    check_view(text, c.resource_metadata);
    check_view(text, c.scope);
    check_view(text, c.error);
    check_reference(STR("https://me@h:1/a/b/c?d"), text);
    check_reference(STR("https://me@h:1"), text);
    check_body(MCP_BODY_JSON, text);
    check_body(MCP_BODY_EVENTS, text);
    (void)mcp_body_of(text);
    return 0;
}
