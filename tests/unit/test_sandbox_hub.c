/* test_sandbox_hub.c -- containers and what workers ask of them, with real sandboxes. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "unit/sandbox_fixture.h"

/* ---- code */

static void variables_stay_from_one_call_to_the_next(void **state)
{
    (void)state;
    hub_open();
    assert_run("a", "x = 41\nprint('hello')", "hello\n", NULL);
    assert_run("a", "x + 1", "", "42");
}

static void containers_do_not_share_variables(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_run("a", "x = 1", "", NULL);
    assert_int_equal(run("b", "x", &t), SANDBOX_OK);
    assert_true(t.is_raised);
    assert_true(str_has_nocase(buf_str(&t.logs), STR("NameError")));
    told_fini(&t);
}

static void an_exception_is_an_outcome(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "print('before')\n1 / 0", &t), SANDBOX_OK);
    assert_true(t.is_raised && t.is_alive);
    assert_true(str_starts_with(buf_str(&t.logs), STR("before\nTraceback")));
    told_fini(&t);
}

/* ---- names and owners */

static void what_does_not_exist_is_not_found(void **state)
{
    static const enum sandbox_op ops[] = {SANDBOX_RUN, SANDBOX_FIND, SANDBOX_DELETE,
                                          SANDBOX_LIST_FILES, SANDBOX_READ_FILE};
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_int_equal(do_to(ops[i], "a", &t), SANDBOX_NOT_FOUND);
        assert_str_c(buf_str(&t.message), "There is no such container, or it has expired.");
    }
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_int_equal(t.n_containers, 0);
    told_fini(&t);
}

static void what_is_someone_elses_is_not_found_in_the_same_words(void **state)
{
    static const enum sandbox_op ops[] = {SANDBOX_RUN, SANDBOX_FIND, SANDBOX_DELETE,
                                          SANDBOX_LIST_FILES, SANDBOX_READ_FILE};
    struct sandbox_request theirs = code_in("a", "open('f', 'w').write('x')");
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    theirs.owner = STR("them");
    assert_int_equal(answer(&theirs, &t), SANDBOX_OK);
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        assert_int_equal(do_to(ops[i], "a", &t), SANDBOX_NOT_FOUND);
        assert_str_c(buf_str(&t.message), "There is no such container, or it has expired.");
    }
    assert_int_equal(run("a", "1", &t), SANDBOX_NOT_FOUND);
    assert_int_equal(do_to(SANDBOX_CREATE, "a", &t), SANDBOX_NOT_FOUND);
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_int_equal(t.n_containers, 0);
    assert_false(sandbox_hub_has(bfx.hub, STR("me"), STR("a")));
    assert_true(sandbox_hub_has(bfx.hub, STR("them"), STR("a")));
    told_fini(&t);
}

static void containers_are_listed_oldest_first(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(do_to(SANDBOX_CREATE, "a", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|");
    assert_int_equal(do_to(SANDBOX_CREATE, "b", &t), SANDBOX_OK);
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|b|");
    assert_int_equal(do_to(SANDBOX_DELETE, "a", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|");
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "b|");
    told_fini(&t);
}

static void a_container_may_ask_for_less_and_not_for_more(void **state)
{
    struct sandbox_request r = {.op = SANDBOX_CREATE, .owner = STR("me"), .name = STR("mine")};
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    r.container_id = STR("less");
    r.idle_ms = 1000;
    r.memory_bytes = 100 * MIB;
    assert_int_equal(answer(&r, &t), SANDBOX_OK);
    assert_int_equal(t.container.idle_ms, 1000);
    assert_int_equal(t.container.memory_bytes, 100 * MIB);
    assert_true(t.container.created_at > 0);
    r.container_id = STR("more");
    r.idle_ms = 2 * (uint64_t)LONG_MS;
    r.memory_bytes = 2048 * MIB;
    assert_int_equal(answer(&r, &t), SANDBOX_OK);
    assert_int_equal(t.container.idle_ms, LONG_MS);
    assert_int_equal(t.container.memory_bytes, 512 * MIB);
    told_fini(&t);
}

/* ---- files */

static void files_are_listed_and_read(void **state)
{
    struct sandbox_request read = {
        .op = SANDBOX_READ_FILE, .owner = STR("me"), .container_id = STR("a")};
    struct told made = {.n = 0}, t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "open('f.bin', 'wb').write(bytes(range(256)))", &made), SANDBOX_OK);
    assert_str_c(buf_str(&made.paths), "/mnt/data/f.bin|");
    assert_int_equal(do_to(SANDBOX_LIST_FILES, "a", &t), SANDBOX_OK);
    assert_str_eq(buf_str(&t.file_ids), buf_str(&made.file_ids));
    read.file_id = str_from(made.file_ids.p, made.file_ids.len - 1);
    assert_int_equal(answer(&read, &t), SANDBOX_OK);
    assert_int_equal(t.content.len, 256);
    assert_int_equal((unsigned char)t.content.p[255], 255);
    assert_str_c(buf_str(&t.paths), "/mnt/data/f.bin|");
    read.file_id = STR("cfile_0");
    assert_int_equal(answer(&read, &t), SANDBOX_NO_FILE);
    told_fini(&made);
    told_fini(&t);
}

static void a_file_may_be_too_large_to_be_read(void **state)
{
    struct sandbox_request read = {
        .op = SANDBOX_READ_FILE, .owner = STR("me"), .container_id = STR("a")};
    struct told made = {.n = 0}, t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "open('f', 'w').write('x' * (1 << 21))", &made), SANDBOX_OK);
    read.file_id = str_from(made.file_ids.p, made.file_ids.len - 1);
    assert_int_equal(answer(&read, &t), SANDBOX_TOO_LARGE);
    told_fini(&made);
    told_fini(&t);
}

