/* test_store_holder.c -- names of holders of locks, and whether their process lives. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "store/store_holder.h"

static str made(char name[HOLDER_NAME_BYTES])
{
    holder_name_make(10000, name);
    return str_from_c(name);
}

static void a_name_is_another_one_each_time(void **state)
{
    char a[HOLDER_NAME_BYTES], b[HOLDER_NAME_BYTES];

    (void)state;
    assert_string_not_equal(made(a).p, made(b).p);
    assert_true(str_ends_with(str_from_c(a), STR("/")));
}

static void a_name_is_the_beginning_of_a_lock(void **state)
{
    (void)state;
    assert_str_c(holder_name_of(STR("abc.1.-.2.3/lock_x")), "abc.1.-.2.3/");
    assert_str_c(holder_name_of(STR("odd")), "odd");
    assert_str_c(holder_name_of(STR("")), "");
}

static void a_lease_is_that_of_the_name_or_a_long_one(void **state)
{
    char name[HOLDER_NAME_BYTES];

    (void)state;
    assert_int_equal(holder_lease_ms(made(name)), 10000);
    assert_int_equal(holder_lease_ms(STR("AAAAAAAAAAAAAAAA/")), 60000);
    assert_int_equal(holder_lease_ms(STR("a.b.c.d.e/")), 60000);
    assert_int_equal(holder_lease_ms(STR("")), 60000);
}

static void a_living_process_is_not_dead(void **state)
{
    char name[HOLDER_NAME_BYTES];

    (void)state;
    assert_false(holder_is_dead(made(name)));
}

/* The name that a child has made, which has ended; it is still in the table of processes
 * unless is_reaped. */
static str name_of_child(char name[HOLDER_NAME_BYTES], bool is_reaped, pid_t *ret_pid)
{
    siginfo_t how;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    *ret_pid = fork();
    assert_int_not_equal(*ret_pid, -1);
    if (*ret_pid == 0) {
        holder_name_make(10000, name);
        _exit(write(ends[1], name, HOLDER_NAME_BYTES) == HOLDER_NAME_BYTES ? 0 : 1);
    }
    assert_int_equal(read(ends[0], name, HOLDER_NAME_BYTES), HOLDER_NAME_BYTES);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitid(P_PID, (id_t)*ret_pid, &how, WEXITED | (is_reaped ? 0 : WNOWAIT)), 0);
    return str_from_c(name);
}

static void a_process_that_has_ended_is_dead(void **state)
{
    char name[HOLDER_NAME_BYTES];
    pid_t pid;

    (void)state;
    assert_true(holder_is_dead(name_of_child(name, true, &pid)));
    assert_true(holder_is_dead(name_of_child(name, false, &pid)));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Writes name with part i (from 0) replaced. */
static str with_part(const char *name, int i, const char *text, char *out)
{
    str rest = str_from_c(name), part;
    size_t n = 0;

    for (int k = 0; k < 5; k++) {
        part = str_from(rest.p, str_find_char(rest, k == 4 ? '/' : '.'));
        rest = str_skip(rest, part.len + 1);
        if (k == i)
            part = str_from_c(text);
        n += (size_t)snprintf(out + n, HOLDER_NAME_BYTES - n, "%.*s%c", STR_ARG(part),
                              k == 4 ? '/' : '.');
    }
    return str_from_c(out);
}

static void another_process_with_the_same_number_is_not_the_holder(void **state)
{
    char name[HOLDER_NAME_BYTES], other[HOLDER_NAME_BYTES];

    (void)state;
    made(name);
    assert_true(holder_is_dead(with_part(name, 4, "1", other)));
}

static void of_another_host_nothing_is_known(void **state)
{
    char name[HOLDER_NAME_BYTES], other[HOLDER_NAME_BYTES];
    pid_t pid;

    (void)state;
    name_of_child(name, true, &pid);
    assert_false(holder_is_dead(with_part(name, 2, "0011223344556677", other)));
    assert_false(holder_is_dead(with_part(name, 2, "-", other)));
}

static void of_a_strange_name_nothing_is_known(void **state)
{
    static const char *const parts[] = {"", "0", "-1", "x", "99999999999999999999999"};
    char name[HOLDER_NAME_BYTES], other[HOLDER_NAME_BYTES];
    pid_t pid;

    (void)state;
    name_of_child(name, true, &pid);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        assert_false(holder_is_dead(with_part(name, 3, parts[i], other)));
        assert_false(holder_is_dead(with_part(name, 4, parts[i], other)));
    }
    for (size_t n = 0; n + 2 < strlen(name); n++) /* also in the middle of the last number */
        (void)holder_is_dead(str_from(name, n));
    assert_false(holder_is_dead(STR("AAAAAAAAAAAAAAAA/lock_x")));
    assert_false(holder_is_dead(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_another_one_each_time),
        cmocka_unit_test(a_name_is_the_beginning_of_a_lock),
        cmocka_unit_test(a_lease_is_that_of_the_name_or_a_long_one),
        cmocka_unit_test(a_living_process_is_not_dead),
        cmocka_unit_test(a_process_that_has_ended_is_dead),
        cmocka_unit_test(another_process_with_the_same_number_is_not_the_holder),
        cmocka_unit_test(of_another_host_nothing_is_known),
        cmocka_unit_test(of_a_strange_name_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
