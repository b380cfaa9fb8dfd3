/* fuzz_request.c -- any request body, under any options: refused with an error
 * that names a status, or turned into valid JSON for the echo, for the store, from
 * which it can be continued, and for the upstream, whose messages are in an order
 * that Chat servers accept; as a prompt it has no marker of the client's. What is
 * approved can be run, and nothing is forced twice.
 *
 * The input is a body; behind a NUL, which no body can hold, bytes that choose
 * the options may follow. */
#include "fuzz/fuzz.h"

#include "conv/kept_item.h"
#include "conv/trim.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"
#include "wire/chat/chat_request.h"
#include "wire/dialect/upstream_kind.h"
#include "wire/harmony/harmony_request.h"
#include "wire/request/request_resolve.h"
#include "wire/request/response_echo.h"

/* ---- options */

struct options {
    struct responses_request_options request;
    struct chat_request_options chat;
    unsigned trim_percent; /* 0: not at all */
    unsigned tools_per_server;
};

static uint8_t take(str *bytes)
{
    uint8_t value = bytes->len == 0 ? 0 : (uint8_t)bytes->p[0];

    *bytes = str_skip(*bytes, 1);
    return value;
}

static struct options draw_options(str bytes)
{
    static const char *const pass[] = {"seed", "v*", "auto"};
    uint8_t flags = take(&bytes), more = take(&bytes), enums = take(&bytes), rest = take(&bytes);
    uint8_t hosted = take(&bytes), order = take(&bytes);
    const enum upstream_kind kind =
        (order & 32) != 0 ? (enum upstream_kind)(rest % UPSTREAM_KINDS) : UPSTREAM_GENERIC;

    return (struct options){
        .request = {.default_model = STR("m"),
                    .extra = {.unknown = (enum unknown_fields)(rest % 3),
                              .pass = {(rest & 4) != 0 ? pass : NULL, (order & 16) != 0 ? 3 : 2},
                              .known = upstream_profile(kind)->fields,
                              .names_left_out = (order & 128) != 0},
                    .input = {.text_files = (flags & 1) != 0,
                              .reasoning_from_summary = (flags & 2) != 0,
                              .ignore_unknown_items = (flags & 4) != 0},
                    .has_injected_tools = (hosted & 1) != 0,
                    .tools = {.serves[HOSTED_CODE_INTERPRETER] = (hosted & 32) != 0,
                              .serves[HOSTED_WEB_SEARCH] = (hosted & 64) != 0,
                              .serves_pages = (hosted & 128) != 0,
                              .reject_unserved = (flags & 8) != 0}},
        .chat = {.is_openai = (flags & 16) != 0,
                 .system_role = (enum chat_system_role)(((flags & 32) != 0) + ((order & 1) != 0)),
                 .late_system_as_user = (flags & 64) != 0,
                 .images_in_tool = (flags & 128) != 0,
                 .thinking_switch = (more & 1) != 0,
                 .omit_usage = (more & 2) != 0,
                 .short_call_ids = (more & 4) != 0,
                 .token_field = (enum chat_token_field)(enums % 3),
                 .tool_choice = (enum chat_tool_choice)(enums / 3 % 3),
                 .empty_content = (enum chat_empty_content)(enums / 9 % 3),
                 .reasoning_field = (enum chat_reasoning_field)(enums / 27 % 5),
                 .reasoning_history = (enum chat_reasoning_history)(rest / 8 % 2),
                 .call_messages =
                     (enum chat_call_messages)(((rest & 16) != 0) + ((order & 2) != 0)),
                 .role_order = (enum chat_role_order)(order / 4 % 3),
                 .describes_all_tools = (order & 16) != 0,
                 .continuation = upstream_profile(kind)->continuation,
                 .think_open = STR("<think>\n"),
                 .think_close = STR("\n</think>\n\n"),
                 .round = (enum chat_round)(hosted / 2 % 3)},
        .trim_percent = more / 8U,
        .tools_per_server = hosted / 8 % 4U,
    };
}

/* ---- tools of servers: of each that is declared, and of one that is not */

static str numbered(const char *name, size_t i, struct arena *arena)
{
    struct buf text = {0};
    str copy;

    buf_c(&text, name);
    buf_int(&text, (int64_t)i);
    copy = arena_dup(arena, buf_str(&text));
    buf_fini(&text);
    return copy;
}

