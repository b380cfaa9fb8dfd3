/* test_sandbox_message.c -- what is made of a sandbox's lines, honest and hostile. */
#include "lib/test.h"

#include "json/json_text.h"
#include "lib/fixture.h"
#include "sandbox/sandbox_message.h"

static const struct sandbox_limits limits = {.output_bytes = 10, .image_bytes = 6, .file_bytes = 6};

struct heard {
    struct arena memory;
    struct buf line;
    struct sandbox_message m;
    struct sandbox_outcome o;
    int rc;
};

/* From a block of exactly its size, which is gone before anyone looks at what was made of it. */
static struct heard hear_run(const char *line)
{
    struct heard h = {.rc = -1};
    char *exact = exact_copy(str_from_c(line));

    if (sandbox_message_read(str_from(exact, strlen(line)), &h.m) == 0)
        h.rc = sandbox_read_run(&h.m, &limits, STR("c"), &h.memory, &h.o);
    free(exact);
    return h;
}

static struct heard hear_content(const char *line)
{
    struct heard h = {.rc = -1};
    char *exact = exact_copy(str_from_c(line));

    if (sandbox_message_read(str_from(exact, strlen(line)), &h.m) == 0)
        h.rc = sandbox_read_content(&h.m, &limits, &h.memory, &h.o);
    free(exact);
    return h;
}

static void heard_fini(struct heard *h)
{
    arena_fini(&h->memory);
}

/* ---- what is said */

static void questions_are_one_line_each(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    sandbox_write_run(7, STR("print(\"\xC3\xA9\")\n"), &out);
    sandbox_write_files(8, &out);
    sandbox_write_read(9, STR("a b"), 100, &out);
    sandbox_write_interrupt(&out);
    assert_str_c(buf_str(&out), "{\"id\":7,\"op\":\"run\",\"code\":\"print(\\\"\xC3\xA9\\\")\\n\"}"
                                "{\"id\":8,\"op\":\"files\"}"
                                "{\"id\":9,\"op\":\"read\",\"path\":\"a b\",\"max_bytes\":100}"
                                "{\"op\":\"interrupt\"}");
    buf_fini(&out);
}

static void arguments_are_an_object(void **state)
{
    const struct sandbox_arguments arguments = {.memory_bytes = 1,
                                                .processes = 2,
                                                .file_bytes = 3,
                                                .output_bytes = 4,
                                                .image_bytes = 5,
                                                .egress_socket = NULL};
    struct buf out = {.limit = 0};

    (void)state;
    sandbox_write_arguments(&arguments, &out);
    assert_str_c(buf_str(&out), "{\"memory_bytes\":1,\"processes\":2,\"file_bytes\":3,"
                                "\"output_bytes\":4,\"image_bytes\":5,\"egress\":null}");
    buf_fini(&out);
}

/* ---- what is heard */

static void ready_is_the_message_without_an_id(void **state)
{
    struct sandbox_message m;

    (void)state;
    assert_int_equal(sandbox_message_read(STR("{\"ready\":{\"python\":\"3.11.2\"}}"), &m), 0);
    assert_int_equal(m.id, 0);
    assert_str_c(m.python, "3.11.2");
}

static void what_has_no_form_is_no_message(void **state)
{
    static const char *const lines[] = {
        "",
        "hello",
        "{}",
        "[]",
        "null",
        "{\"id\":0}",
        "{\"id\":-1}",
        "{\"id\":1.5}",
        "{\"id\":\"1\"}",
        "{\"id\":null}",
        "{\"id\":1e300}",
        "{\"id\":1",
        "{\"id\":1}{\"id\":2}",
        "{\"id\":1,\"logs\":\"\xFF\"}",
        "{\"id\":1,\"logs\":\"\\x\"}",
        "{\"ready\":\"3.11\"}",
        "{\"ready\":{\"python\":3}}",
        "{\"id\":1,\"ready\":{\"python\":\"3\"}}",
    };
    struct sandbox_message m;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        if (sandbox_message_read(str_from_c(lines[i]), &m) == 0)
            fail_msg("%s", lines[i]);
    }
}

static void depth_is_limited(void **state)
{
    struct buf line = {.limit = 0};
    struct sandbox_message m;

    (void)state;
    buf_c(&line, "{\"id\":1,\"files\":");
    for (int i = 0; i < 100000; i++)
        buf_char(&line, '[');
    assert_int_equal(sandbox_message_read(buf_str(&line), &m), -1);
    buf_fini(&line);
}

