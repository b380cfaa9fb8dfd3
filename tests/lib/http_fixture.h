/* http_fixture.h -- our HTTP server, our client and the partners that test them,
 * on one loop, over the loopback interface.
 *
 * A test of the server talks to it as a raw peer that sends bytes as they stand
 * in the test; a test of the client calls our server or a scripted one that
 * answers canned bytes:
 *
 *     peer_dial(), peer_say()  ->  serve()          its owner does what the path says
 *     http_client_start()      ->  serve(), or script_play()
 *
 * All of it lives in fx, which every test gets anew and may look into: the
 * counters there say what has happened. A test states what it waits for with
 * UNTIL() and ends when that is so; a watchdog ends the process otherwise.
 *
 * Everything runs on the test's thread. What goes wrong in a function below
 * fails the test. */
#ifndef ANTIPHON_TESTS_LIB_HTTP_FIXTURE_H
#define ANTIPHON_TESTS_LIB_HTTP_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ev/loop.h"
#include "http/http_client.h"
#include "http/http_server.h"
#include "net/listener.h"
#include "net/socket.h"

enum { MIB = 1024 * 1024, MAX_PEERS = 4, MAX_ACCEPTED = 8 };

/* A raw end of a connection: collects what it is sent. */
struct peer {
    struct socket socket;
    struct buf in;
    bool open, gone;     /* gone: the other end has closed, and so have we */
    unsigned n_requests; /* heads that the scripted server has read on it */
    const char *left;    /* of an answer that goes out byte by byte */
};

/* A step of a scripted server, taken at each request it reads. */
struct script_step {
    const char *answer; /* NULL: silence */
    bool close_after;
};

struct http_fixture {
    struct loop *loop;
    struct loop_timer *watchdog;
    struct http_client *client; /* no proxy, keeps its connections */
    struct peer peers[MAX_PEERS];

    /* our server, and what its owner has seen */
    struct http_server_conf conf; /* may be changed until serve() */
    struct http_server *server;   /* NULL before serve() */
    struct http_exchange *x;      /* the last one that was not answered at once */
    struct buf requests;          /* "METHOD path?query body" of each, 40 bytes of body */
    unsigned n_requests;
    unsigned n_heads;                /* that were judged */
    unsigned n_gone;                 /* clients that left an unfinished exchange */
    unsigned n_blocked, n_unblocked; /* reports that a client does not read, and does again */
    size_t left_to_write;            /* of the answer to /large */

    /* the scripted server */
    struct listener *listener; /* NULL before script_play() */
    uv_poll_t unix_poll;
    int unix_fd;
    struct peer accepted[MAX_ACCEPTED];
    const struct script_step *script;
    bool byte_by_byte; /* answers go out one byte in each turn of the loop */
    unsigned n_accepted, n_steps;
};

extern struct http_fixture fx;

/* For cmocka, around each test. The second closes and frees whatever the test
 * left open, so a test need not clean up in fx. */
int http_fixture_setup(void **state);
int http_fixture_teardown(void **state);

/* The client takes its own transport, or libcurl when the state is this. */
extern char http_fixture_curl[];

#define HTTP_TEST_WITH(test, name, state)                                                          \
    {                                                                                              \
        name, test, http_fixture_setup, http_fixture_teardown, state                               \
    }
#define HTTP_TEST(test) HTTP_TEST_WITH(test, #test, NULL)
#define HTTP_TEST_BOTH(test)                                                                       \
    HTTP_TEST(test), HTTP_TEST_WITH(test, #test "_over_libcurl", http_fixture_curl)

/* Turns the loop until the condition holds. */
#define UNTIL(condition)                                                                           \
    while (!(condition))                                                                           \
    (void)uv_run(loop_uv(fx.loop), UV_RUN_ONCE)

/* Turns the loop for so long: for tests that nothing happens. */
void let_pass(uint64_t ms);

/* ---- our server */

/* Opens fx.server as fx.conf says, on a free port of 127.0.0.1. The path of a
 * request tells its owner what to do:
 *
 *     /stream   "one ", "two" and the end, of unknown length
 *     /error    a 429 with all members of an error
 *     /hold     nothing: the test answers fx.x
 *     /half     a head and "half"; the test goes on with fx.x
 *     /large    fx.left_to_write bytes, as fast as the client takes them
 *     /stranger an error at its head; what is behind it is not read
 *     others    "hello" */
void serve(void);

/* That owner, for servers that a test opens itself; arg is not used. */
void serve_request(void *arg, struct http_exchange *x, const struct http_request *request);

/* ---- raw peers */

/* fx.peers[i], connected to fx.server; each i once per test. */
struct peer *peer_dial(size_t i);

/* The same, connected to the Unix socket at path. */
struct peer *peer_dial_path(size_t i, const char *path);

/* Closes it when it is open: unsent bytes are lost. */
void peer_close(struct peer *p);

void peer_say(struct peer *p, const char *text);

/* Is text in what came in so far, and how often? */
bool peer_heard(struct peer *p, const char *text);
unsigned peer_count(struct peer *p, const char *text);

/* ---- a scripted server */

/* Takes a step of script for every request head that comes in, on whichever
 * connection; script must live until teardown and be long enough. It listens on
 * a free port of 127.0.0.1, which fx.listener knows, or on a Unix socket at
 * path, which the test unlinks. */
void script_play(const struct script_step *script);
void script_play_at(const char *path, const struct script_step *script);

/* What most scripts answer. */
#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* ---- a server in the test's own hands */

/* fx.accepted[0], which will be the first to connect to fx.listener: it keeps
 * what it is sent, or takes nothing until socket_read(), and the test answers.
 * NULL when the machine has no such address. */
struct peer *gather(const char *address, bool reads);

#endif