static int add_hosted(struct responses_request *r, const struct options *o, struct arena *arena,
                      struct err *reterr)
{
    size_t n_servers = r->tools.n_servers + 1, n = 0;
    struct server_tool *tools = arena_array(arena, n_servers * o->tools_per_server, sizeof(*tools));
    struct mcp_declaration *d = r->tools.first_server;

    fuzz_promise(tools != NULL, "memory is enough");
    for (size_t s = 0; s < n_servers; s++) {
        for (size_t i = 0; i < o->tools_per_server; i++, n++)
            tools[n] = (struct server_tool){.server_label = d == NULL ? STR("injected") : d->label,
                                            .name = numbered("t.", i, arena),
                                            .upstream_name = numbered("hosted_", n, arena),
                                            .description = STR("a \"tool\""),
                                            .parameters = STR("{}"),
                                            .needs_approval = i == 1,
                                            .mcp = "it"};
        if (d != NULL) {
            d->effective_approval = STR("\"always\"");
            d = d->next;
        }
    }
    return request_add_mcp(r, tools, n, arena, reterr);
}

static void check_hosted(const struct responses_request *r)
{
    size_t n = 0, n_sent = 0;

    for (const struct tool *t = r->tools.first; t != NULL; t = t->next, n++)
        n_sent += t->sent;
    fuzz_promise(n == r->tools.n && n_sent == r->tools.n_sent, "tools are counted");
    for (const struct approved_call *c = r->approved; c != NULL; c = c->next)
        fuzz_promise(c->tool != NULL && c->tool->mcp != NULL, "what is approved can be run");
    fuzz_promise((r->tool_choice.mode == TOOL_CHOICE_TOOL) == (r->tool_choice.tool != NULL),
                 "a tool that is chosen is known");
}

static int complete(struct responses_request *r, const struct request_history *history,
                    const struct options *o, const struct id_source *ids, struct arena *arena,
                    struct err *reterr)
{
    if (r->needs_store && request_resolve(r, history, &o->request, ids, arena, reterr) == -1)
        return -1;
    if (r->needs_tools && add_hosted(r, o, arena, reterr) == -1)
        return -1;
    check_hosted(r);
    return 0;
}

/* ---- promises about the upstream's request */

enum { MAX_NAMES = 256, MAX_WAITING = 256 };

static void check_names(str chat)
{
    str names[MAX_NAMES], name;
    size_t n = 0;
    struct jr j;

    jr_init(&j, chat);
    fuzz_promise(jr_enter(&j, JR_OBJECT), "the upstream gets an object");
    while (n < MAX_NAMES && jr_next_member(&j, &name)) {
        names[n] = j.raw_key;
        for (size_t i = 0; i < n; i++)
            fuzz_promise(!str_eq(names[i], names[n]), "no member has the name of another");
        n++;
        jr_skip(&j);
    }
}

/* Ids of calls whose tool messages may come now. */
struct waiting {
    str ids[MAX_WAITING];
    size_t n;
    bool is_full; /* more than fit: anything may come */
};

static void note_calls(struct waiting *w, str calls, bool has_short_ids)
{
    struct jr j;

    *w = (struct waiting){.n = 0};
    jr_init(&j, calls);
    if (jr_type_of(calls) != JR_ARRAY || !jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        str id = jr_member_string(jr_raw(&j), STR("id"));

        fuzz_promise(!has_short_ids || id.len == 9, "short ids have nine characters");
        w->is_full = w->n == MAX_WAITING;
        if (!w->is_full)
            w->ids[w->n++] = id;
    }
}

static bool answers_call(const struct waiting *w, str id)
{
    for (size_t i = 0; i < w->n; i++) {
        if (str_eq(w->ids[i], id))
            return true;
    }
    return w->is_full;
}

/* No server parses arguments that are no object. */
static void check_arguments(str calls)
{
    struct jr j;

    jr_init(&j, calls);
    if (jr_type_of(calls) != JR_ARRAY || !jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        struct buf text = {0};

        json_text_decode(jr_member_string(jr_member(jr_raw(&j), STR("function")), STR("arguments")),
                         &text);
        fuzz_promise(jr_is_valid(buf_str(&text)) &&
                         jr_type_of(str_trim(buf_str(&text))) == JR_OBJECT,
                     "arguments are an object");
        buf_fini(&text);
    }
}

/* Calls, their outputs and the system do not count; *last is empty before the first message. */
static void check_turn(str message, str role, str *last, bool alternates)
{
    if (!str_is_none(jr_member(message, STR("tool_calls"))) ||
        (!str_eq(role, STR("user")) && !str_eq(role, STR("assistant"))))
        return;
    fuzz_promise(!alternates || !str_eq(role, *last), "nobody speaks twice");
    fuzz_promise(last->len > 0 || str_eq(role, STR("user")), "the user speaks first");
    *last = role;
}

