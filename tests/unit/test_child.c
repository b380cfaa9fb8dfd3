/* test_child.c -- lines to and from a child process, and every way it ends. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "lib/child_fixture.h"

static str lines(void)
{
    return buf_str(&sfx.server.lines);
}

static size_t count(str text, const char *what)
{
    size_t n = 0;

    for (size_t i = str_find(text, str_from_c(what)); i < text.len;
         i = str_find(text, str_from_c(what))) {
        text = str_skip(text, i + strlen(what));
        n++;
    }
    return n;
}

/* It is no child of ours, so nothing tells us. */
static void until_gone(pid_t pid)
{
    while (process_runs(pid))
        (void)sched_yield();
}

static void until_suspended(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
}

/* --- traffic ------------------------------------------------------------------ */

static void a_message_comes_back_from_an_echo(void **state)
{
    (void)state;
    stdio_serve("exec cat");
    assert_true(child_send(sfx.server.stdio, STR("{\"id\":1}")));
    assert_true(child_send(sfx.server.stdio, STR("{\"id\":2}")));
    STDIO_UNTIL(count(lines(), "|") == 2);
    assert_str_c(lines(), "{\"id\":1}|{\"id\":2}|");
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
}

static void line_ends_in_a_message_go_out_as_blanks(void **state)
{
    (void)state;
    stdio_serve("exec cat");
    assert_true(child_send(sfx.server.stdio, STR("{\r\n\"id\":\n1}")));
    STDIO_UNTIL(lines().len > 0);
    assert_str_c(lines(), "{  \"id\": 1}|");
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
}

static void crlf_and_blank_lines_are_read_as_others(void **state)
{
    (void)state;
    stdio_serve("printf '{}\\r\\n\\n\\r\\n[]\\n{\"id\":1}'");
    served_until_closed(&sfx.server);
    assert_str_c(lines(), "{}|[]|{\"id\":1}|");
}

static void a_large_message_passes_in_both_directions(void **state)
{
    static char text[3 * 1024 * 1024];

    (void)state;
    memset(text, 'x', sizeof(text));
    sfx.conf.line_bytes = sizeof(text);
    stdio_serve("exec cat");
    assert_true(child_send(sfx.server.stdio, str_from(text, sizeof(text))));
    assert_true(child_send(sfx.server.stdio, STR("{}")));
    STDIO_UNTIL(count(lines(), "|") == 2);
    assert_int_equal(lines().len, sizeof(text) + 4);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
}

enum { NUMBERED_BYTES = 1000 };

/* Sends numbered lines until one is refused; returns how many were not. */
static unsigned fill_queue(void)
{
    char line[NUMBERED_BYTES + 1];
    unsigned n = 0;

    do
        (void)snprintf(line, sizeof(line), "%-*u", NUMBERED_BYTES, n++);
    while (child_send(sfx.server.stdio, str_from(line, NUMBERED_BYTES)));
    return n - 1;
}

/* Notes a dot for each line that has the number it should have. */
static bool count_numbered(struct served *s, str line)
{
    uint64_t n;

    assert_int_equal(line.len, NUMBERED_BYTES);
    assert_true(num_uint(str_trim(line), &n));
    assert_int_equal(n, s->lines.len);
    buf_char(&s->lines, '.');
    return true;
}

/* The server stops itself before it reads, so the queue has to fill up. */
static void the_queue_is_bounded_and_keeps_order(void **state)
{
    unsigned n;

    (void)state;
    sfx.conf.queue_bytes = (size_t)300 * (NUMBERED_BYTES + 1);
    sfx.server.on_line = count_numbered;
    stdio_serve("kill -STOP $$; exec cat");
    until_suspended(sfx.server.pid);
    n = fill_queue();
    assert_in_range(n, 300, 300 + 1100); /* a pipe takes some as well, 1 MiB at most */
    assert_int_equal(kill(sfx.server.pid, SIGCONT), 0);
    STDIO_UNTIL(lines().len == n);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_int_equal(lines().len, n);
}

/* --- what is no message --------------------------------------------------------- */

static bool is_object(struct served *s, str line)
{
    if (line.p[0] != '{')
        return false;
    buf_append(&s->lines, line);
    return true;
}

static void noise_is_logged_and_skipped(void **state)
{
    struct buf log = {.limit = 0};

    (void)state;
    stdio_log_start();
    sfx.server.on_line = is_object;
    stdio_serve("echo 'Listening on stdio'; echo '{}'");
    served_until_closed(&sfx.server);
    stdio_log_read(&log);
    assert_str_c(lines(), "{}");
    assert_int_equal(count(buf_str(&log), "\n"), 1);
    assert_int_equal(count(buf_str(&log), "warn mcp_noise server=docs pid="), 1);
    assert_int_equal(count(buf_str(&log), "text=\"Listening on stdio\"\n"), 1);
    buf_fini(&log);
}