static void a_run_has_logs_value_images_and_files(void **state)
{
    struct heard h = hear_run(
        "{\"id\":1,\"logs\":\"a\\n\\u00e9\",\"value\":\"'x'\",\"raised\":true,\"images\":[{"
        "\"mime\":\"image/png\",\"path\":\"p.png\",\"base64\":\"Zm9v\"}],\"files\":[{"
        "\"path\":\"d/p.png\",\"bytes\":3,\"modified_at\":9}]}");

    (void)state;
    assert_int_equal(h.rc, 0);
    assert_true(h.o.is_raised);
    assert_str_c(h.o.logs, "a\n\xC3\xA9");
    assert_str_c(h.o.value, "'x'");
    assert_int_equal(h.o.n_images, 1);
    assert_str_c(h.o.images[0].mime, "image/png");
    assert_str_c(h.o.images[0].path, "/mnt/data/p.png");
    assert_str_c(h.o.images[0].base64, "Zm9v");
    assert_int_equal(h.o.n_files, 1);
    assert_str_c(h.o.files[0].path, "/mnt/data/d/p.png");
    assert_int_equal(h.o.files[0].bytes, 3);
    assert_int_equal(h.o.files[0].modified_at, 9);
    heard_fini(&h);
}

#define RUN(members) "{\"id\":1,\"raised\":false," members "}"

static void a_run_without_value_has_none(void **state)
{
    struct heard h = hear_run(RUN("\"logs\":\"\",\"value\":null,\"images\":[],\"files\":[]"));

    (void)state;
    assert_int_equal(h.rc, 0);
    assert_true(str_is_none(h.o.value));
    assert_false(str_is_none(h.o.logs));
    heard_fini(&h);
}

static void answers_of_another_shape_are_refused(void **state)
{
    static const char *const lines[] = {
        RUN("\"value\":null,\"images\":[],\"files\":[]"),
        RUN("\"logs\":1,\"images\":[],\"files\":[]"),
        RUN("\"logs\":\"\",\"images\":[]"),
        RUN("\"logs\":\"\",\"files\":[]"),
        RUN("\"logs\":\"\",\"images\":{},\"files\":[]"),
        RUN("\"logs\":\"\",\"images\":[],\"files\":\"[]\""),
        "{\"id\":1,\"logs\":\"\",\"images\":[],\"files\":[]}",
        "{\"id\":1,\"logs\":\"\",\"images\":[],\"files\":[],\"raised\":1}",
        "{\"id\":1,\"error\":\"busy\"}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct heard h = hear_run(lines[i]);

        if (h.rc == 0)
            fail_msg("%s", lines[i]);
        heard_fini(&h);
    }
}

static void texts_are_cut_between_characters_and_have_no_nul(void **state)
{
    struct buf line = {.limit = 0};
    struct heard h;

    (void)state;
    buf_c(&line,
          "{\"id\":1,\"raised\":false,\"value\":\"a\\u0000b\\ud800\",\"images\":[],\"files\":"
          "[],\"logs\":\"");
    for (int i = 0; i < 1000; i++)
        buf_c(&line, "\xE2\x82\xAC");
    buf_c(&line, "\"}");
    h = hear_run(buf_cstr(&line));
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.logs.len % 3, 0);
    assert_in_range(h.o.logs.len, 3 * limits.output_bytes, 1000);
    assert_str_c(h.o.value, "ab\xEF\xBF\xBD");
    heard_fini(&h);
    buf_fini(&line);
}

/* ---- files and images */

static void names_that_leave_the_directory_are_no_files(void **state)
{
    static const char *const bad[] = {
        "",     "/",        "/etc/passwd", "..",   "../x",    "a/../b", "a/..",
        ".",    "./a",      "a/./b",       "a//b", "a/",      "a\nb",   "a\x1B[0m",
        "\x7F", "\xC2\x9B", "a\xFF",       "//a",  "a/../..", "\x01/b", "a\xED\xA0\x80",
    };
    static const char *const good[] = {"a", ".a", "a b", "..a", "a..", "...", "a/b/c", "\xC3\xA9"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (sandbox_path_is_fine(str_from_c(bad[i])))
            fail_msg("%s", bad[i]);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(sandbox_path_is_fine(str_from_c(good[i])));
    assert_false(sandbox_path_is_fine(STR("a\0b")));
}

static void files_that_cannot_be_are_left_out(void **state)
{
    struct heard h = hear_run(RUN(
        "\"logs\":\"\",\"images\":[],\"files\":[1,null,{},{\"path\":\"../x\",\"bytes\":1},"
        "{\"path\":\"a\"},{\"path\":\"a\",\"bytes\":-1},{\"path\":\"a\",\"bytes\":1e99},"
        "{\"path\":1,\"bytes\":1},{\"path\":\"a\\u0000\",\"bytes\":1},{\"path\":\"ok\",\"bytes\":0}]"));

    (void)state;
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.n_files, 1);
    assert_str_c(h.o.files[0].path, "/mnt/data/ok");
    assert_int_equal(h.o.files[0].modified_at, 0);
    heard_fini(&h);
}

#define IMAGE(mime, base64) "{\"mime\":\"" mime "\",\"path\":\"a\",\"base64\":\"" base64 "\"}"

