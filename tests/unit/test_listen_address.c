/* test_listen_address.c -- where a process listens: shared ports, socket files. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/test.h"
#include "net/listen_address.h"

static char folder[] = "/tmp/antiphon-listen-XXXXXX";
static char path[64], address[80];

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    (void)snprintf(address, sizeof(address), "unix:%s", path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static bool exists(void)
{
    return access(path, F_OK) == 0;
}

/* Connects to path and gives the descriptor, or -1. */
static int dial(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memcpy(at.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void assert_refused(const char *text, const char *why)
{
    struct err e;

    assert_null(listen_address_open(text, &e));
    assert_non_null(strstr(e.msg, why));
}

static void a_refusal_names_its_cause_and_a_way_out(void **state)
{
    (void)state;
    assert_refused("192.0.2.1:0", "no such address");
    assert_refused("no-such-name.invalid:0", "listen no-such-name.invalid:0: ");
    assert_refused("unix:/nonexistent/folder/s", "its folder does not exist");
    assert_refused("unix:/dev/null/s", "a part of its folder is a file");
}

static void loopback_is_what_only_this_machine_reaches(void **state)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1:0", true}, {"127.9.9.9:0", true}, {"localhost:0", true},
        {"0.0.0.0:0", false},  {":0", false},
    };
    struct err e;
    int fd;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        fd = listen_tcp(cases[i].text, &e);
        assert_int_not_equal(fd, -1);
        assert_int_equal(listen_is_loopback(fd), cases[i].is_loopback);
        (void)close(fd);
    }
    fd = listen_tcp("[::1]:0", &e);
    assert_true(fd == -1 || listen_is_loopback(fd)); /* not every machine has IPv6 */
    if (fd != -1)
        (void)close(fd);
    fd = listen_unix(path, &e);
    assert_int_not_equal(fd, -1);
    assert_false(listen_is_loopback(fd));
    (void)close(fd);
}

static void every_socket_of_a_tcp_address_has_the_port_of_the_first(void **state)
{
    struct err e;
    struct listen_address *a = listen_address_open("127.0.0.1:0", &e);
    int fds[3];
    char text[32];

    (void)state;
    assert_non_null(a);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = listen_address_fd(a, &e);
        assert_true(fds[i] != -1);
        assert_int_equal(listen_port(fds[i]), listen_port(fds[0]));
    }
    (void)snprintf(text, sizeof(text), "127.0.0.1:%d", listen_port(fds[0]));
    assert_string_equal(listen_address_text(a), text);
    assert_refused(text, "another port");
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        (void)close(fds[i]);
    listen_address_close(a);
}

static void descriptors_of_a_unix_socket_share_one_queue(void **state)
{
    struct err e;
    struct listen_address *a = listen_address_open(address, &e);
    int one, two, client;

    (void)state;
    assert_non_null(a);
    assert_string_equal(listen_address_text(a), address);
    one = listen_address_fd(a, &e);
    two = listen_address_fd(a, &e);
    client = dial();
    assert_true(client != -1);
    (void)close(one);
    one = accept(two, NULL, NULL);
    assert_true(one != -1);
    assert_int_equal(accept(two, NULL, NULL), -1); /* and does not block */
    (void)close(one);
    (void)close(two);
    (void)close(client);
    listen_address_close(a);
    assert_false(exists());
}

static void a_socket_file_is_for_the_owner_and_the_group_whatever_the_umask(void **state)
{
    const mode_t masks[] = {0, 022, 077, 0777};
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(masks); i++) {
        mode_t before = umask(masks[i]);
        struct listen_address *a = listen_address_open(address, &e);
        struct stat file;

        (void)umask(before);
        assert_non_null(a);
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(file.st_mode & 0777, 0660);
        listen_address_close(a);
    }
}

static void a_file_that_a_dead_process_left_is_replaced(void **state)
{
    struct err e;
    int fd = listen_unix(path, &e);
    struct listen_address *a;

    (void)state;
    (void)close(fd);
    assert_true(exists());
    a = listen_address_open(address, &e);
    assert_non_null(a);
    fd = dial();
    assert_true(fd != -1);
    (void)close(fd);
    listen_address_close(a);
}

static void a_living_socket_is_left_alone(void **state)
{
    struct err e;
    struct listen_address *a = listen_address_open(address, &e);

    (void)state;
    assert_non_null(a);
    assert_refused(address, "another process listens there");
    assert_true(exists());
    listen_address_close(a);
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    (void)fclose(f);
    assert_refused(address, "no socket");
    assert_true(exists());
}

static void somebody_elses_file_is_not_removed_at_the_end(void **state)
{
    struct err e;
    struct listen_address *mine = listen_address_open(address, &e), *other;

    (void)state;
    assert_non_null(mine);
    assert_int_equal(unlink(path), 0);
    other = listen_address_open(address, &e);
    assert_non_null(other);
    listen_address_close(mine);
    assert_true(exists());
    listen_address_close(other);
    assert_false(exists());
}

static void a_path_that_is_too_long_or_cannot_be_made_is_told(void **state)
{
    char text[200] = "unix:/";

    (void)state;
    memset(text + 6, 'x', 107);
    assert_refused(text, "too long");
    assert_refused("unix:/nonexistent/s", "unix:/nonexistent/s: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_names_its_cause_and_a_way_out),
        IN_FOLDER(loopback_is_what_only_this_machine_reaches),
        cmocka_unit_test(every_socket_of_a_tcp_address_has_the_port_of_the_first),
        IN_FOLDER(descriptors_of_a_unix_socket_share_one_queue),
        IN_FOLDER(a_socket_file_is_for_the_owner_and_the_group_whatever_the_umask),
        IN_FOLDER(a_file_that_a_dead_process_left_is_replaced),
        IN_FOLDER(a_living_socket_is_left_alone),
        IN_FOLDER(a_file_that_is_no_socket_is_left_alone),
        IN_FOLDER(somebody_elses_file_is_not_removed_at_the_end),
        cmocka_unit_test(a_path_that_is_too_long_or_cannot_be_made_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
