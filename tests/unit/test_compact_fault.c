/* test_compact_fault.c -- a compaction with each of its allocations failing in turn: the request
 * fails for want of memory, or is what it would have been. Nothing of a context is lost in silence. */
#include "compact_fixture.h"

#include "compact/compact_shrink.h"
#include "lib/failing_malloc.h"
#include "resolve_fixture.h"

#define OLD_WINDOW                                                                                 \
    "{\"v\":1,\"k\":\"w\",\"t\":\"old \\u00e9\",\"b\":[" USER("kept") "],\"a\":[" CALL "," OUTPUT  \
                                                                      "]}"

static const struct responses_request_options options = {
    .default_model = STR_NONE, .compaction = {.seal = &plain_seal, .keep_tokens = 60}};

/* The body of a request with all that a compaction looks at. */
static void write_request(struct buf *body)
{
    buf_c(body, "{\"model\":\"m\",\"previous_response_id\":\"resp_1\",\"input\":[");
    buf_c(body, SYSTEM("s") ",{\"type\":\"mcp_list_tools\",\"server_label\":\"d\",\"tools\":[]},");
    buf_c(body, "{\"type\":\"compaction\",\"encrypted_content\":\"");
    (void)plain_close(NULL, STR(OLD_WINDOW), body);
    buf_c(body,
          "\"},{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"i\"},"
          "{\"type\":\"input_text\",\"text\":\"");
    for (int i = 0; i < 100; i++)
        buf_c(body, "\\u00e9\xE2\x82\xAC");
    buf_c(body,
          "\"}]}," USER("next") "," CALL ",{\"type\":\"function_call_output\",\"call_id\":\"c\","
                                "\"output\":\"");
    for (int i = 0; i < 300; i++)
        buf_c(body, "0123456789");
    buf_c(body, "\"}]}");
}

/* What the upstream would be asked for the summary, and told after it. */
static int compact_all(struct fixture *f, struct buf *out)
{
    const struct chat_request_options chat = {0};
    const struct compact_question q = {.max_tokens = 100, .keeps_tail = true};
    struct request_compact_call call = {.max_tokens = 100};
    struct compact_kept kept;
    struct compact_item item = {.is_window = true, .summary = STR("new")};
    struct responses_request ask;
    struct conversation c;
    struct buf question = {0};
    str sealed;

    if (compact_keep_window(&f->request.items, 60, 100, &f->ids, &f->arena, &kept, &f->err) == -1)
        return -1;
    compact_question_write(&q, &question);
    call.question = arena_dup(&f->arena, buf_str(&question));
    buf_fini(&question);
    if (str_is_none(call.question) ||
        request_compact_ask(&f->request, &call, &f->arena, &ask, &f->err) == -1 ||
        chat_request_conversation(&ask, &chat, &f->ids, &f->arena, &c, &f->err) == -1)
        return -1;
    (void)compact_shrink(&c, 1, 0, &f->arena); /* without memory it is no shorter */
    item.before = kept.before;
    item.after = kept.after;
    if (chat_request_write(&ask, &c, &chat, out, &f->err) == -1 ||
        compact_item_seal(&item, &plain_seal, &f->arena, &sealed, &f->err) == -1)
        return -1;
    buf_reset(out);
    if (request_compact_replace(&f->request, sealed, &options, &f->ids, &f->arena, &f->err) == -1)
        return -1;
    return chat_request_build(&f->request, &chat, &f->ids, &f->arena, out, &f->err);
}

static int run_all(struct fixture *f, str body, struct buf *out)
{
    static const struct request_history_item before[] = {
        {.id = STR_INIT("msg_1"),
         .body = STR_INIT(
             "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"user\",\"content\":\"a\"}")}};
    const struct request_history history = {.items = before, .n = 1, .previous_tail = STR_NONE};

    *f = (struct fixture){.ids = {.fill = fixture_fill}};
    f->ids.arg = &f->next_id;
    if (responses_request_parse(body, &options, &f->ids, &f->arena, &f->request, &f->err) == -1 ||
        request_resolve(&f->request, &history, &options, &f->ids, &f->arena, &f->err) == -1)
        return -1;
    return compact_all(f, out);
}

/* Returns whether an allocation failed. */
static bool fails_well(str body, str expected, long n, enum failing_malloc how)
{
    struct buf out = {0};
    struct fixture f;
    bool has_failed;
    int rc;

    failing_malloc_begin(n, how);
    rc = run_all(&f, body, &out);
    has_failed = failing_malloc_end();
    if (rc == 0)
        assert_true(str_eq(buf_str(&out), expected));
    else
        assert_true(has_failed);
    buf_fini(&out);
    fixture_fini(&f);
    return has_failed;
}

static void nothing_is_lost_without_memory(void **state)
{
    struct buf body = {0}, expected = {0};
    struct fixture f;
    long n;

    (void)state;
    write_request(&body);
    if (run_all(&f, buf_str(&body), &expected) == -1)
        fail_msg("%s", f.err.msg);
    assert_non_null(strstr(buf_cstr(&expected), "new"));
    assert_null(strstr(buf_cstr(&expected), "another service"));
    fixture_fini(&f);
    for (n = 0; fails_well(buf_str(&body), buf_str(&expected), n, FAILS_ONCE); n++)
        assert_true(fails_well(buf_str(&body), buf_str(&expected), n, FAILS_FOR_GOOD));
    assert_true(n > 20);
    buf_fini(&body);
    buf_fini(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
