/* test_compact_keep.c -- what stays beside a summary, sealed and read back (CONTRACT 13.6, 13.7). */
#include "compact_fixture.h"

#include "base/utf8.h"
#include "compact/compact_text.h"
#include "resolve_fixture.h"

#define REQUEST(items) "{\"model\":\"m\"," INPUT(items) "}"
#define CALL_OF(id)                                                                                \
    "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT_OF(id, output)                                                                      \
    "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"" output "\"}"

static const struct responses_request_options plain_options = {.default_model = STR_NONE,
                                                               .compaction = {.seal = &plain_seal}};

static void parse_plain(struct fixture *f, const char *body)
{
    if (fixture_parse_sealed(f, &plain_seal, str_from_c(body)) == -1)
        fail_msg("%s: %s", body, f->err.msg);
}

static char *messages_of_request(struct fixture *f)
{
    const struct chat_request_options options = {0};
    json_t *chat = fixture_chat(f, &options);
    char *text;

    assert_non_null(chat);
    text = json_dumps(json_object_get(chat, "messages"), JSON_COMPACT);
    json_decref(chat);
    return text;
}

static struct compact_kept keep_window(struct fixture *f, int64_t tokens, int64_t threshold)
{
    struct compact_kept kept;

    assert_int_equal(compact_keep_window(&f->request.items, tokens, threshold, &f->ids, &f->arena,
                                         &kept, &f->err),
                     0);
    return kept;
}

static str seal_window(struct fixture *f, const struct compact_kept *kept, const char *summary)
{
    const struct compact_item item = {.is_window = true,
                                      .summary = str_from_c(summary),
                                      .before = kept->before,
                                      .after = kept->after,
                                      .n_tokens = 7,
                                      .at = 1767225600};
    str sealed;

    assert_int_equal(compact_item_seal(&item, &plain_seal, &f->arena, &sealed, &f->err), 0);
    return sealed;
}

/* ---- which items stay */

/* In short: of each item its role or type with its text, those before and behind a bar. */
static void describe_items(const struct kept_items *items, struct buf *out)
{
    for (size_t i = 0; i < items->n; i++) {
        json_t *item = json_loadb(items->v[i].body.p, items->v[i].body.len, 0, NULL);
        const json_t *content, *part;
        const char *role, *output;
        size_t k;

        assert_non_null(item);
        content = json_object_get(item, "content");
        role = json_string_value(json_object_get(item, "role"));
        output = json_string_value(json_object_get(item, "output"));
        buf_c(out, out->len > 0 ? " " : "");
        buf_c(out, role != NULL ? role : json_string_value(json_object_get(item, "type")));
        json_array_foreach(content, k, part)
        {
            const char *text = json_string_value(json_object_get(part, "text"));

            buf_c(out, ":");
            buf_c(out, text != NULL ? text : json_string_value(json_object_get(part, "type")));
        }
        if (output != NULL) {
            buf_c(out, "=");
            buf_c(out, output);
        }
        json_decref(item);
    }
}