static void a_container_that_has_run_nothing_has_no_files(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(do_to(SANDBOX_CREATE, "a", &t), SANDBOX_OK);
    assert_int_equal(do_to(SANDBOX_LIST_FILES, "a", &t), SANDBOX_OK);
    assert_int_equal(t.n_files, 0);
    assert_int_equal(do_to(SANDBOX_READ_FILE, "a", &t), SANDBOX_NO_FILE);
    told_fini(&t);
}

static void an_image_is_handed_over(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "open('p.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n')", &t),
                     SANDBOX_OK);
    assert_int_equal(t.n_images, 1);
    told_fini(&t);
}

/* ---- what goes on at the same time */

/* Code that has begun and waits until it is interrupted. */
static struct sandbox_task *start_waiting(const char *container_id, struct told *t)
{
    const struct sandbox_request request = code_in(
        container_id, "import time\nopen('begun', 'w')\nprint('begun')\nwhile True: time.sleep(1)");
    struct sandbox_task *task = ask(&request, t);
    struct told files = {.n = 0};

    do { /* SANDBOX_LIST_FILES does not wait for code */
        (void)do_to(SANDBOX_LIST_FILES, container_id, &files);
    } while (files.n_files == 0);
    told_fini(&files);
    return task;
}

static void code_of_one_container_runs_in_order(void **state)
{
    struct sandbox_request request = code_in("a", "print(x)\nx += 1");
    struct told t[5] = {{.n = 0}};

    (void)state;
    hub_open();
    assert_run("a", "x = 0", "", NULL);
    for (size_t i = 0; i < COUNT_OF(t); i++)
        (void)ask(&request, &t[i]);
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        char expected[8];

        SANDBOX_UNTIL(t[i].n > 0);
        (void)snprintf(expected, sizeof(expected), "%zu\n", i);
        assert_str_c(buf_str(&t[i].logs), expected);
        told_fini(&t[i]);
    }
}

static void code_that_takes_too_long_fails_and_the_container_lives_on(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    bfx.conf.run_timeout_ms = 500;
    hub_open();
    assert_int_equal(run("a", "x = 1\nprint('begun')\nwhile True: pass", &t), SANDBOX_TIMED_OUT);
    assert_true(t.is_alive);
    assert_true(str_starts_with(buf_str(&t.logs), STR("begun\n")));
    assert_run("a", "x", "", "1");
    told_fini(&t);
}

static void code_that_cannot_be_interrupted_costs_the_container(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    bfx.conf.run_timeout_ms = 500;
    hub_open();
    assert_int_equal(run("a",
                         "import time\nwhile True:\n  try: time.sleep(9)\n"
                         "  except KeyboardInterrupt: pass",
                         &t),
                     SANDBOX_TIMED_OUT);
    assert_false(t.is_alive);
    assert_int_equal(do_to(SANDBOX_FIND, "a", &t), SANDBOX_NOT_FOUND);
    assert_int_equal(run("a", "1", &t), SANDBOX_OK);
    told_fini(&t);
}

