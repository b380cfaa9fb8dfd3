/* test_egress.c -- the proxy of sandboxes, between a client on its socket and a server on
 * the loopback interface. */
#include <sys/stat.h>
#include <unistd.h>

#include "lib/http_fixture.h"
#include "lib/test.h"
#include "sandbox/egress.h"

enum { LARGE = 24 * MIB };

static const char *const loopback[] = {"127.0.0.0/8", "*.example.org"};

static struct {
    struct egress_proxy *proxy;
    struct egress_conf conf;
    struct egress_door *door, *other_door;
    uint16_t ports[2];
    char folder[32], path[64];
    struct peer *server; /* takes what comes to ports[0] */
} on;

static int setup(void **state)
{
    (void)http_fixture_setup(state);
    memset(&on, 0, sizeof(on));
    (void)strcpy(on.folder, "/tmp/antiphon-XXXXXX"); // NOLINT: it fits
    assert_non_null(mkdtemp(on.folder));
    (void)snprintf(on.path, sizeof(on.path), "%s/egress.sock", on.folder);
    on.server = gather("127.0.0.1:0", true);
    on.ports[0] = (uint16_t)listener_port(fx.listener);
    on.ports[1] = 443;
    on.conf = (struct egress_conf){.policy = {.mode = EGRESS_LISTED,
                                              .allowed = {loopback, COUNT_OF(loopback)},
                                              .ports = on.ports,
                                              .n_ports = 2}};
    return 0;
}

static int teardown(void **state)
{
    egress_door_close(on.door);
    egress_door_close(on.other_door);
    egress_proxy_free(on.proxy);
    assert_int_equal(rmdir(on.folder), 0); /* the socket has gone with its proxy */
    return http_fixture_teardown(state);
}

static void open_proxy(void)
{
    struct err e;

    on.proxy = egress_proxy_new(fx.loop, &on.conf, &e);
    assert_non_null(on.proxy);
    on.door = egress_door_open(on.proxy, on.path, STR("me"), &e);
    assert_non_null(on.door);
}

/* The server's port takes the place of PORT. */
static void say(struct peer *client, const char *text)
{
    const char *at = strstr(text, "PORT");
    char copy[512];

    if (at == NULL)
        (void)snprintf(copy, sizeof(copy), "%s", text);
    else
        (void)snprintf(copy, sizeof(copy), "%.*s%u%s", (int)(at - text), text, on.ports[0], at + 4);
    peer_say(client, copy);
}

static struct peer *ask(size_t i, const char *text)
{
    struct peer *client;

    assert_false(fx.peers[i].open || fx.peers[i].gone);
    client = peer_dial_path(i, on.path);
    say(client, text);
    return client;
}