static const struct {
    const char *claim, *input;
    int64_t threshold;
    const char *before, *after;
    size_t n_tail;
} windows[] = {
    {"the open turn is the tail",
     USER("a") "," ASSISTANT("b") "," USER("c") "," CALL_OF("1") "," OUTPUT_OF("1", "o"), 1000,
     "user:a", "user:c function_call function_call_output=o", 3},
    {"messages of the system stay", SYSTEM("s") "," USER("a") "," ASSISTANT("b") "," USER("c"),
     1000, "system:s user:a", "user:c", 1},
    {"a long turn leaves its last round",
     USER("c") "," CALL_OF("1") "," OUTPUT_OF("1", "11111111111111111111") "," CALL_OF(
         "2") "," OUTPUT_OF("2", "2"),
     16, "user:c", "function_call function_call_output=2", 2},
    {"parallel calls are one round, with what was said before them",
     USER("c") "," CALL_OF("0") "," OUTPUT_OF("0", "00000000000000000000") "," ASSISTANT(
         "now") "," CALL_OF("1") "," CALL_OF("2") "," OUTPUT_OF("1", "1") "," OUTPUT_OF("2", "2"),
     16, "user:c",
     "assistant:now function_call function_call function_call_output=1 function_call_output=2", 3},
    {"outputs share the room",
     USER("c") "," CALL_OF("1") "," CALL_OF("2") "," OUTPUT_OF("1", "1") "," OUTPUT_OF(
         "2", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"),
     21, "user:c",
     "function_call function_call function_call_output=1 "
     "function_call_output=abcdefghi\n[… 34 characters left out …]\nrstuvwxyz",
     3},
    {"a long question alone has no tail",
     USER("a") "," USER("0123456789012345678901234567890123456789"), 8,
     "user:a user:0123456789012345678901234567890123456789", "", 0},
    {"calls without output are in the tail",
     USER("a") "," CALL_OF("1") "," CALL_OF("2") "," OUTPUT_OF("2", "o") "," USER("c"), 1000,
     "user:a", "function_call user:c", 1},
    {"a call whose output is in the tail is, too",
     USER("a") "," CALL_OF("1") "," USER("c") "," OUTPUT_OF("1", "o"), 1000, "user:a",
     "function_call user:c function_call_output=o", 2},
    {"an image stays where the newest message is",
     "{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"data:i\"}]}," USER(
         "c"),
     1000, "user:[image]", "user:c", 1},
    {"an image of the newest message stays beside a summary",
     "{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"data:i\"}]}", 8,
     "user:input_image", "", 0},
    {"an own summary is no message of the user",
     USER("a") ",{\"type\":\"compaction\",\"encrypted_content\":\"open:"
               "7b2276223a312c226b223a2273222c2274223a2278227d\"}," USER("c"),
     1000, "user:a", "user:c", 1},
    {"lists of servers and open approvals stay",
     "{\"type\":\"mcp_list_tools\",\"id\":\"l\",\"server_label\":\"docs\",\"tools\":[]},"
     "{\"type\":\"mcp_approval_request\",\"id\":\"r\",\"server_label\":\"docs\",\"name\":\"search\","
     "\"arguments\":\"{}\"}," USER("c"),
     1000, "mcp_list_tools mcp_approval_request", "user:c", 1},
};

static void a_window_keeps_what_the_contract_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct buf body = {0}, before = {0}, after = {0};
        struct compact_kept kept;
        struct fixture f;

        buf_c(&body, "{\"model\":\"m\",\"tools\":[{\"type\":\"mcp\",\"server_label\":\"docs\"}],"
                     "\"input\":[");
        buf_c(&body, windows[i].input);
        buf_c(&body, "]}");
        parse_plain(&f, buf_cstr(&body));
        kept = keep_window(&f, 1000, windows[i].threshold);
        describe_items(&kept.before, &before);
        describe_items(&kept.after, &after);
        if (strcmp(buf_cstr(&before), windows[i].before) != 0 ||
            strcmp(buf_cstr(&after), windows[i].after) != 0 || kept.n_tail != windows[i].n_tail)
            fail_msg("%s: %s | %s (%zu)", windows[i].claim, buf_cstr(&before), buf_cstr(&after),
                     kept.n_tail);
        buf_fini(&body);
        buf_fini(&before);
        buf_fini(&after);
        fixture_fini(&f);
    }
}

/* ---- cutting */

static void a_cut_is_between_characters_at_every_length(void **state)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\xF0\x9F\x98\x80\xE2\x82\xAC"
                               "\xC3\xA9q";
    const str whole = str_from(text, sizeof(text) - 1);

    (void)state;
    for (size_t n = 0; n <= whole.len + 2; n++) {
        struct buf cut = {0};
        size_t mark, left_out;
        str head, tail;

        compact_cut_bytes(whole, n, &cut);
        assert_true(utf8_is_valid(buf_str(&cut)));
        if (n >= whole.len) {
            assert_true(str_eq(buf_str(&cut), whole));
            buf_fini(&cut);
            continue;
        }
        mark = str_find(buf_str(&cut), STR("\n[… "));
        assert_true(mark < cut.len);
        head = str_from(cut.p, mark);
        tail = str_skip(buf_str(&cut), str_find(buf_str(&cut), STR(" …]\n")) + strlen(" …]\n"));
        assert_int_equal(sscanf(buf_cstr(&cut) + mark, "\n[… %zu characters", &left_out), 1);
        assert_true(head.len <= n / 2 && tail.len <= n / 2);
        assert_true(str_starts_with(whole, head) && str_ends_with(whole, tail));
        assert_int_equal(utf8_count(head) + left_out + utf8_count(tail), utf8_count(whole));
        buf_fini(&cut);
    }
}