static void cancelled_code_ends_and_the_container_lives_on(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    sandbox_cancel(start_waiting("a", &t));
    assert_run("a", "time.__name__", "", "'time'"); /* comes once the other has ended */
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    assert_int_equal(t.n, 0);
}

static void code_that_waits_can_be_cancelled(void **state)
{
    struct sandbox_request request = code_in("a", "x = 1");
    struct told first = {.n = 0}, second = {.n = 0}, t = {.n = 0};
    struct sandbox_task *task;

    (void)state;
    hub_open();
    task = start_waiting("a", &first);
    sandbox_cancel(ask(&request, &second));
    sandbox_cancel(task);
    assert_int_equal(run("a", "x", &t), SANDBOX_OK);
    assert_true(t.is_raised);
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    assert_int_equal(first.n + second.n, 0);
    told_fini(&t);
}

static void tasks_are_cancelled_at_any_time(void **state)
{
    static const enum sandbox_op ops[] = {SANDBOX_RUN,  SANDBOX_CREATE, SANDBOX_FIND,
                                          SANDBOX_LIST, SANDBOX_DELETE, SANDBOX_LIST_FILES};
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    for (size_t i = 0; i < 20 * COUNT_OF(ops); i++) {
        struct sandbox_request request = code_in("a", "1");
        struct sandbox_task *task;

        request.op = ops[i % COUNT_OF(ops)];
        task = ask(&request, &t);
        for (size_t pause = 0; pause < i; pause++)
            (void)uv_run(loop_uv(bfx.loop), UV_RUN_NOWAIT);
        if (t.n == 0)
            sandbox_cancel(task);
        SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
        told_fini(&t);
    }
}

/* ---- the end of a container */

static void a_process_that_ends_takes_its_container_with_it(void **state)
{
    struct sandbox_request again = code_in("a", "x");
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_int_equal(run("a", "x = 1\nimport os\nos._exit(3)", &t), SANDBOX_DIED);
    assert_false(t.is_alive);
    assert_str_c(buf_str(&t.message),
                 "The sandbox has ended: the Python process ended: exited with status 3. Its "
                 "variables and files are gone.");
    assert_false(sandbox_hub_has(bfx.hub, STR("me"), STR("a")));
    again.may_create = false;
    assert_int_equal(answer(&again, &t), SANDBOX_NOT_FOUND);
    again.may_create = true;
    assert_int_equal(answer(&again, &t), SANDBOX_OK);
    assert_true(t.is_raised); /* NameError: it is another one */
    told_fini(&t);
}

static void code_that_waited_for_what_died_runs_in_a_new_container(void **state)
{
    struct sandbox_request dies = code_in(
        "a", "import os, time\ntime.sleep(0.2)\nos.kill(os.getpid(), 9)"); /* the others wait */
    struct sandbox_request maker = code_in("a", "1"), other = code_in("a", "2");
    struct told t[3] = {{.n = 0}};

    (void)state;
    hub_open();
    other.may_create = false;
    (void)ask(&dies, &t[0]);
    (void)ask(&maker, &t[1]);
    (void)ask(&other, &t[2]);
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    assert_int_equal(t[0].failure, SANDBOX_DIED);
    assert_true(str_has_nocase(buf_str(&t[0].message), STR("too much memory")));
    assert_str_c(buf_str(&t[1].value), "1");
    assert_str_c(buf_str(&t[2].value), "2"); /* the new one is there when its turn comes */
    for (size_t i = 0; i < COUNT_OF(t); i++)
        told_fini(&t[i]);
}

static void deleting_a_container_ends_what_runs_and_waits_in_it(void **state)
{
    struct sandbox_request waits = code_in("a", "1");
    struct told first = {.n = 0}, second = {.n = 0}, t = {.n = 0};

    (void)state;
    hub_open();
    (void)start_waiting("a", &first);
    (void)ask(&waits, &second);
    assert_int_equal(do_to(SANDBOX_DELETE, "a", &t), SANDBOX_OK);
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    assert_int_equal(first.failure, SANDBOX_NOT_FOUND);
    assert_int_equal(second.failure, SANDBOX_NOT_FOUND);
    assert_str_c(buf_str(&first.message), "The container was deleted.");
    assert_false(sandbox_hub_has(bfx.hub, STR("me"), STR("a")));
    told_fini(&first);
    told_fini(&second);
    told_fini(&t);
}