static void check_messages(str chat, const struct options *o)
{
    struct waiting waiting = {.n = 0};
    str last = STR("");
    size_t n = 0;
    struct jr j;

    jr_init(&j, jr_member(chat, STR("messages")));
    (void)jr_enter(&j, JR_ARRAY);
    for (; jr_next_element(&j); n++) {
        str message = jr_raw(&j), role = jr_member_string(message, STR("role"));

        check_arguments(jr_member(message, STR("tool_calls")));
        if (o->chat.role_order != CHAT_ANY_ORDER)
            check_turn(message, role, &last, o->chat.role_order == CHAT_ALTERNATE);
        fuzz_promise(
            o->chat.call_messages != CHAT_CALLS_TEXT ||
                (!str_eq(role, STR("tool")) && str_is_none(jr_member(message, STR("tool_calls")))),
            "calls that are text are nothing else");
        if (str_eq(role, STR("tool")))
            fuzz_promise(answers_call(&waiting, jr_member_string(message, STR("tool_call_id"))),
                         "a tool message follows its call");
        else
            note_calls(&waiting, jr_member(message, STR("tool_calls")), o->chat.short_call_ids);
    }
    fuzz_promise(n > 0, "there is a message");
}

static void check_choice(str chat, const struct options *o)
{
    str choice = jr_member(chat, STR("tool_choice"));

    fuzz_promise(str_is_none(choice) || !str_is_none(jr_member(chat, STR("tools"))),
                 "a choice has tools");
    if (o->chat.round == CHAT_FIRST_ROUND || str_is_none(choice))
        return;
    fuzz_promise(str_eq(choice, STR("\"none\"")) ||
                     (o->chat.round == CHAT_LATER_ROUND && str_eq(choice, STR("\"auto\""))),
                 "nothing is forced twice");
}

static void check_refusal(const struct err *e)
{
    fuzz_promise(err_http_status(e) >= 400 && e->msg[0] != '\0', "a refusal says why");
}

static size_t count(str text, str needle)
{
    size_t n = 0;

    for (size_t i = str_find(text, needle); i < text.len; i = str_find(text, needle)) {
        text = str_skip(text, i + needle.len);
        n++;
    }
    return n;
}

/* Every message is begun and ended once: no text of the client is a marker. */
static void check_markers(str prompt, bool has_begun_call)
{
    size_t n = count(prompt, STR("<|start|>"));

    fuzz_promise(count(prompt, STR("<|message|>")) == n - !has_begun_call, "n headers");
    fuzz_promise(count(prompt, STR("<|end|>")) + count(prompt, STR("<|call|>")) == n - 1, "n ends");
}

/* The same as a Harmony prompt. */
static void check_harmony(const struct responses_request *r,
                          const struct chat_request_options *options, const struct conversation *c)
{
    const struct harmony_options harmony = {.bare_content_type = options->omit_usage,
                                            .has_browser = options->thinking_switch,
                                            .has_python = options->images_in_tool};
    struct buf body = {0}, prompt = {0};
    struct err e;

    if (harmony_request_write(r, c, options, &harmony, &body, &e) == 0) {
        fuzz_promise(jr_is_valid(buf_str(&body)), "the upstream gets valid JSON");
        check_names(buf_str(&body));
        harmony_prompt_write(r, c, options->round, &harmony, &prompt);
        check_markers(buf_str(&prompt),
                      !str_is_none(harmony_request_begun_call(r, options->round)));
    } else {
        check_refusal(&e);
    }
    buf_fini(&body);
    buf_fini(&prompt);
}

static void check_chat(const struct responses_request *r, const struct options *o,
                       const struct conversation *c)
{
    struct chat_request_options options = o->chat;
    struct buf chat = {0};
    struct err e;

    if (options.round != CHAT_FIRST_ROUND && r->max_output_tokens > 0)
        options.spent_tokens = r->max_output_tokens - 1;
    fuzz_promise(chat_request_write(r, c, &options, &chat, &e) == 0, "memory is enough");
    fuzz_promise(jr_is_valid(buf_str(&chat)), "the upstream gets valid JSON");
    check_names(buf_str(&chat));
    check_messages(buf_str(&chat), o);
    check_choice(buf_str(&chat), o);
    buf_fini(&chat);
    check_harmony(r, &options, c);
}