static void what_is_kept_spends_no_more_than_its_tokens(void **state)
{
    enum { MARK_TOKENS = 12 };
    static const size_t lengths[] = {10, 500, 3000, 70};
    struct buf body = {0};
    struct fixture f;

    (void)state;
    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        buf_c(&body, i > 0 ? ",\"" : "\"");
        for (size_t k = 0; k < lengths[i]; k++)
            buf_c(&body, k % 3 == 0 ? "\\ud83d\\ude00" : k % 3 == 1 ? "\xC3\xA9" : "x");
        buf_c(&body, "\"");
    }
    buf_c(&body, "]}");
    parse_plain(&f, buf_cstr(&body));
    for (int64_t tokens = 0; tokens < 2600; tokens += 7) {
        struct compact_kept kept;
        int64_t spent = 0;

        assert_int_equal(
            compact_keep_messages(&f.request.items, tokens, &f.ids, &f.arena, &kept, &f.err), 0);
        for (size_t i = 0; i < kept.before.n; i++) {
            json_t *item = json_loadb(kept.before.v[i].body.p, kept.before.v[i].body.len, 0, NULL);
            const json_t *parts = json_object_get(item, "content");

            assert_int_equal(json_array_size(parts), 1);
            spent += compact_tokens(
                json_string_length(json_object_get(json_array_get(parts, 0), "text")));
            json_decref(item);
        }
        assert_true(spent <= tokens + MARK_TOKENS);
        assert_int_equal(kept.n_user, kept.before.n);
        assert_true(kept.has_all == (tokens >= 7 + 292 + 1750 + 42));
    }
    buf_fini(&body);
    fixture_fini(&f);
}

/* ---- the item */

/* What a client sends back is read as the next round of the same turn has read it. */
static void the_next_round_and_the_next_request_read_the_same(void **state)
{
    static const char body[] = REQUEST(SYSTEM("s") "," USER("a") "," ASSISTANT("b") "," USER(
        "caf\\u00e9") "," CALL_OF("1") "," OUTPUT_OF("1", "o"));
    struct buf again = {0};
    struct fixture f, g;
    struct compact_kept kept;
    char *in_turn, *in_request;
    str sealed;

    (void)state;
    parse_plain(&f, body);
    kept = keep_window(&f, 1000, 1000);
    sealed = seal_window(&f, &kept, "sum\n\"x\"");
    assert_int_equal(
        request_compact_replace(&f.request, sealed, &plain_options, &f.ids, &f.arena, &f.err), 0);
    in_turn = messages_of_request(&f);
    buf_c(&again, "{\"model\":\"m\",\"input\":[\"before\",{\"type\":\"compaction\","
                  "\"encrypted_content\":\"");
    buf_append(&again, sealed);
    buf_c(&again, "\"}]}");
    for (int i = 0; i < 2; i++) { /* and so each time */
        parse_plain(&g, buf_cstr(&again));
        in_request = messages_of_request(&g);
        assert_string_equal(in_turn, in_request);
        free(in_request);
        fixture_fini(&g);
    }
    assert_non_null(strstr(in_turn, "sum\\n\\\"x\\\""));
    free(in_turn);
    buf_fini(&again);
    fixture_fini(&f);
}

/* The second summary takes the place of the first; the user's messages stay. */
static void a_chain_compacted_twice_has_one_summary(void **state)
{
    struct buf again = {0};
    struct fixture f, g;
    struct compact_kept kept;
    char *messages;
    str sealed;

    (void)state;
    parse_plain(&f, REQUEST(USER("first") "," ASSISTANT("b") "," USER("second")));
    kept = keep_window(&f, 1000, 1000);
    sealed = seal_window(&f, &kept, "SUMMARY-1");
    buf_c(&again, "{\"model\":\"m\",\"input\":[{\"type\":\"compaction\",\"encrypted_content\":\"");
    buf_append(&again, sealed);
    buf_c(&again, "\"}," ASSISTANT("c") "," USER("third") "]}");
    parse_plain(&g, buf_cstr(&again));
    assert_true(compact_has_summary(&g.request.items));
    kept = keep_window(&g, 1000, 1000);
    sealed = seal_window(&g, &kept, "SUMMARY-2");
    assert_int_equal(
        request_compact_replace(&g.request, sealed, &plain_options, &g.ids, &g.arena, &g.err), 0);
    messages = messages_of_request(&g);
    assert_null(strstr(messages, "SUMMARY-1"));
    assert_true(strstr(messages, "first") < strstr(messages, "second"));
    assert_true(strstr(messages, "second") < strstr(messages, "SUMMARY-2"));
    assert_true(strstr(messages, "SUMMARY-2") < strstr(messages, "third"));
    free(messages);
    buf_fini(&again);
    fixture_fini(&f);
    fixture_fini(&g);
}

