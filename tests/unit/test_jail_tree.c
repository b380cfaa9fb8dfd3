/* test_jail_tree.c -- where control groups are, by what /proc says. */
#include "lib/test.h"
#include "sandbox/jail_tree.h"

static const str hybrid_cgroup = STR_INIT("9:name=systemd:/\n"
                                          "8:pids:/\n"
                                          "4:memory:/build/1\n"
                                          "2:cpu,cpuacct:/build\n"
                                          "0::/user.slice\n");
static const str hybrid_mounts =
    STR_INIT("31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
             "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:7 - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
             "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");

static void assert_v1(enum jail_controller which, const char *path)
{
    struct jail_tree tree;

    assert_true(jail_tree_find_v1(hybrid_cgroup, hybrid_mounts, which, &tree));
    assert_string_equal(tree.path, path);
}

static void each_controller_of_version_1_has_a_tree(void **state)
{
    (void)state;
    assert_v1(JAIL_MEMORY, "/sys/fs/cgroup/memory/build/1");
    assert_v1(JAIL_PIDS, "/sys/fs/cgroup/pids");
    assert_v1(JAIL_CPU, "/sys/fs/cgroup/cpu,cpuacct/build");
}

static void version_2_may_be_mounted_beside_it(void **state)
{
    struct jail_tree tree;

    (void)state;
    assert_true(jail_tree_find_v2(hybrid_cgroup, hybrid_mounts, &tree));
    assert_string_equal(tree.path, "/sys/fs/cgroup/unified/user.slice");
}

static void a_part_of_a_tree_is_mounted_in_a_container(void **state)
{
    static const str mounts =
        STR_INIT("1 2 0:3 /docker/7 /sys/fs/cgroup ro master:1 - cgroup2 cgroup rw\n");
    struct jail_tree tree;

    (void)state;
    assert_true(jail_tree_find_v2(STR("0::/docker/7/x\n"), mounts, &tree));
    assert_string_equal(tree.path, "/sys/fs/cgroup/x");
    assert_true(jail_tree_find_v2(STR("0::/docker/7\n"), mounts, &tree));
    assert_string_equal(tree.path, "/sys/fs/cgroup");
    assert_false(jail_tree_find_v2(STR("0::/docker/77\n"), mounts, &tree));
    assert_false(jail_tree_find_v2(STR("0::/\n"), mounts, &tree));
}

static void what_is_not_there_is_not_found(void **state)
{
    struct jail_tree tree;

    (void)state;
    assert_false(jail_tree_find_v1(STR("0::/\n"), hybrid_mounts, JAIL_MEMORY, &tree));
    assert_false(jail_tree_find_v1(hybrid_cgroup, STR("rubbish\n - \n\n"), JAIL_MEMORY, &tree));
    assert_false(jail_tree_find_v2(STR(""), STR(""), &tree));
}

static void a_path_that_is_too_long_is_not_found(void **state)
{
    char text[2 * JAIL_TREE_BYTES];
    struct jail_tree tree;

    (void)state;
    (void)snprintf(text, sizeof(text), "0::/%0*d\n", JAIL_TREE_BYTES, 0);
    assert_false(jail_tree_find_v2(str_from_c(text), hybrid_mounts, &tree));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_controller_of_version_1_has_a_tree),
        cmocka_unit_test(version_2_may_be_mounted_beside_it),
        cmocka_unit_test(a_part_of_a_tree_is_mounted_in_a_container),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_path_that_is_too_long_is_not_found),
    };

    return cmocka_run_group_tests_name("jail_tree", tests, NULL, NULL);
}