static void long_noise_is_cut(void **state)
{
    struct buf log = {.limit = 0};

    (void)state;
    stdio_log_start();
    sfx.server.on_line = is_object;
    stdio_serve("printf '%01000d\n' 0 | tr 0 x");
    served_until_closed(&sfx.server);
    stdio_log_read(&log);
    assert_int_equal(count(buf_str(&log), "xxxxxxxxxx"), CHILD_NOISE_BYTES / 10);
    buf_fini(&log);
}

static void a_flood_of_noise_leaves_some_lines_in_the_log(void **state)
{
    struct buf log = {.limit = 0};

    (void)state;
    stdio_log_start();
    sfx.server.on_line = is_object;
    stdio_serve("yes noise | head -n 100000; echo '{}'");
    served_until_closed(&sfx.server);
    stdio_log_read(&log);
    assert_str_c(lines(), "{}");
    assert_in_range(count(buf_str(&log), "\n"), LOG_RATE_BURST, 50000);
    buf_fini(&log);
}

static void hide_secret(void *arg, str text, struct buf *out)
{
    size_t at = str_find(text, STR("s3cret"));

    assert_ptr_equal(arg, &sfx);
    buf_append(out, str_from(text.p, at));
    if (at == text.len)
        return;
    buf_c(out, "***");
    buf_append(out, str_skip(text, at + 6));
}

static void standard_error_is_logged_without_secrets(void **state)
{
    struct buf log = {.limit = 0};

    (void)state;
    stdio_log_start();
    sfx.conf.redact = hide_secret;
    sfx.conf.redact_arg = &sfx;
    stdio_serve("echo 'token s3cret refused' >&2; printf 'no end' >&2");
    served_until_closed(&sfx.server);
    stdio_log_read(&log);
    assert_int_equal(count(buf_str(&log), "info mcp_stderr server=docs pid="), 2);
    assert_int_equal(count(buf_str(&log), "text=\"token *** refused\"\n"), 1);
    assert_int_equal(count(buf_str(&log), "text=\"no end\"\n"), 1);
    assert_str_c(buf_str(&sfx.server.last), "token *** refused\nno end\n");
    buf_fini(&log);
}

static void the_last_lines_of_standard_error_are_kept(void **state)
{
    (void)state;
    stdio_log_start();
    stdio_serve("seq -f 'line %g' 1000 >&2; exit 1");
    served_until_closed(&sfx.server);
    assert_int_equal(count(buf_str(&sfx.server.last), "\n"), CHILD_STDERR_KEPT_LINES);
    assert_true(str_starts_with(buf_str(&sfx.server.last), STR("line 981\nline 982\n")));
    assert_true(str_ends_with(buf_str(&sfx.server.last), STR("line 1000\n")));
}

static void a_long_line_of_standard_error_is_cut(void **state)
{
    (void)state;
    stdio_log_start();
    stdio_serve("printf '%0100000d\nend\n' 0 >&2");
    served_until_closed(&sfx.server);
    assert_int_equal(count(buf_str(&sfx.server.last), "0"), CHILD_STDERR_LINE_BYTES);
    assert_true(str_ends_with(buf_str(&sfx.server.last), STR("0\nend\n")));
}

/* --- it ends by itself ----------------------------------------------------------- */

/* As in the recording stdio-crash: the process ends in the middle of a call. */
static void a_crash_is_told_with_its_status_and_last_words(void **state)
{
    (void)state;
    stdio_log_start();
    stdio_serve("read request; echo '{\"result\":{}}'; read request; "
                "echo 'fatal: out of cheese' >&2; exit 3");
    assert_true(child_send(sfx.server.stdio, STR("{\"id\":0}")));
    assert_true(child_send(sfx.server.stdio, STR("{\"id\":1}")));
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "exited with status 3");
    assert_false(sfx.server.was_asked);
    assert_int_equal(sfx.server.start_errno, 0);
    assert_str_c(lines(), "{\"result\":{}}|");
    assert_str_c(buf_str(&sfx.server.last), "fatal: out of cheese\n");
}

static void a_signal_is_told_with_its_name(void **state)
{
    (void)state;
    stdio_serve("kill -SEGV $$");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 11 (Segmentation fault)");
}

static void everything_written_before_the_end_is_read(void **state)
{
    (void)state;
    stdio_serve("seq 10000");
    served_until_closed(&sfx.server);
    assert_int_equal(count(lines(), "|"), 10000);
    assert_true(str_ends_with(lines(), STR("|9999|10000|")));
}