static void the_oldest_go_when_an_item_is_too_long(void **state)
{
    enum { N = 24, BYTES = 1 << 20 };
    static const struct text_seal no_seal = {plain_close, plain_open, NULL};
    struct kept_item many[N];
    struct compact_item item = {.is_window = true, .summary = STR("s"), .before = {many, N}};
    struct compact_opened opened;
    struct fixture f = {.ids = {.fill = fixture_fill}};
    char *body = malloc(BYTES);
    str sealed;
    size_t n;

    (void)state;
    assert_non_null(body);
    memset(body, '1', BYTES);
    for (size_t i = 0; i < N; i++)
        many[i] = (struct kept_item){.id = STR("i"), .body = str_from(body, BYTES - i)};
    assert_int_equal(compact_item_seal(&item, &no_seal, &f.arena, &sealed, &f.err), 0);
    n = (sealed.len - strlen("open:")) / 2;
    assert_true(n <= COMPACT_MAX_SEALED_BYTES / 4 * 3 &&
                n > COMPACT_MAX_SEALED_BYTES / 4 * 3 - BYTES - 1000);
    assert_false(compact_item_open(sealed, &no_seal, &f.arena, &opened)); /* in hex it is longer */
    item.before.n = 0;
    item.after = (struct kept_items){many, N};
    assert_int_equal(compact_item_seal(&item, &no_seal, &f.arena, &sealed, &f.err), -1);
    free(body);
    fixture_fini(&f);
}

/* ---- the question */

static void the_prompt_of_an_operator_has_the_same_slots(void **state)
{
    static const struct {
        const char *prompt;
        struct compact_question q;
        const char *text;
    } cases[] = {
        {"{kept}|{words}|{earlier}|{extra}|{other}|{",
         {.max_tokens = 9, .keeps_all = true, .note = STR_INIT("{words}")},
         "the user's messages|4||{words}|{other}|{"},
        {"{kept}{kept} \n\t",
         {.n_kept = 3},
         "the user's last 3 messagesthe user's last 3 messages"},
        {"{kept}", {.n_kept = 1, .keeps_tail = true}, "the last message"},
        {"{kept}", {.n_kept = 5, .keeps_tail = true, .keeps_all = true}, "the last 5 messages"},
        {"{kept}", {.n_kept = 0}, "no message"},
        {"{earlier}.",
         {.has_earlier = true},
         "An earlier summary is part of the above: carry over from it whatever still holds.\n."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct compact_question q = cases[i].q;
        struct buf text = {0};

        q.prompt = str_from_c(cases[i].prompt);
        compact_question_write(&q, &text);
        assert_string_equal(buf_cstr(&text), cases[i].text);
        buf_fini(&text);
    }
}

static void a_prompt_that_is_of_no_use_is_refused(void **state)
{
    char *longest = malloc(COMPACT_MAX_PROMPT_BYTES + 1);
    struct err e;

    (void)state;
    assert_non_null(longest);
    memset(longest, 'x', COMPACT_MAX_PROMPT_BYTES + 1);
    assert_int_equal(compact_prompt_check(STR("Sum it up.\n"), &e), 0);
    assert_int_equal(compact_prompt_check(str_from(longest, COMPACT_MAX_PROMPT_BYTES), &e), 0);
    assert_int_equal(compact_prompt_check(str_from(longest, COMPACT_MAX_PROMPT_BYTES + 1), &e), -1);
    assert_int_equal(compact_prompt_check(STR(""), &e), -1);
    assert_int_equal(compact_prompt_check(STR(" \n\t"), &e), -1);
    assert_int_equal(compact_prompt_check(STR("\xff"), &e), -1);
    free(longest);
}

static void budgets_follow_the_window(void **state)
{
    (void)state;
    assert_int_equal(compact_summary_tokens(0, 0, 0), 4096);
    assert_int_equal(compact_summary_tokens(0, 4096, 0), 1024);
    assert_int_equal(compact_summary_tokens(0, 32768, 0), 4096);
    assert_int_equal(compact_summary_tokens(0, 131072, 0), 8192);
    assert_int_equal(compact_summary_tokens(500, 131072, 0), 500);
    assert_int_equal(compact_summary_tokens(0, 131072, 300), 300);
    assert_int_equal(compact_keep_tokens(0, 0), 8192);
    assert_int_equal(compact_keep_tokens(0, 8192), 2048);
    assert_int_equal(compact_keep_tokens(0, 1000000), 64000);
    assert_int_equal(compact_keep_tokens(70000, 8192), 70000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_keeps_what_the_contract_says),
        cmocka_unit_test(a_cut_is_between_characters_at_every_length),
        cmocka_unit_test(what_is_kept_spends_no_more_than_its_tokens),
        cmocka_unit_test(the_next_round_and_the_next_request_read_the_same),
        cmocka_unit_test(a_chain_compacted_twice_has_one_summary),
        cmocka_unit_test(the_oldest_go_when_an_item_is_too_long),
        cmocka_unit_test(the_prompt_of_an_operator_has_the_same_slots),
        cmocka_unit_test(a_prompt_that_is_of_no_use_is_refused),
        cmocka_unit_test(budgets_follow_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