static void images_that_cannot_be_are_left_out(void **state)
{
    struct heard h = hear_run(RUN(
        "\"logs\":\"\",\"files\":[],\"images\":[1,{}," IMAGE("image/svg+xml", "Zm9v") "," IMAGE("text/html", "Zm9v") "," IMAGE(
            "image/png\\\"",
            "Zm9v") "," IMAGE("image/png",
                              "Zm9") "," IMAGE("image/png",
                                               "Zm9v\\n") "," IMAGE("image/png",
                                                                    "") "," IMAGE("image/png",
                                                                                  "Zm9vYmFyYmFyYmFy") ",{\"mime\":\"image/gif\",\"base64\":\"Zm9vYmFy\",\"path\":\"..\"}]"));

    (void)state;
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.n_images, 1);
    assert_str_c(h.o.images[0].mime, "image/gif");
    assert_str_c(h.o.images[0].path, "");
    heard_fini(&h);
}

static void files_and_images_are_limited_in_number(void **state)
{
    struct buf line = {.limit = 0};
    struct heard h;

    (void)state;
    buf_c(&line, "{\"id\":1,\"logs\":\"\",\"raised\":false,\"files\":[");
    for (int i = 0; i < 2 * SANDBOX_MAX_FILES; i++)
        buf_c(&line, i == 0 ? "{\"path\":\"a\",\"bytes\":1}" : ",{\"path\":\"a\",\"bytes\":1}");
    buf_c(&line, "],\"images\":[");
    for (int i = 0; i < 2 * SANDBOX_MAX_IMAGES; i++)
        buf_c(&line, i == 0 ? IMAGE("image/png", "Zm9v") : "," IMAGE("image/png", "Zm9v"));
    buf_c(&line, "]}");
    h = hear_run(buf_cstr(&line));
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.n_files, SANDBOX_MAX_FILES);
    assert_int_equal(h.o.n_images, SANDBOX_MAX_IMAGES);
    heard_fini(&h);
    buf_fini(&line);
}

static void ids_of_files_depend_on_container_and_path(void **state)
{
    struct arena a = {.limit = 0};
    str id = sandbox_file_id(STR("c"), STR("p"), &a);

    (void)state;
    assert_true(str_starts_with(id, STR("cfile_")));
    assert_str_eq(sandbox_file_id(STR("c"), STR("p"), &a), id);
    assert_false(str_eq(sandbox_file_id(STR("c"), STR("q"), &a), id));
    assert_false(str_eq(sandbox_file_id(STR("d"), STR("p"), &a), id));
    assert_false(str_eq(sandbox_file_id(STR(""), STR("cp"), &a), id));
    arena_fini(&a);
}

/* ---- contents */

static void content_is_base64_within_the_limit(void **state)
{
    struct heard h = hear_content("{\"id\":3,\"base64\":\"AP\\/vvvs=\"}");

    (void)state;
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.failure, SANDBOX_OK);
    assert_str_eq(h.o.content, STR("\0\xFF\xEF\xBE\xFB"));
    heard_fini(&h);
    h = hear_content("{\"id\":3,\"base64\":\"\"}");
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.content.len, 0);
    heard_fini(&h);
    h = hear_content("{\"id\":3,\"base64\":\"Zm9vYmFyYmFy\"}");
    assert_int_equal(h.rc, 0);
    assert_int_equal(h.o.failure, SANDBOX_TOO_LARGE);
    heard_fini(&h);
}

static void errors_of_files_are_known_words(void **state)
{
    struct heard none = hear_content("{\"id\":3,\"error\":\"not_found\"}");
    struct heard large = hear_content("{\"id\":3,\"error\":\"too_large\"}");

    (void)state;
    assert_int_equal(none.o.failure, SANDBOX_NO_FILE);
    assert_int_equal(large.o.failure, SANDBOX_TOO_LARGE);
    assert_int_equal(hear_content("{\"id\":3,\"error\":\"else\"}").rc, -1);
    assert_int_equal(hear_content("{\"id\":3}").rc, -1);
    assert_int_equal(hear_content("{\"id\":3,\"base64\":1}").rc, -1);
    heard_fini(&none);
    heard_fini(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_one_line_each),
        cmocka_unit_test(arguments_are_an_object),
        cmocka_unit_test(ready_is_the_message_without_an_id),
        cmocka_unit_test(what_has_no_form_is_no_message),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(a_run_has_logs_value_images_and_files),
        cmocka_unit_test(a_run_without_value_has_none),
        cmocka_unit_test(answers_of_another_shape_are_refused),
        cmocka_unit_test(texts_are_cut_between_characters_and_have_no_nul),
        cmocka_unit_test(names_that_leave_the_directory_are_no_files),
        cmocka_unit_test(files_that_cannot_be_are_left_out),
        cmocka_unit_test(images_that_cannot_be_are_left_out),
        cmocka_unit_test(files_and_images_are_limited_in_number),
        cmocka_unit_test(ids_of_files_depend_on_container_and_path),
        cmocka_unit_test(content_is_base64_within_the_limit),
        cmocka_unit_test(errors_of_files_are_known_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