static void a_container_that_is_not_used_expires(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    bfx.conf.idle_ms = 300;
    hub_open();
    assert_run("a", "1", "", "1");
    while (sandbox_hub_has(bfx.hub, STR("me"), STR("a")))
        uv_sleep(1);
    assert_int_equal(do_to(SANDBOX_FIND, "a", &t), SANDBOX_NOT_FOUND);
    told_fini(&t);
}

static void code_that_runs_keeps_its_container(void **state)
{
    (void)state;
    bfx.conf.idle_ms = 50; /* a tenth of what the code takes */
    hub_open();
    assert_run("a", "import time\ntime.sleep(0.5)\n'still here'", "", "'still here'");
}

/* ---- room */

static void the_one_not_used_for_longest_makes_room(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    assert_run("a", "1", "", "1");
    assert_int_equal(do_to(SANDBOX_CREATE, "b", &t), SANDBOX_OK);
    assert_int_equal(do_to(SANDBOX_CREATE, "c", &t), SANDBOX_OK);
    assert_run("a", "2", "", "2");
    assert_int_equal(do_to(SANDBOX_CREATE, "d", &t), SANDBOX_OK);
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "a|c|d|");
    told_fini(&t);
}

static void one_owner_does_not_take_the_places_of_others(void **state)
{
    struct sandbox_request theirs = code_in("theirs", "1");
    struct told t = {.n = 0};
    char name[2] = "a";

    (void)state;
    hub_open();
    theirs.owner = STR("them");
    assert_int_equal(answer(&theirs, &t), SANDBOX_OK);
    for (; name[0] <= 'j'; name[0]++)
        assert_int_equal(do_to(SANDBOX_CREATE, name, &t), SANDBOX_OK);
    assert_true(sandbox_hub_has(bfx.hub, STR("them"), STR("theirs")));
    assert_int_equal(do_to(SANDBOX_LIST, "", &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "h|i|j|");
    told_fini(&t);
}

static void all_share_all_places_where_nobody_is_asked_who_they_are(void **state)
{
    struct sandbox_request request = {.op = SANDBOX_CREATE};
    struct told t = {.n = 0};
    char name[2] = "a";

    (void)state;
    hub_open();
    for (; name[0] <= 'e'; name[0]++) {
        request.container_id = str_from_c(name);
        assert_int_equal(answer(&request, &t), SANDBOX_OK);
    }
    request.op = SANDBOX_LIST;
    assert_int_equal(answer(&request, &t), SANDBOX_OK);
    assert_str_c(buf_str(&t.ids), "b|c|d|e|");
    told_fini(&t);
}

static void busy_containers_keep_their_places(void **state)
{
    struct told busy[3] = {{.n = 0}}, t = {.n = 0};
    struct sandbox_task *tasks[3];

    (void)state;
    hub_open();
    tasks[0] = start_waiting("a", &busy[0]);
    tasks[1] = start_waiting("b", &busy[1]);
    tasks[2] = start_waiting("c", &busy[2]);
    assert_int_equal(run("d", "1", &t), SANDBOX_FULL);
    assert_str_c(buf_str(&t.message), "All containers are busy.");
    for (size_t i = 0; i < COUNT_OF(tasks); i++)
        sandbox_cancel(tasks[i]);
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    told_fini(&t);
}

/* ---- the hub */

static void what_it_runs_with_is_described(void **state)
{
    struct buf text = {.limit = 0};

    (void)state;
    hub_open();
    sandbox_hub_describe(bfx.hub, &text);
    assert_true(str_starts_with(buf_str(&text), STR("bubblewrap ")));
    assert_true(str_has_nocase(buf_str(&text), STR("(3.")));
    buf_fini(&text);
}

static void a_hub_that_cannot_work_says_why(void **state)
{
    struct err e = {.msg = ""};

    (void)state;
    bfx.conf.jail.python = "/usr/bin/false";
    assert_null(sandbox_hub_new(&bfx.conf, &e));
    assert_true(str_starts_with(str_from_c(e.msg), STR("The sandbox could not be started.")));
    bfx.conf.jail.python = "no-such-python";
    assert_null(sandbox_hub_new(&bfx.conf, &e));
    assert_true(str_has_nocase(str_from_c(e.msg), STR("no-such-python")));
}

/* Only those that are handed over are kept in memory. */
static void images_may_be_more_than_fit_into_memory(void **state)
{
    struct told t = {.n = 0};
    const struct sandbox_request request =
        code_in("a", "import os\n"
                     "png = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(900000)\n"
                     "_ = open('0.png', 'wb').write(png)\n"
                     "for i in range(1, 900): os.link('0.png', f'{i}.png')");

    (void)state;
    hub_open();
    (void)ask(&request, &t);
    SANDBOX_UNTIL(t.n > 0);
    assert_int_equal(t.failure, SANDBOX_OK);
    assert_int_equal(t.n_images, 4);
    told_fini(&t);
}

/* ---- the way out */

/* A socket as a hub makes it. */
static int make_socket(const char *name, bool listens, bool is_old, struct sockaddr_un *ret)
{
    static const struct timespec old[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/tmp/antiphon-%s-%d.sock", name,
                   (int)getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)ret, sizeof(*ret)), 0);
    if (is_old)
        assert_int_equal(utimensat(AT_FDCWD, ret->sun_path, old, 0), 0);
    if (listens)
        assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void the_socket_of_a_hub_that_was_killed_is_removed_by_the_next(void **state)
{
    const struct egress_policy nothing = {.mode = EGRESS_LISTED};
    struct sockaddr_un dead, young, alive;
    int fd;

    (void)state;
    (void)close(make_socket("dead", false, true, &dead));
    (void)close(make_socket("young", false, false, &young));
    fd = make_socket("alive", true, true, &alive);
    bfx.conf.egress = &nothing;
    hub_open();
    assert_int_equal(access(dead.sun_path, F_OK), -1);
    assert_int_equal(unlink(young.sun_path), 0);
    assert_int_equal(unlink(alive.sun_path), 0);
    (void)close(fd);
    hub_close();
}