static void closing_its_output_is_an_end(void **state)
{
    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("exec tail -f /dev/null >/dev/null");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "closed its standard output");
    assert_false(process_runs(sfx.server.pid));
}

static void closing_its_input_is_an_end(void **state)
{
    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("exec <&-; exec tail -f /dev/null");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "closed its standard input");
    assert_false(process_runs(sfx.server.pid));
}

static void closing_standard_error_is_not(void **state)
{
    (void)state;
    stdio_serve("exec 2>&-; exec cat");
    assert_true(child_send(sfx.server.stdio, STR("{}")));
    STDIO_UNTIL(lines().len > 0);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "exited with status 0");
}

/* The usual limit, and a server that would go on for ever. */
static void a_line_of_ten_mebibytes_ends_the_server(void **state)
{
    (void)state;
    sfx.conf.line_bytes = 0;
    stdio_serve("echo '{}'; head -c 10485760 /dev/zero | tr '\\0' x; echo; exec yes '{}'");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "sent a line of more than 8388608 bytes");
    assert_str_c(lines(), "{}|");
    assert_false(process_runs(sfx.server.pid));
}

static void a_line_too_long_is_the_reason_also_of_one_who_has_left(void **state)
{
    (void)state;
    stdio_serve("printf '%05000d\n' 0");
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "sent a line of more than 4096 bytes");
    assert_int_equal(lines().len, 0);
}

/* --- it is stopped ----------------------------------------------------------------- */

static void the_end_of_its_input_ends_a_server(void **state)
{
    (void)state;
    stdio_serve("while read line; do :; done; echo '{\"last\":true}'; exit 4");
    child_stop(sfx.server.stdio);
    assert_false(child_send(sfx.server.stdio, STR("{}")));
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "exited with status 4");
    assert_true(sfx.server.was_asked);
    assert_str_c(lines(), "{\"last\":true}|");
}

static void one_deaf_to_the_end_of_its_input_gets_sigterm(void **state)
{
    (void)state;
    sfx.conf.grace_ms = 500; /* it must not be short for what it does at SIGTERM */
    stdio_serve("echo ready; exec tail -f /dev/null");
    STDIO_UNTIL(lines().len > 0);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 15 (Terminated)");
}

static void one_deaf_to_sigterm_as_well_gets_sigkill(void **state)
{
    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("trap '' TERM; echo ready; exec tail -f /dev/null");
    STDIO_UNTIL(lines().len > 0);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 9 (Killed)");
}

/* SIGTERM is not delivered while a process is stopped. */
static void one_that_is_suspended_ends_as_well(void **state)
{
    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("kill -STOP $$");
    until_suspended(sfx.server.pid);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 9 (Killed)");
}

static void a_launcher_takes_its_grandchild_with_it(void **state)
{
    pid_t grandchild;

    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("tail -f /dev/null & echo $!; wait");
    STDIO_UNTIL(lines().len > 0);
    grandchild = served_number(&sfx.server);
    assert_true(process_runs(grandchild));
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_false(process_runs(sfx.server.pid));
    until_gone(grandchild);
}

static void a_deaf_grandchild_of_a_launcher_that_left_is_ended(void **state)
{
    pid_t grandchild;

    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("sh -c \"trap '' TERM; echo \\$\\$; exec tail -f /dev/null\" & read line; exit 3");
    STDIO_UNTIL(lines().len > 0);
    grandchild = served_number(&sfx.server);
    assert_true(child_send(sfx.server.stdio, STR("{}")));
    STDIO_UNTIL(sfx.server.n_exits > 0);
    assert_reason(&sfx.server, "exited with status 3");
    assert_int_equal(sfx.server.n_closed, 0);
    served_until_closed(&sfx.server);
    until_gone(grandchild);
}

/* It holds none of our pipes, so nothing tells when it ends. */
static void a_grandchild_without_our_pipes_is_ended_at_once(void **state)
{
    pid_t grandchild;

    (void)state;
    stdio_serve("tail -f /dev/null <&- >/dev/null 2>&1 & echo $!; read line");
    STDIO_UNTIL(lines().len > 0);
    grandchild = served_number(&sfx.server);
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    until_gone(grandchild);
}

/* One that has left the group cannot be ended, but it does not keep us. */
static void a_grandchild_in_a_session_of_its_own_is_let_go(void **state)
{
    pid_t grandchild;

    (void)state;
    sfx.conf.grace_ms = STDIO_SHORT_GRACE_MS;
    stdio_serve("setsid tail -f /dev/null & echo $!; read line; exit 0");
    STDIO_UNTIL(lines().len > 0);
    grandchild = served_number(&sfx.server);
    while (getsid(grandchild) != grandchild)
        (void)sched_yield();
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_true(process_runs(grandchild));
    assert_int_equal(kill(grandchild, SIGKILL), 0);
}

