/* test_recordings.c -- answers recorded from real servers, against a simple
 * reading of them that knows nothing of dialects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/event_check.h"
#include "lib/round_run.h"

enum { MAX_CALLS = 8, SMALL_BYTES = 4096, SAMPLES = 300 };

struct simple_call {
    struct buf id, name, arguments;
};

/* What the answer says, read with a JSON library, line by line. */
struct simple_reading {
    struct buf text, reasoning;
    struct simple_call calls[MAX_CALLS];
    size_t n_calls;
    char finish[32];
    bool has_error;
    json_int_t prompt_tokens, completion_tokens;
};

static void add(struct buf *to, json_t *object, const char *key)
{
    buf_c(to, json_string_value(json_object_get(object, key)));
}

static void read_call(struct simple_reading *r, json_t *call, size_t nth)
{
    json_t *index = json_object_get(call, "index"), *function = json_object_get(call, "function");
    size_t i = json_is_integer(index) ? (size_t)json_integer_value(index) : nth;

    assert_true(i < MAX_CALLS);
    if (r->n_calls <= i)
        r->n_calls = i + 1;
    add(&r->calls[i].id, call, "id");
    add(&r->calls[i].name, function, "name");
    add(&r->calls[i].arguments, function, "arguments");
}

static void read_choice(struct simple_reading *r, json_t *choice)
{
    json_t *delta = json_object_get(choice, "delta"), *call;
    const char *finish = json_string_value(json_object_get(choice, "finish_reason"));
    size_t i;

    if (delta == NULL)
        delta = json_object_get(choice, "message");
    add(&r->text, delta, "content");
    add(&r->reasoning, delta, "reasoning_content");
    json_array_foreach(json_object_get(delta, "tool_calls"), i, call) read_call(r, call, i);
    if (finish != NULL)
        snprintf(r->finish, sizeof(r->finish), "%s", finish);
}

static void read_chunk(struct simple_reading *r, json_t *chunk)
{
    json_t *usage = json_object_get(chunk, "usage");

    if (json_object_get(chunk, "error") != NULL)
        r->has_error = true;
    if (json_is_object(usage)) {
        r->prompt_tokens = json_integer_value(json_object_get(usage, "prompt_tokens"));
        r->completion_tokens = json_integer_value(json_object_get(usage, "completion_tokens"));
    }
    read_choice(r, json_array_get(json_object_get(chunk, "choices"), 0));
}

static void read_simply(str body, struct simple_reading *r)
{
    while (body.len > 0) {
        size_t end = str_find_char(body, '\n');
        str line = str_from(body.p, end);
        json_t *chunk;

        line = str_skip(line, str_find_char(line, '{')); /* whatever stands before the JSON */
        chunk = json_loadb(line.p, line.len, 0, NULL);
        if (chunk != NULL)
            read_chunk(r, chunk);
        json_decref(chunk);
        body = str_skip(body, end + 1);
    }
}

static void simple_reading_fini(struct simple_reading *r)
{
    buf_fini(&r->text);
    buf_fini(&r->reasoning);
    for (size_t i = 0; i < r->n_calls; i++) {
        buf_fini(&r->calls[i].id);
        buf_fini(&r->calls[i].name);
        buf_fini(&r->calls[i].arguments);
    }
}

/* ---- what the gateway made of it */

static const char *expected_status(const struct simple_reading *r)
{
    if (r->has_error)
        return "failed";
    return strcmp(r->finish, "length") == 0 ? "incomplete" : "completed";
}