static void check_outputs(const struct responses_request *r, const struct options *o,
                          const struct id_source *ids, struct arena *arena)
{
    struct conversation c;
    struct buf echo = {0};
    struct err e;

    if (chat_request_conversation(r, &o->chat, ids, arena, &c, &e) == -1) {
        fuzz_promise(responses_request_continues(r), "a request of its own has a conversation");
        check_refusal(&e);
        return;
    }
    check_chat(r, o, &c);
    if (o->trim_percent > 0 && conversation_trim(&c, o->trim_percent))
        check_chat(r, o, &c);
    buf_char(&echo, '{');
    responses_request_echo(r, &echo);
    buf_char(&echo, '}');
    fuzz_promise(jr_is_valid(buf_str(&echo)), "the echo is valid JSON");
    fuzz_promise(str_find_char(buf_str(&echo), '\n') == echo.len, "the echo is one line");
    buf_fini(&echo);
}

/* ---- promises about what is stored of it */

static void check_kept(const struct kept_items *kept)
{
    for (size_t i = 0; i < kept->n; i++) {
        const struct kept_item *it = &kept->v[i];

        fuzz_promise(it->id.len > 0, "an item that is stored has an id");
        if (it->is_reference)
            continue;
        fuzz_promise(jr_is_valid(it->body), "an item is stored as valid JSON");
        fuzz_promise(str_find_char(it->body, '\n') == it->body.len, "an item is stored in a line");
        fuzz_promise(str_eq(jr_member_string(it->body, STR("id")), it->id), "its id is in it");
    }
}

/* The end of the object of a response to the request. */
static str write_tail(const struct responses_request *r, struct buf *tail)
{
    buf_append(tail, STR("],\"usage\":null,"));
    responses_request_echo(r, tail);
    buf_char(tail, '}');
    fuzz_promise(!buf_failed(tail), "memory is enough");
    return buf_str(tail);
}

/* A request that was good can be continued with what was stored of it. */
static void check_continuation(const struct responses_request *before,
                               const struct kept_items *kept, const struct options *o,
                               const struct id_source *ids, struct arena *arena)
{
    static const char body[] = "{\"model\":\"m\",\"input\":\"x\",\"previous_response_id\":\"r\"}";
    struct request_history_item *items = calloc(kept->n + 1, sizeof(*items));
    struct buf tail = {0};
    const struct request_history history = {
        .items = items, .n = kept->n, .previous_tail = write_tail(before, &tail)};
    struct responses_request r;
    struct err e;

    for (size_t i = 0; i < kept->n; i++)
        items[i].body = kept->v[i].body;
    fuzz_promise(responses_request_parse(str_from_c(body), &o->request, ids, arena, &r, &e) == 0 &&
                     complete(&r, &history, o, ids, arena, &e) == 0,
                 "what was stored can be read");
    fuzz_promise(r.tools.n == before->tools.n && r.tools.n_sent == before->tools.n_sent,
                 "tools are inherited");
    check_outputs(&r, o, ids, arena);
    buf_fini(&tail);
    free(items);
}

static void check_request(const struct responses_request *r, const struct options *o,
                          const struct id_source *ids, struct arena *arena)
{
    struct kept_items kept;
    struct err e;

    check_outputs(r, o, ids, arena);
    fuzz_promise(kept_items_make(r->input, ids, arena, &kept, &e) == 0, "a good input is kept");
    check_kept(&kept);
    check_continuation(r, &kept, o, ids, arena);
}

static int read_request(str body, const struct options *o, const struct id_source *ids,
                        struct arena *arena, struct responses_request *ret, struct err *reterr)
{
    const struct request_history nothing = {.n = 0};

    if (responses_request_parse(body, &o->request, ids, arena, ret, reterr) == -1)
        return -1;
    return complete(ret, &nothing, o, ids, arena, reterr);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n);
    size_t body_len = str_find_char(input, '\0');
    const struct options options = draw_options(str_skip(input, body_len + 1));
    char *body = exact_copy(str_from(input.p, body_len));
    struct test_ids ids = {.chance = {0}};
    struct arena arena = {0};
    struct responses_request r;
    struct err e = {.code = ERR_NONE};

    test_ids_reset(&ids);
    if (read_request(str_from(body, body_len), &options, &ids.source, &arena, &r, &e) == 0)
        check_request(&r, &options, &ids.source, &arena);
    else
        check_refusal(&e);
    arena_fini(&arena);
    free(body);
    return 0;
}
