/* fuzz_compact.c -- a context with compaction items of which anybody could have written the inside.
 *
 * The input is the body of a request; each encrypted_content in it is what is inside. Behind a NUL
 * bytes that choose budgets may follow. What is wrong inside is no error of the client's; the same
 * items read the same again; what is kept can be read, goes on from there as the next request will,
 * and can be compacted again; less of it is less. */
#include "fuzz/fuzz.h"

#include "compact/compact_item.h"
#include "compact/compact_shrink.h"
#include "conv/trim.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"
#include "wire/chat/chat_request.h"
#include "wire/request/request_compact.h"
#include "wire/request/request_resolve.h"

/* What a seal makes needs no escape. */
static bool close_open(void *arg, str text, struct buf *out)
{
    (void)arg;
    json_text_escape(text, out);
    return !buf_failed(out);
}

static bool open_open(void *arg, str sealed, struct arena *a, str *ret)
{
    (void)arg;
    *ret = arena_dup(a, sealed);
    return !str_is_none(*ret);
}

static const struct text_seal no_seal = {close_open, open_open, NULL};

struct context {
    struct responses_request_options options;
    struct test_ids ids;
    struct arena arena;
    struct responses_request r;
    struct err err;
};

static int open_context(struct context *c, str body, uint8_t flags)
{
    const struct request_history none = {.n = 0, .previous_tail = STR_NONE};

    *c = (struct context){
        .options = {.default_model = STR("m"),
                    .input.ignore_unknown_items = (flags & 1) != 0,
                    .compaction = {.seal = &no_seal,
                                   .foreign = (flags & 2) != 0 ? COMPACT_FOREIGN_DROP
                                                               : COMPACT_FOREIGN_NOTE,
                                   .has_role = true,
                                   .role = (enum role)(flags / 4 % 3),
                                   .keep_tokens = flags}}};
    test_ids_reset(&c->ids);
    if (responses_request_parse(body, &c->options, &c->ids.source, &c->arena, &c->r, &c->err) == -1)
        return -1;
    if (c->r.needs_store &&
        request_resolve(&c->r, &none, &c->options, &c->ids.source, &c->arena, &c->err) == -1)
        return -1;
    return c->r.needs_tools ? request_add_mcp(&c->r, NULL, 0, &c->arena, &c->err) : 0;
}

/* What the upstream is sent; false when the request is refused. */
static bool write_chat(struct context *c, const struct responses_request *r, struct buf *out)
{
    const struct chat_request_options options = {0};

    buf_reset(out);
    if (chat_request_build(r, &options, &c->ids.source, &c->arena, out, &c->err) == -1)
        return false;
    fuzz_promise(jr_is_valid(buf_str(out)), "the upstream gets JSON");
    return true;
}

static void check_again(str body, uint8_t flags, const struct buf *first)
{
    struct context c;
    struct buf chat = {0};

    fuzz_promise(open_context(&c, body, flags) == 0 && write_chat(&c, &c.r, &chat),
                 "what was read can be read again");
    fuzz_promise(str_eq(buf_str(&chat), buf_str(first)), "the same items read the same");
    buf_fini(&chat);
    arena_fini(&c.arena);
}

static void check_kept(const struct kept_items *items)
{
    for (size_t i = 0; i < items->n; i++)
        fuzz_promise(jr_is_valid(items->v[i].body) && jr_type_of(items->v[i].body) == JR_OBJECT,
                     "what is kept is an object");
}

static void check_question(struct context *c, int64_t max_tokens)
{
    const struct request_compact_call call = {.question = STR("Sum it up."),
                                              .max_tokens = max_tokens};
    const struct chat_request_options options = {0};
    struct conversation conversation;
    struct responses_request ask;
    struct buf chat = {0};

    fuzz_promise(request_compact_ask(&c->r, &call, &c->arena, &ask, &c->err) == 0,
                 "a summary can be asked for");
    fuzz_promise(chat_request_conversation(&ask, &options, &c->ids.source, &c->arena, &conversation,
                                           &c->err) == 0,
                 "as the next round can");
    for (unsigned n = 1; n <= COMPACT_MAX_CALLS; n++) {
        const size_t weight = conversation_weight(&conversation);
        const bool is_shorter =
            compact_shrink(&conversation, n, n == 1 ? (size_t)max_tokens : 0, &c->arena);

        fuzz_promise(is_shorter == (conversation_weight(&conversation) < weight), "less is less");
        buf_reset(&chat);
        fuzz_promise(chat_request_write(&ask, &conversation, &options, &chat, NULL) == 0 &&
                         jr_is_valid(buf_str(&chat)),
                     "what is left is JSON");
        fuzz_promise(str_find(buf_str(&chat), STR("Sum it up.")) < chat.len, "the question stays");
    }
    buf_fini(&chat);
}

static void compact_once(struct context *c, int64_t tokens, int64_t threshold)
{
    struct compact_item item = {.is_window = true, .summary = STR("In short: \"x\".\n")};
    struct compact_kept kept;
    struct buf chat = {0};
    str sealed;
    int rc;

    fuzz_promise(compact_keep_window(&c->r.items, tokens, threshold, &c->ids.source, &c->arena,
                                     &kept, &c->err) == 0,
                 "something can be kept");
    check_kept(&kept.before);
    check_kept(&kept.after);
    item.before = kept.before;
    item.after = kept.after;
    fuzz_promise(compact_item_seal(&item, &no_seal, &c->arena, &sealed, &c->err) == 0,
                 "an item can be sealed");
    rc = request_compact_replace(&c->r, sealed, &c->options, &c->ids.source, &c->arena, &c->err);
    fuzz_promise(rc == 0, "an item can be read");
    fuzz_promise(compact_has_summary(&c->r.items), "its summary is there");
    fuzz_promise(write_chat(c, &c->r, &chat), "the next round can be written");
    fuzz_promise(str_find(buf_str(&chat), STR("In short: \\\"x\\\".\\n")) < chat.len,
                 "the summary is told");
    buf_fini(&chat);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const str input = fuzz_input(bytes, n);
    const size_t end = str_find_char(input, '\0');
    const str choices = str_skip(input, end + 1);
    const uint8_t flags = choices.len > 0 ? (uint8_t)choices.p[0] : 0;
    const int64_t tokens = choices.len > 1 ? (uint8_t)choices.p[1] : 60;
    const int64_t threshold = choices.len > 2 ? 4 * (int64_t)(uint8_t)choices.p[2] : 200;
    char *body = exact_copy(str_from(input.p, end));
    struct buf chat = {0};
    struct context c;

    if (open_context(&c, str_from(body, end), flags) == 0 && write_chat(&c, &c.r, &chat)) {
        check_again(str_from(body, end), flags, &chat);
        check_question(&c, tokens);
        compact_once(&c, tokens, threshold);
        compact_once(&c, tokens, threshold);
    } else {
        fuzz_promise(err_http_status(&c.err) < 500, "a refusal is the client's mistake");
    }
    buf_fini(&chat);
    arena_fini(&c.arena);
    free(body);
    return 0;
}