static struct peer *open_tunnel(size_t i)
{
    struct peer *client = ask(i, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n");

    UNTIL(peer_heard(client, "HTTP/1.1 200 Connection established\r\n\r\n"));
    return client;
}

static void say_much(struct peer *p)
{
    char *text = malloc(LARGE + 1);

    assert_non_null(text);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    peer_say(p, text);
    free(text);
}

/* --- what passes ------------------------------------------------------------------ */

static void a_tunnel_carries_bytes_both_ways(void **state)
{
    struct peer *client;

    (void)state;
    open_proxy();
    client = ask(0, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\nearly ");
    UNTIL(fx.n_accepted == 1 && peer_heard(on.server, "early "));
    peer_say(client, "late");
    UNTIL(peer_heard(on.server, "early late"));
    peer_say(on.server, "answer");
    UNTIL(peer_heard(client, "200 Connection established\r\n\r\nanswer"));
}

static void a_request_is_passed_on_with_its_body_and_no_other(void **state)
{
    struct peer *client;
    char host[40];

    (void)state;
    open_proxy();
    client =
        ask(0, "POST http://127.0.0.1:PORT/path HTTP/1.1\r\nHost: evil\r\nContent-Length: 4\r\n"
               "Proxy-Connection: keep-alive\r\n\r\nbodyGET http://evil/ HTTP/1.1\r\n\r\n");
    (void)snprintf(host, sizeof(host), "Host: 127.0.0.1:%u\r\n", on.ports[0]);
    UNTIL(fx.n_accepted == 1 && peer_heard(on.server, "body"));
    assert_true(peer_heard(on.server, "POST /path HTTP/1.1\r\n"));
    assert_true(peer_heard(on.server, host));
    assert_true(peer_heard(on.server, "Connection: close\r\n\r\nbody"));
    peer_say(client, "GET http://evil/ HTTP/1.1\r\n\r\n");
    peer_say(on.server, OK_HELLO);
    peer_close(on.server);
    UNTIL(client->gone);
    assert_true(peer_heard(client, OK_HELLO));
    assert_false(peer_heard(on.server, "evil"));
}

static void a_head_may_come_in_pieces(void **state)
{
    static const char *const pieces[] = {"CON", "NECT 127.0.0.1:PORT HTTP/1.1\r", "\n\r",
                                         "\nbehind"};
    struct peer *client;

    (void)state;
    open_proxy();
    client = peer_dial_path(0, on.path);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        say(client, pieces[i]);
        let_pass(2);
    }
    UNTIL(fx.n_accepted == 1 && peer_heard(on.server, "behind"));
}

/* --- what does not ------------------------------------------------------------------ */

static void refused(size_t i, const char *request, const char *status, const char *why)
{
    struct peer *client = ask(i, request);

    UNTIL(client->gone);
    if (!peer_heard(client, status) || peer_count(client, why) < 1)
        fail_msg("%s: %s", request, buf_cstr(&client->in));
    buf_fini(&client->in);
    let_pass(1); /* until the loop knows the peer no more: it is used again */
    *client = (struct peer){.open = false};
}

static void a_refusal_says_why_in_its_status_line_and_body(void **state)
{
    struct peer *client;

    (void)state;
    open_proxy();
    client = ask(1, "CONNECT 10.0.0.1:PORT HTTP/1.1\r\n\r\n");
    UNTIL(client->gone);
    assert_true(peer_heard(client, "HTTP/1.1 403 Forbidden: Code may not connect to 10.0.0.1 "));
    assert_int_equal(peer_count(client, "it is not among the hosts that this gateway allows."), 2);
    refused(0, "GET http://10.0.0.1:PORT/ HTTP/1.1\r\n\r\n", "403", "not among the hosts");
    refused(0, "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n", "403", "only the ports");
    refused(0, "CONNECT a\"b:443 HTTP/1.1\r\n\r\n", "403", "not the name of a host");
}

static void no_spelling_of_an_address_gets_inside(void **state)
{
    static const char *const hosts[] = {
        "127.0.0.1",          "localhost",       "LOCALHOST.",   "127.1",      "0x7f.0.0.1",
        "0x7f000001",         "2130706433",      "017700000001", "0177.0.0.1", "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0",      "0",          "[::]",
    };

    (void)state;
    on.conf.policy = (struct egress_policy){
        .mode = EGRESS_PUBLIC, .ports = on.ports, .n_ports = COUNT_OF(on.ports)};
    open_proxy();
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        char request[100];

        (void)snprintf(request, sizeof(request), "CONNECT %s:PORT HTTP/1.1\r\n\r\n", hosts[i]);
        refused(0, request, "403 Forbidden", "not one of the public Internet");
    }
    assert_int_equal(fx.n_accepted, 0);
}

static void what_is_no_request_is_refused(void **state)
{
    char *large = malloc(20001);

    (void)state;
    assert_non_null(large);
    open_proxy();
    refused(0, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "400 Bad Request", "This is a proxy");
    refused(0, "\x16\x03\x01\r\n\r\n", "400 Bad Request", "not well-formed");
    memset(large, 'a', 20000);
    large[20000] = '\0';
    peer_say(peer_dial_path(1, on.path), large);
    UNTIL(fx.peers[1].gone);
    assert_true(peer_heard(&fx.peers[1], "431 Request Header Fields Too Large"));
    free(large);
}