/* Many of them still start, or do not listen. */
static void a_hub_ends_in_the_middle_of_everything(void **state)
{
    struct told t = {.n = 0};

    (void)state;
    hub_open();
    sandbox_cancel(start_waiting("a", &t));
    for (size_t i = 0; i < 3; i++) {
        const struct sandbox_request request = code_in((const char *[]){"b", "c", "d"}[i], "1");

        sandbox_cancel(ask(&request, &t));
    }
    SANDBOX_UNTIL(loop_n_expected(bfx.loop) == 0);
    assert_int_equal(t.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SANDBOX_TEST(variables_stay_from_one_call_to_the_next),
        SANDBOX_TEST(containers_do_not_share_variables),
        SANDBOX_TEST(an_exception_is_an_outcome),
        SANDBOX_TEST(what_does_not_exist_is_not_found),
        SANDBOX_TEST(what_is_someone_elses_is_not_found_in_the_same_words),
        SANDBOX_TEST(containers_are_listed_oldest_first),
        SANDBOX_TEST(a_container_may_ask_for_less_and_not_for_more),
        SANDBOX_TEST(files_are_listed_and_read),
        SANDBOX_TEST(a_file_may_be_too_large_to_be_read),
        SANDBOX_TEST(a_container_that_has_run_nothing_has_no_files),
        SANDBOX_TEST(an_image_is_handed_over),
        SANDBOX_TEST(code_of_one_container_runs_in_order),
        SANDBOX_TEST(code_that_takes_too_long_fails_and_the_container_lives_on),
        SANDBOX_TEST(code_that_cannot_be_interrupted_costs_the_container),
        SANDBOX_TEST(cancelled_code_ends_and_the_container_lives_on),
        SANDBOX_TEST(code_that_waits_can_be_cancelled),
        SANDBOX_TEST(tasks_are_cancelled_at_any_time),
        SANDBOX_TEST(a_process_that_ends_takes_its_container_with_it),
        SANDBOX_TEST(code_that_waited_for_what_died_runs_in_a_new_container),
        SANDBOX_TEST(deleting_a_container_ends_what_runs_and_waits_in_it),
        SANDBOX_TEST(a_container_that_is_not_used_expires),
        SANDBOX_TEST(code_that_runs_keeps_its_container),
        SANDBOX_TEST(the_one_not_used_for_longest_makes_room),
        SANDBOX_TEST(one_owner_does_not_take_the_places_of_others),
        SANDBOX_TEST(all_share_all_places_where_nobody_is_asked_who_they_are),
        SANDBOX_TEST(busy_containers_keep_their_places),
        SANDBOX_TEST(what_it_runs_with_is_described),
        SANDBOX_TEST(a_hub_that_cannot_work_says_why),
        SANDBOX_TEST(images_may_be_more_than_fit_into_memory),
        SANDBOX_TEST(the_socket_of_a_hub_that_was_killed_is_removed_by_the_next),
        SANDBOX_TEST(a_hub_ends_in_the_middle_of_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
