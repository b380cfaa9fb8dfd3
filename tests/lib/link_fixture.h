/* link_fixture.h -- a link to an MCP server that a test scripts.
 *
 * Everything is on the loop of http_fixture.h, whose client is used. A test says how
 * requests are answered, starts a link, and looks at what both sides have noted:
 *
 *     link_serve(steps)       one step for each request that comes in whole
 *     link_start(constructor)
 *     link_send(...)
 *     UNTIL(link_told("..."))      what the link has reported
 *     link_asked(0, "...")         what the first request said
 *
 * When a test ends, the link is stopped and has to be closed in order. */
#ifndef ANTIPHON_TESTS_LIB_LINK_FIXTURE_H
#define ANTIPHON_TESTS_LIB_LINK_FIXTURE_H

#include "lib/http_fixture.h"
#include "lib/test.h"
#include "mcp/link/mcp_links.h"

enum { LINK_MAX_REQUESTS = 16 };

/* An answer; all NULL is silence. */
struct link_step {
    const char *raw;     /* as it stands, or: */
    const char *status;  /* such as "404 Not Found"; NULL: 200 OK */
    const char *headers; /* further ones, each with CRLF behind it; or NULL */
    const char *json;    /* a body of this type, with its length */
    const char *events;  /* a body of this type, as one chunk */
    bool stays_open;     /* the last chunk is missing */
    bool closes;         /* the connection, behind the answer */
};

typedef struct mcp_link *link_new(struct loop *loop, const struct mcp_link_conf *conf,
                                  const struct mcp_link_handler *handler, void *arg,
                                  struct err *reterr);

struct link_fixture {
    struct mcp_server_conf
        server; /* may be changed before link_start(); url is set by link_serve() */
    struct secrets secrets;
    struct mcp_link_conf conf;
    struct mcp_link *link; /* NULL once it is closed */
    char url[64];
    unsigned port;

    /* what it has reported, a line each:
     *     up
     *     message CARRIER STATUS id=ID TEXT      the result, method, or error message
     *     failed ID CAUSE STATUS [lost] [hopeless] MESSAGE [CHALLENGE]
     *     down CAUSE STATUS [hopeless] MESSAGE
     *     closed */
    struct buf told;
    void (*on_message)(int64_t id); /* the test's own, behind the note; or NULL */

    const struct link_step *steps;
    size_t n_steps;
    struct buf requests[LINK_MAX_REQUESTS]; /* head and body */
    struct peer *askers[LINK_MAX_REQUESTS];
    size_t n_requests;
};

extern struct link_fixture lfx;

/* What servers say. */
#define RESULT(id) "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{}}"
#define REFUSAL(id, words)                                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32000,\"message\":\"" words "\"}}"
#define NOTICE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
#define EVENT(message) "data: " message "\n\n"
#define SESSION        "Mcp-Session-Id: s-1234\r\n"

#define LEGACY MCP_2025_11_25
#define MODERN MCP_2026_07_28

int link_fixture_setup(void **state);
int link_fixture_teardown(void **state);

#define LINK_TEST_WITH(test, name, state)                                                          \
    {                                                                                              \
        name, test, link_fixture_setup, link_fixture_teardown, state                               \
    }
#define LINK_TEST(test) LINK_TEST_WITH(test, #test, NULL)
#define LINK_TEST_BOTH(test)                                                                       \
    LINK_TEST(test), LINK_TEST_WITH(test, #test "_over_libcurl", http_fixture_curl)

/* Listens at lfx.url; steps, an array, must live until teardown. A DELETE behind the last
 * step is answered with 200. */
#define link_serve(steps) link_serve_steps((steps), COUNT_OF(steps))
void link_serve_steps(const struct link_step *steps, size_t n);

/* Makes the link; link_up() waits until it is up. */
void link_start(link_new *constructor);
void link_up(link_new *constructor);

/* Sends {"id":ID}, which is enough for a transport. False: not taken. */
bool link_send(int64_t id, enum mcp_method method, enum mcp_version version);

/* Has it reported this, all of a line or the beginning? */
bool link_told(const char *line);

/* Has the request of this number come, and does it say so? */
bool link_asked(size_t i, const char *text);

/* Says more to whoever sent that request, as a chunk of a body; "" ends the body. */
void link_say(size_t i, const char *text);

/* Brings a Streamable HTTP link up and initializes with id 1, which takes the first step. */
void link_begin_session(void);

/* Stops it and waits for its end. */
void link_stop(void);

#endif