static void a_server_that_is_not_there_is_told(void **state)
{
    (void)state;
    open_proxy();
    listener_close(fx.listener);
    fx.listener = NULL;
    refused(0, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n", "502 Bad Gateway", "Connection refused");
}

static void one_connection_too_many_is_refused(void **state)
{
    (void)state;
    on.conf.max_connections = 1;
    open_proxy();
    (void)open_tunnel(0);
    refused(1, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n", "503", "too many connections");
    peer_close(&fx.peers[0]);
    UNTIL(on.server->gone);
    let_pass(1);
    (void)open_tunnel(2);
}

static void an_owner_has_a_share_of_the_connections(void **state)
{
    char path[sizeof(on.path) + 8];

    (void)state;
    on.conf.max_connections = 4;
    on.conf.max_per_owner = 1;
    open_proxy();
    (void)snprintf(path, sizeof(path), "%s.other", on.path);
    on.other_door = egress_door_open(on.proxy, path, STR("you"), NULL);
    assert_non_null(on.other_door);
    (void)open_tunnel(0);
    refused(1, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n", "503", "too many connections");
    peer_say(peer_dial_path(2, path), "nonsense\r\n\r\n");
    UNTIL(peer_heard(&fx.peers[2], "400"));
    egress_door_close(on.other_door);
    on.other_door = NULL;
    assert_true(fx.peers[0].open && !fx.peers[0].gone);
}

/* Code may open thousands at once, and close none: the descriptors are the gateway's. */
static void connections_far_beyond_the_limit_are_closed_without_a_word(void **state)
{
    (void)state;
    on.conf.max_connections = 1;
    open_proxy();
    (void)open_tunnel(0);
    socket_keep_end(&peer_dial_path(1, on.path)->socket); /* it does not close */
    UNTIL(peer_heard(&fx.peers[1], "503"));
    (void)peer_dial_path(2, on.path);
    UNTIL(fx.peers[2].gone);
    assert_int_equal(fx.peers[2].in.len, 0);
    assert_true(fx.peers[0].open && !fx.peers[0].gone);
}

/* --- flow and ends -------------------------------------------------------------------- */

static void a_client_that_does_not_read_holds_up_the_server(void **state)
{
    struct peer *client;

    (void)state;
    open_proxy();
    client = open_tunnel(0);
    buf_reset(&client->in);
    socket_read(&client->socket, false);
    say_much(on.server);
    let_pass(50);
    assert_true(socket_pending(&on.server->socket) > LARGE / 4);
    socket_read(&client->socket, true);
    UNTIL(client->in.len == LARGE);
}

static void a_server_that_does_not_read_holds_up_the_client(void **state)
{
    struct peer *client;

    (void)state;
    open_proxy();
    client = open_tunnel(0);
    UNTIL(fx.n_accepted == 1);
    socket_read(&on.server->socket, false);
    say_much(client);
    let_pass(50);
    assert_true(socket_pending(&client->socket) > LARGE / 4);
    socket_read(&on.server->socket, true);
    UNTIL(on.server->in.len == LARGE);
}

static void last_bytes_arrive_although_their_sender_has_gone(void **state)
{
    struct peer *client;

    (void)state;
    open_proxy();
    client = open_tunnel(0);
    buf_reset(&client->in);
    socket_read(&client->socket, false);
    socket_keep_end(&client->socket);
    say_much(on.server);
    socket_read(&client->socket, true);
    UNTIL(socket_pending(&on.server->socket) == 0);
    peer_close(on.server);
    UNTIL(client->gone);
    assert_int_equal(client->in.len, LARGE);
}

static void a_client_that_leaves_takes_the_server_along(void **state)
{
    (void)state;
    open_proxy();
    peer_close(open_tunnel(0));
    UNTIL(on.server->gone);
}

static void an_idle_tunnel_is_ended(void **state)
{
    struct peer *client;

    (void)state;
    on.conf.idle_ms = 20;
    open_proxy();
    client = open_tunnel(0);
    UNTIL(client->gone && on.server->gone);
}

static void the_end_of_the_proxy_ends_its_connections_in_every_state(void **state)
{
    (void)state;
    open_proxy();
    (void)open_tunnel(0);
    (void)ask(1, "CONNECT 127.0.0.1:PORT HTTP/1.1\r\n");
    (void)ask(2, "CONNECT a.example.org:443 HTTP/1.1\r\n\r\n"); /* is being looked up */
    (void)ask(3, "nonsense\r\n\r\n");
    UNTIL(peer_heard(&fx.peers[3], "400"));
    egress_door_close(on.door);
    egress_proxy_free(on.proxy);
    on.door = NULL;
    on.proxy = NULL;
    UNTIL(fx.peers[0].gone && fx.peers[1].gone && fx.peers[2].gone && fx.peers[3].gone);
    UNTIL(on.server->gone);
}

/* --- the socket ----------------------------------------------------------------------- */

static void nobody_else_may_connect(void **state)
{
    struct stat file;

    (void)state;
    on.conf.uid = geteuid() == 0 ? 12345 : 0;
    open_proxy();
    assert_int_equal(stat(on.path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(file.st_uid, geteuid() == 0 ? 12345 : geteuid());
}

static void a_path_that_cannot_be_is_an_error(void **state)
{
    struct err e;
    char path[300];

    (void)state;
    memset(path, 'a', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    open_proxy();
    assert_null(egress_door_open(on.proxy, path, STR(""), &e));
    assert_null(egress_door_open(on.proxy, "/nowhere/egress.sock", STR(""), &e));
    assert_non_null(strstr(e.msg, "/nowhere/egress.sock"));
}

#define EGRESS_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EGRESS_TEST(a_tunnel_carries_bytes_both_ways),
        EGRESS_TEST(a_request_is_passed_on_with_its_body_and_no_other),
        EGRESS_TEST(a_head_may_come_in_pieces),
        EGRESS_TEST(a_refusal_says_why_in_its_status_line_and_body),
        EGRESS_TEST(no_spelling_of_an_address_gets_inside),
        EGRESS_TEST(what_is_no_request_is_refused),
        EGRESS_TEST(a_server_that_is_not_there_is_told),
        EGRESS_TEST(one_connection_too_many_is_refused),
        EGRESS_TEST(an_owner_has_a_share_of_the_connections),
        EGRESS_TEST(connections_far_beyond_the_limit_are_closed_without_a_word),
        EGRESS_TEST(a_client_that_does_not_read_holds_up_the_server),
        EGRESS_TEST(a_server_that_does_not_read_holds_up_the_client),
        EGRESS_TEST(last_bytes_arrive_although_their_sender_has_gone),
        EGRESS_TEST(a_client_that_leaves_takes_the_server_along),
        EGRESS_TEST(an_idle_tunnel_is_ended),
        EGRESS_TEST(the_end_of_the_proxy_ends_its_connections_in_every_state),
        EGRESS_TEST(nobody_else_may_connect),
        EGRESS_TEST(a_path_that_cannot_be_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
