/* test_memory_size.c -- limits of control groups, in files made for it. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "memory/memory_size.h"

static char folder[] = "/tmp/antiphon-groups-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static void write_limit(const char *group, const char *name, const char *text)
{
    char path[256];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s%s", folder, group);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s%s/%s", folder, group, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_folder(void **state)
{
    static const char *const all[] = {"/a/b/memory.max",
                                      "/a/memory.max",
                                      "/memory.max",
                                      "/a/b/memory.limit_in_bytes",
                                      "/a/memory.limit_in_bytes",
                                      "/memory.limit_in_bytes",
                                      "/a/b",
                                      "/a",
                                      ""};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char path[256];

        (void)snprintf(path, sizeof(path), "%s%s", folder, all[i]);
        (void)remove(path);
    }
    return 0;
}

static size_t limit_of(const char *cgroup, const char *kind, const char *options)
{
    char mounts[512];

    (void)snprintf(mounts, sizeof(mounts), "35 31 0:32 / %s rw - %s cgroup rw,%s\n", folder, kind,
                   options);
    return memory_size_of_groups(str_from_c(cgroup), str_from_c(mounts));
}

static void the_least_limit_of_a_group_and_those_above_counts(void **state)
{
    (void)state;
    write_limit("/a", "memory.max", "3000000\n");
    write_limit("/a/b", "memory.max", "max\n");
    assert_int_equal(limit_of("0::/a/b\n", "cgroup2", "nsdelegate"), 3000000);
    write_limit("/a/b", "memory.max", "2000000\n");
    assert_int_equal(limit_of("0::/a/b\n", "cgroup2", "nsdelegate"), 2000000);
    write_limit("", "memory.max", "1000000\n");
    assert_int_equal(limit_of("0::/a/b\n", "cgroup2", "nsdelegate"), 1000000);
}

static void version_1_has_other_files(void **state)
{
    (void)state;
    write_limit("/a", "memory.limit_in_bytes", "5000000\n");
    write_limit("/a/b", "memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(limit_of("4:memory:/a/b\n0::/\n", "cgroup", "memory"), 5000000);
}

static void without_a_limit_there_is_none(void **state)
{
    (void)state;
    assert_true(limit_of("0::/\n", "tmpfs", "x") == SIZE_MAX);
    assert_true(memory_size_of_groups(STR(""), STR("")) == SIZE_MAX);
}

static void this_machine_has_memory(void **state)
{
    (void)state;
    assert_true(memory_size() > (size_t)16 * 1024 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_limit_of_a_group_and_those_above_counts),
        cmocka_unit_test(version_1_has_other_files),
        cmocka_unit_test(without_a_limit_there_is_none),
        cmocka_unit_test(this_machine_has_memory),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