static bool stop_at_line(struct served *s, str line)
{
    buf_append(&s->lines, line);
    child_stop(s->stdio);
    return true;
}

static void a_server_may_be_stopped_from_its_own_line(void **state)
{
    (void)state;
    sfx.server.on_line = stop_at_line;
    stdio_serve("echo a; echo b; cat; echo c");
    served_until_closed(&sfx.server);
    assert_str_c(lines(), "abc");
    assert_true(sfx.server.was_asked);
}

static void a_server_may_be_stopped_before_it_has_begun(void **state)
{
    (void)state;
    stdio_serve("exec cat");
    child_stop(sfx.server.stdio);
    served_until_closed(&sfx.server);
    assert_true(sfx.server.was_asked);
}

static void one_that_is_killed_is_not_asked(void **state)
{
    (void)state;
    stdio_serve("trap '' TERM; exec tail -f /dev/null");
    child_kill(sfx.server.stdio);
    child_kill(sfx.server.stdio);
    assert_false(child_send(sfx.server.stdio, STR("{}")));
    served_until_closed(&sfx.server);
    assert_reason(&sfx.server, "was ended by signal 9 (Killed)");
    assert_int_equal(sfx.server.signal, SIGKILL);
}

static void a_status_may_tell_of_a_signal(void **state)
{
    (void)state;
    stdio_serve("exit 137");
    served_until_closed(&sfx.server);
    assert_int_equal(sfx.server.signal, SIGKILL);
}

static bool kill_it(struct served *s, str line)
{
    buf_append(&s->lines, line);
    child_kill(s->stdio);
    return true;
}

static void a_server_may_be_killed_from_its_own_line(void **state)
{
    (void)state;
    sfx.server.on_line = kill_it;
    stdio_serve("echo a; exec tail -f /dev/null");
    served_until_closed(&sfx.server);
    assert_str_c(lines(), "a");
    assert_true(sfx.server.was_asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STDIO_TEST(a_message_comes_back_from_an_echo),
        STDIO_TEST(line_ends_in_a_message_go_out_as_blanks),
        STDIO_TEST(crlf_and_blank_lines_are_read_as_others),
        STDIO_TEST(a_large_message_passes_in_both_directions),
        STDIO_TEST(the_queue_is_bounded_and_keeps_order),
        STDIO_TEST(noise_is_logged_and_skipped),
        STDIO_TEST(long_noise_is_cut),
        STDIO_TEST(a_flood_of_noise_leaves_some_lines_in_the_log),
        STDIO_TEST(standard_error_is_logged_without_secrets),
        STDIO_TEST(the_last_lines_of_standard_error_are_kept),
        STDIO_TEST(a_long_line_of_standard_error_is_cut),
        STDIO_TEST(a_crash_is_told_with_its_status_and_last_words),
        STDIO_TEST(a_signal_is_told_with_its_name),
        STDIO_TEST(everything_written_before_the_end_is_read),
        STDIO_TEST(closing_its_output_is_an_end),
        STDIO_TEST(closing_its_input_is_an_end),
        STDIO_TEST(closing_standard_error_is_not),
        STDIO_TEST(a_line_of_ten_mebibytes_ends_the_server),
        STDIO_TEST(a_line_too_long_is_the_reason_also_of_one_who_has_left),
        STDIO_TEST(the_end_of_its_input_ends_a_server),
        STDIO_TEST(one_deaf_to_the_end_of_its_input_gets_sigterm),
        STDIO_TEST(one_deaf_to_sigterm_as_well_gets_sigkill),
        STDIO_TEST(one_that_is_suspended_ends_as_well),
        STDIO_TEST(a_launcher_takes_its_grandchild_with_it),
        STDIO_TEST(a_deaf_grandchild_of_a_launcher_that_left_is_ended),
        STDIO_TEST(a_grandchild_without_our_pipes_is_ended_at_once),
        STDIO_TEST(a_grandchild_in_a_session_of_its_own_is_let_go),
        STDIO_TEST(a_server_may_be_stopped_from_its_own_line),
        STDIO_TEST(a_server_may_be_stopped_before_it_has_begun),
        STDIO_TEST(one_that_is_killed_is_not_asked),
        STDIO_TEST(a_status_may_tell_of_a_signal),
        STDIO_TEST(a_server_may_be_killed_from_its_own_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