static const char *member(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void check_text(json_t *response, const char *part_type, struct buf *expected)
{
    char *text = response_text(response, part_type);

    assert_string_equal(text, buf_cstr(expected));
    free(text);
}

static void check_calls(json_t *response, struct simple_reading *r)
{
    json_t *calls = response_calls(response);

    assert_int_equal(json_array_size(calls), r->n_calls);
    for (size_t i = 0; i < r->n_calls; i++) {
        json_t *call = json_array_get(calls, i);

        if (r->calls[i].id.len > 0) /* else the gateway makes one */
            assert_string_equal(member(call, "call_id"), buf_cstr(&r->calls[i].id));
        assert_string_equal(member(call, "name"), buf_cstr(&r->calls[i].name));
        assert_string_equal(member(call, "arguments"), buf_cstr(&r->calls[i].arguments));
    }
    json_decref(calls);
}

static void check_usage(json_t *response, const struct simple_reading *r)
{
    json_t *usage = json_object_get(response, "usage");

    assert_int_equal(json_integer_value(json_object_get(usage, "input_tokens")), r->prompt_tokens);
    assert_int_equal(json_integer_value(json_object_get(usage, "output_tokens")),
                     r->completion_tokens);
}

static void check_reading(str body, const struct round_result *result)
{
    struct simple_reading r = {.n_calls = 0};
    json_t *response = round_response(result);

    read_simply(body, &r);
    assert_string_equal(member(response, "status"), expected_status(&r));
    check_text(response, "output_text", &r.text);
    check_text(response, "reasoning_text", &r.reasoning);
    check_calls(response, &r);
    check_usage(response, &r);
    simple_reading_fini(&r);
    json_decref(response);
}

/* ---- the runs */

static void assert_same_bytes(str got, str expected)
{
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.p, expected.p, expected.len);
}

static void check_cutting(const struct round_conf *conf, str body, struct cutting cutting,
                          str expected)
{
    struct round_result r;

    round_run(conf, body, cutting, true, &r);
    assert_same_bytes(buf_str(&r.events), expected);
    round_result_fini(&r);
}

/* Small recordings are cut everywhere, large ones at places picked by chance. */
static void check_cuttings(const struct round_conf *conf, str body, str expected)
{
    struct chance chance = {.state = body.len};
    bool small = body.len < SMALL_BYTES;
    size_t n = small ? body.len : SAMPLES * SMALL_BYTES / body.len + 20;

    check_cutting(conf, body, BYTE_BY_BYTE, expected);
    for (size_t i = 1; i <= n; i++) {
        size_t at = small ? i : 1 + chance_below(&chance, (uint32_t)body.len);

        check_cutting(conf, body, CUT_AT(at), expected);
    }
}

static void check_recording(void **state)
{
    const char *name = *state;
    struct buf file = fixture_read(name);
    str body = buf_str(&file);
    struct round_conf conf = {.logprobs = strstr(name, "logprobs") != NULL};
    struct round_result r, object_only;
    const char *what;

    round_run(&conf, body, UNCUT, true, &r);
    what = event_check(buf_str(&r.events));
    if (what != NULL)
        fail_msg("%s", what);
    check_reading(body, &r);
    check_cuttings(&conf, body, buf_str(&r.events));
    round_run(&conf, body, UNCUT, false, &object_only);
    assert_same_bytes(buf_str(&object_only.object), event_response(buf_str(&r.events)));
    round_result_fini(&object_only);
    round_result_fini(&r);
    buf_fini(&file);
}

static void add_tests(const char *folder, const char *suffix, struct CMUnitTest *tests, size_t *n,
                      size_t max)
{
    char **names = fixture_list(folder, suffix);

    for (char **name = names; *name != NULL && *n < max; name++)
        tests[(*n)++] = (struct CMUnitTest){*name, check_recording, NULL, NULL, *name};
    free(names); /* the names live on in the tests */
}

int main(void)
{
    static const char *const folders[] = {"captures/ik-llama", "captures/llama-2025-02"};
    static struct CMUnitTest tests[256];
    size_t n = 0;
    int failed;

    for (size_t i = 0; i < 2; i++) {
        add_tests(folders[i], ".sse", tests, &n, 256);
        add_tests(folders[i], "_nonstream.json", tests, &n, 256);
    }
    failed = _cmocka_run_group_tests("recordings", tests, n, NULL, NULL);
    while (n > 0)
        free(tests[--n].initial_state);
    return failed;
}
