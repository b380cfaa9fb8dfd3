/* test_page_fetch.c -- pages over a socket, most of them hostile.
 *
 * page_read() is a stand-in here that keeps what it is given: what becomes of the bytes is another
 * test's. It runs on the thread pool, which has one thread here, so that a test can have that wait.
 * 127.0.0.1 is where all servers are, so the policy is the one that allows it. */
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/http_fixture.h"
#include "lib/send_once.h"
#include "lib/test.h"
#include "lib/tls_server.h"
#include "net/listen_address.h"
#include "search/page.h"

enum { LIMIT = 100 * 1000 };

static struct {
    struct page_fetch *fetch;
    struct page_fetch_conf conf;
    char url[120];
    unsigned n_reports, n_asked, n_allowed; /* allows(): so many hops are */
    char failure[600];                      /* "": there was none */
    char got_url[200], got_type[100];
    struct buf got;
    size_t max_text_bytes;
    bool is_cut, is_read;

    bool waits; /* page_read(): tells the loop that it is there, and waits for may_go */
    bool is_there;
    uv_sem_t may_go;
} px;

/* ---- the stand-in, on the pool */

static void on_there(void *arg)
{
    (void)arg;
    px.is_there = true;
}

static void wait_to_go(void)
{
    post_once(fx.loop, on_there, NULL);
    uv_sem_wait(&px.may_go);
}

int page_read(const struct page_source *source, struct page *ret, struct err *reterr)
{
    if (px.waits)
        wait_to_go();
    px.is_read = true;
    if (str_starts_with(source->bytes, STR("unreadable"))) {
        err_set(reterr, ERR_INVALID_VALUE, "It is in a charset that nobody knows.");
        return -1;
    }
    px.max_text_bytes = source->max_text_bytes;
    (void)snprintf(px.got_url, sizeof(px.got_url), "%.*s", STR_ARG(source->url));
    (void)snprintf(px.got_type, sizeof(px.got_type), "%.*s",
                   str_is_none(source->content_type) ? 4 : (int)source->content_type.len,
                   str_is_none(source->content_type) ? "none" : source->content_type.p);
    buf_append(&px.got, source->bytes);
    ret->is_cut = source->is_cut;
    ret->title = arena_dup(&ret->arena, STR("a title"));
    return 0;
}

void page_fini(struct page *page)
{
    arena_fini(&page->arena);
}

/* ---- the fixture */

static void on_page(void *arg, const char *failure, struct page *page)
{
    assert_ptr_equal(arg, &px);
    assert_true((failure == NULL) != (page == NULL));
    px.n_reports++;
    px.fetch = NULL;
    if (failure != NULL) {
        (void)snprintf(px.failure, sizeof(px.failure), "%s", failure);
        return;
    }
    assert_int_equal(px.max_text_bytes, px.conf.max_bytes);
    px.is_cut = page->is_cut;
    assert_str_c(page->title, "a title");
    page_fini(page);
}

static bool allows(void *arg, str url)
{
    assert_ptr_equal(arg, &px);
    assert_true(str_starts_with(url, STR("http")));
    return px.n_asked++ < px.n_allowed;
}

static const struct page_fetch_handler handler = {on_page, allows};

static int setup(void **state)
{
    memset(&px, 0, sizeof(px));
    px.n_allowed = 100;
    assert_int_equal(uv_sem_init(&px.may_go, 0), 0);
    px.conf = (struct page_fetch_conf){
        .policy = {.mode = URL_ANY}, .timeout_ms = 20000, .max_bytes = LIMIT, .max_redirects = 3};
    return http_fixture_setup(state);
}

static int teardown(void **state)
{
    int rc;

    page_fetch_cancel(px.fetch);
    rc = http_fixture_teardown(state);
    uv_sem_destroy(&px.may_go);
    buf_fini(&px.got);
    return rc;
}

static void use_client(const struct http_client_conf *conf)
{
    http_client_free(fx.client);
    fx.client = http_client_new(fx.loop, conf);
    assert_non_null(fx.client);
}

static const char *url_of(const char *path)
{
    (void)snprintf(px.url, sizeof(px.url), "http://127.0.0.1:%d%s", listener_port(fx.listener),
                   path);
    return px.url;
}

static void start(const char *url)
{
    struct err e;

    px.n_reports = 0;
    px.failure[0] = '\0';
    px.is_read = false;
    buf_reset(&px.got);
    px.fetch = page_fetch_start(fx.client, &px.conf, str_from_c(url), &handler, &px, &e);
    if (px.fetch == NULL)
        fail_msg("%s", e.msg);
    assert_int_equal(px.n_reports, 0);
}

static void finish(void)
{
    UNTIL(px.n_reports == 1);
    let_pass(1); /* a second report would come now */
    assert_int_equal(px.n_reports, 1);
}

/* The script's first step answers. */
static void fetch(const struct script_step *script, const char *path)
{
    listener_close(fx.listener);
    fx.n_steps = 0;
    script_play(script);
    start(url_of(path));
    finish();
}

static void fetch_one(const char *answer)
{
    const struct script_step script[] = {{answer, true}, {NULL, true}};

    fetch(script, "/");
}

static void check_page(const char *bytes, bool is_cut)
{
    assert_string_equal(px.failure, "");
    assert_str_c(buf_str(&px.got), bytes);
    assert_int_equal(px.is_cut, is_cut);
}

static void check_failure(const char *answer, const char *expected)
{
    fetch_one(answer);
    assert_string_equal(px.failure, expected);
}

/* On the connection that comes to gather(). */
static struct peer *fetch_by_hand(void)
{
    struct peer *p = gather("127.0.0.1:0", true);

    assert_non_null(p);
    start(url_of("/"));
    UNTIL(peer_heard(p, "\r\n\r\n"));
    return p;
}

static void say_bytes(struct peer *p, const void *bytes, size_t n)
{
    struct iovec piece = socket_piece(str_from(bytes, n));

    assert_true(p->open);
    socket_send(&p->socket, &piece, 1);
}

#define CANNOT         "The page cannot be opened: "
#define OK(head, body) "HTTP/1.1 200 OK\r\n" head "Connection: close\r\n\r\n" body
#define GO(location)   "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " location "\r\n\r\n"

/* ---- pages */

static void a_page_arrives_as_it_is(void **state)
{
    (void)state;
    fetch_one(OK("Content-Type: text/html; charset=koi8-r\r\n", "<p>hello"));
    check_page("<p>hello", false);
    assert_string_equal(px.got_url, px.url);
    assert_string_equal(px.got_type, "text/html; charset=koi8-r");
}

static void nothing_personal_goes_along(void **state)
{
    struct peer *p = fetch_by_hand(), *second;

    (void)state;
    assert_true(peer_heard(p, "GET / HTTP/1.1\r\n"));
    assert_true(peer_heard(p, "Antiphon/"));
    assert_true(peer_heard(p, "Accept-Encoding: gzip\r\n"));
    peer_say(p, "HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nLocation: /next\r\nConnection: close\r\n"
                "Content-Length: 0\r\n\r\n");
    second = &fx.accepted[1];
    UNTIL(peer_heard(second, "\r\n\r\n"));
    assert_true(peer_heard(second, "GET /next HTTP/1.1\r\n"));
    assert_false(peer_heard(second, "ookie"));
    assert_false(peer_heard(second, "eferer"));
    peer_say(second, OK("", "x"));
    peer_close(second);
    finish();
    check_page("x", false);
}

static void urls_are_sent_as_servers_take_them(void **state)
{
    static const char *const urls[][2] = {
        {"/a/../b?c=d#part", "GET /b?c=d HTTP/1.1\r\n"},
        {" ", "GET / HTTP/1.1\r\n"},
        {"/caf\xc3\xa9 au lait", "GET /caf%c3%a9%20au%20lait HTTP/1.1\r\n"},
        {"/%41?q=%20", "GET /%41?q=%20 HTTP/1.1\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct peer *p = &fx.accepted[i];

        listener_close(fx.listener);
        (void)gather("127.0.0.1:0", true);
        start(url_of(urls[i][0]));
        UNTIL(peer_heard(p, "\r\n\r\n"));
        assert_true(peer_heard(p, urls[i][1]));
        peer_say(p, OK("", "x"));
        peer_close(p);
        finish();
        check_page("x", false);
    }
}

static void only_text_is_taken(void **state)
{
    static const char *const good[] = {
        "text/plain",      "TEXT/HTML;charset=x",        "application/json",
        "application/xml", "Application/XHTML+XML; x=y", "text/markdown"};
    char answer[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        (void)snprintf(answer, sizeof(answer), OK("Content-Type: %s\r\n", "x"), good[i]);
        fetch_one(answer);
        check_page("x", false);
        assert_string_equal(px.got_type, good[i]);
    }
    fetch_one(OK("", "no type"));
    check_page("no type", false);
    assert_string_equal(px.got_type, "none");
}

static void other_types_are_refused_by_name(void **state)
{
    (void)state;
    check_failure(OK("Content-Type: image/png\r\n", "x"),
                  CANNOT "it is no text, but of the type image/png.");
    check_failure(OK("Content-Type: application/octet-stream\r\n", "x"),
                  CANNOT "it is no text, but of the type application/octet-stream.");
    check_failure(OK("Content-Type: textile\r\n", "x"),
                  CANNOT "it is no text, but of the type textile.");
    check_failure(OK("Content-Type: b\xff\r\n", "x"),
                  CANNOT "it is no text, but of the type that has no name.");
    assert_false(px.is_read);
}

static void statuses_are_told(void **state)
{
    (void)state;
    check_failure("HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx",
                  CANNOT "its server answers with HTTP status 404.");
    check_failure("HTTP/1.1 503 X\r\n\r\n", CANNOT "its server answers with HTTP status 503.");
    check_failure("HTTP/1.1 304 X\r\n\r\n", CANNOT "its server answers with HTTP status 304.");
    assert_false(px.is_read);
}

static void what_cannot_be_read_is_a_failure(void **state)
{
    (void)state;
    check_failure(OK("", "unreadable"), CANNOT "It is in a charset that nobody knows.");
}

/* ---- redirects */

static void redirects_are_followed_to_the_page(void **state)
{
    char second[200], url[100];
    struct script_step script[] = {
        {GO("sub/page?x#y"), false},
        {second, false},
        {"HTTP/1.1 308 X\r\nContent-Length: 0\r\nLocation: ?z\r\n\r\n", false},
        {OK("", "there"), true}};

    (void)state;
    script_play(script);
    (void)snprintf(second, sizeof(second), GO("HTTP://127.0.0.1:%d/abs/"),
                   listener_port(fx.listener));
    start(url_of("/old/place"));
    finish();
    check_page("there", false);
    assert_int_equal(px.n_asked, 4);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/abs/?z", listener_port(fx.listener));
    assert_string_equal(px.got_url, url);
}

static void a_circle_of_redirects_ends(void **state)
{
    static const struct script_step script[] = {{GO("/b"), false},
                                                {GO("/a"), false},
                                                {GO("/b"), false},
                                                {GO("/a"), false},
                                                {GO("/b"), false}};

    (void)state;
    fetch(script, "/a");
    assert_string_equal(px.failure, CANNOT "it redirects more than 3 times.");
    assert_int_equal(fx.n_steps, 4);
}

static void redirects_lead_to_web_pages_only(void **state)
{
    static const char *const answers[][2] = {
        {GO("file:///etc/passwd"), "it redirects to where we do not go. Invalid URL in 'Location': "
                                   "it does not begin with https://."},
        {GO("http://u:p@x.example/"), "it redirects to where we do not go. Invalid URL in "
                                      "'Location': it has a user or a password."},
        {GO("javascript:alert(1)"), "it redirects to what is no URL."},
        {GO("unix:/run/x.sock"), "it redirects to what is no URL."},
        {GO("http://"), "it redirects to what is no URL."},
        {GO(""), "it redirects to what is no URL."},
        {"HTTP/1.1 301 X\r\nContent-Length: 0\r\n\r\n", "it redirects to what is no URL."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        fetch_one(answers[i][0]);
        if (strcmp(px.failure + strlen(CANNOT), answers[i][1]) != 0)
            fail_msg("%s", px.failure);
        assert_int_equal(fx.n_steps, 1);
    }
}

static void each_hop_is_judged_by_the_policy(void **state)
{
    static const char *const denied[] = {"localhost"};
    char answer[120];
    const struct script_step script[] = {{answer, false}, {OK("", "x"), true}};
    struct err e;

    (void)state;
    px.conf.policy.denied = (struct host_list){denied, 1};
    script_play(script);
    (void)snprintf(answer, sizeof(answer), GO("http://LOCALHOST.:%d/"), listener_port(fx.listener));
    start(url_of("/"));
    finish();
    assert_non_null(strstr(px.failure, "the operator of this gateway does not allow its host"));
    assert_int_equal(fx.n_steps, 1);
    px.conf.policy = (struct url_policy){.mode = URL_WEB};
    assert_null(page_fetch_start(fx.client, &px.conf, str_from_c(px.url), &handler, &px, &e));
    assert_string_equal(e.msg, "Invalid URL in 'url': its host is an IP address.");
}

static void each_hop_is_asked_about(void **state)
{
    static const struct script_step script[] = {{GO("/b"), false}, {OK("", "x"), true}};
    struct err e;

    (void)state;
    px.n_allowed = 1;
    fetch(script, "/a");
    assert_string_equal(px.failure, CANNOT "it redirects to where we do not go. Its domain is not "
                                           "allowed here.");
    assert_int_equal(px.n_asked, 2);
    assert_int_equal(fx.n_steps, 1);
    assert_null(page_fetch_start(fx.client, &px.conf, str_from_c(px.url), &handler, &px, &e));
    assert_string_equal(e.msg, "Its domain is not allowed here.");
}

static bool is_first_loopback(const struct sockaddr *to)
{
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)(const void *)to;

    return to->sa_family == AF_INET && ntohl(in4->sin_addr.s_addr) == INADDR_LOOPBACK;
}

static void on_private_accept(void *arg, int fd, const char *from)
{
    (void)from;
    ++*(unsigned *)arg;
    (void)close(fd);
}

/* 127.0.0.1 plays a public address, and all others are private. */
static void a_redirect_to_a_private_address_ends_there(void **state)
{
    static const struct http_client_conf guarded = {.may_connect = is_first_loopback};
    static const char *const hosts[] = {"127.0.0.2", "2130706434", "0x7f.2", "localhost"};
    char answer[120];
    const struct script_step script[] = {{answer, false}};
    unsigned n_private = 0;
    struct listener *private = listener_open(fx.loop, listen_tcp("127.0.0.2:0", NULL),
                                             on_private_accept, &n_private, NULL);

    (void)state;
    assert_non_null(private);
    use_client(&guarded);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        (void)snprintf(answer, sizeof(answer), GO("http://%s:%d/"), hosts[i],
                       listener_port(private));
        fetch(script, "/");
        assert_string_equal(px.failure, CANNOT "its server is not reachable.");
        assert_int_equal(fx.n_steps, 1);
    }
    let_pass(1);
    assert_int_equal(n_private, 0);
    listener_close(private);
}

static void https_does_not_lead_to_http(void **state)
{
    static const struct http_client_conf trusting = {.verify_tls = false};
    struct tls_server *server = tls_server_open("127.0.0.1", "localhost", GO("http://127.0.0.1/"));
    char url[60];

    (void)state;
    use_client(&trusting);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", tls_server_port(server));
    start(url);
    finish();
    tls_server_close(server);
    assert_string_equal(px.failure,
                        CANNOT "it redirects to where we do not go. It leads from https to http.");
}

/* ---- sizes */

static void a_page_without_end_is_cut_and_left(void **state)
{
    struct peer *p = fetch_by_hand();
    char block[4096];
    size_t said = 0;

    (void)state;
    memset(block, 'x', sizeof(block));
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    while (p->open && said < 100 * LIMIT) {
        say_bytes(p, block, sizeof(block));
        said += sizeof(block);
        (void)uv_run(loop_uv(fx.loop), UV_RUN_NOWAIT);
    }
    finish();
    UNTIL(p->gone);
    assert_string_equal(px.failure, "");
    assert_true(px.is_cut);
    assert_int_equal(px.got.len, LIMIT);
}

static void a_page_of_exactly_the_limit_is_whole(void **state)
{
    (void)state;
    px.conf.max_bytes = 5;
    fetch_one(OK("", "12345"));
    check_page("12345", false);
    fetch_one(OK("", "123456"));
    check_page("12345", true);
    fetch_one(OK("Transfer-Encoding: chunked\r\n", "3\r\n123\r\n2\r\n45\r\n1\r\n6\r\n0\r\n\r\n"));
    check_page("12345", true);
    fetch_one(OK("", ""));
    check_page("", false);
}

static void lengths_that_lie_do_no_harm(void **state)
{
    (void)state;
    fetch_one("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nearly");
    check_page("early", true);
    fetch_one("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly and more");
    check_page("early", false);
    fetch_one("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n");
    check_page("early", true);
    check_failure("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
                  CANNOT "its server is not reachable.");
}

/* ---- content codings */

/* n bytes of a pattern that packs well, or of one that does not. */
static size_t pack(size_t n, bool is_dense, unsigned char *out, size_t cap)
{
    unsigned char block[1000];
    z_stream z = {.next_out = out, .avail_out = (uInt)cap};
    uint32_t state = 1;
    size_t packed;

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
    memset(block, 'x', sizeof(block));
    for (size_t done = 0; done < n; done += sizeof(block)) {
        for (size_t i = 0; is_dense && i < sizeof(block); i++) {
            state = state * 1664525 + 1013904223;
            block[i] = (unsigned char)(state >> 24);
        }
        z.next_in = block;
        z.avail_in = sizeof(block);
        assert_int_equal(deflate(&z, done + sizeof(block) < n ? Z_NO_FLUSH : Z_FINISH),
                         done + sizeof(block) < n ? Z_OK : Z_STREAM_END);
    }
    packed = cap - z.avail_out;
    (void)deflateEnd(&z);
    return packed;
}

static unsigned char packed[4 * LIMIT];

static void fetch_packed(size_t n)
{
    struct peer *p = fetch_by_hand();

    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n");
    say_bytes(p, packed, n);
    UNTIL(px.n_reports > 0 || socket_pending(&p->socket) == 0);
    peer_close(p);
    finish();
}

static void a_packed_page_is_unpacked(void **state)
{
    (void)state;
    fetch_packed(pack(3000, false, packed, sizeof(packed)));
    assert_string_equal(px.failure, "");
    assert_int_equal(px.got.len, 3000);
    assert_int_equal(px.got.p[2999], 'x');
    assert_false(px.is_cut);
}

static void a_page_that_swells_is_cut(void **state)
{
    size_t n = pack((size_t)32 * MIB, false, packed, sizeof(packed));

    (void)state;
    assert_true(n < LIMIT);
    fetch_packed(n);
    assert_string_equal(px.failure, "");
    assert_int_equal(px.got.len, LIMIT);
    assert_true(px.is_cut);
}

static void a_packed_page_that_is_too_large_is_cut(void **state)
{
    size_t n = pack((size_t)3 * LIMIT, true, packed, sizeof(packed));

    (void)state;
    assert_true(n > 2 * LIMIT);
    fetch_packed(n);
    assert_string_equal(px.failure, "");
    assert_in_range(px.got.len, LIMIT / 2, LIMIT);
    assert_true(px.is_cut);
}

static void a_packed_page_that_breaks_off_is_read_as_far_as_it_goes(void **state)
{
    struct peer *p;
    size_t n = pack(50000, true, packed, sizeof(packed));

    (void)state;
    p = fetch_by_hand();
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 90000\r\nContent-Encoding: gzip\r\n\r\n");
    say_bytes(p, packed, n / 2);
    UNTIL(socket_pending(&p->socket) == 0);
    peer_close(p);
    finish();
    assert_string_equal(px.failure, "");
    assert_in_range(px.got.len, 10000, 40000);
    assert_true(px.is_cut);
}

static void codings_that_are_damaged_or_unknown_are_failures(void **state)
{
    static const char expected[] =
        CANNOT "its content coding is damaged, or not one that was asked for.";

    (void)state;
    check_failure(OK("Content-Encoding: gzip\r\n", "plain"), expected);
    check_failure(OK("Content-Encoding: br\r\n", "x"), expected);
    check_failure(OK("Content-Encoding: gzip, gzip\r\n", "x"), expected);
    fetch_one(OK("Content-Encoding: identity\r\n", "x"));
    check_page("x", false);
}

/* ---- time */

static void drip(void *arg)
{
    struct peer *p = &fx.accepted[0];

    if (!p->open)
        return;
    peer_say(p, "x");
    loop_timer_start(*(struct loop_timer **)arg, 1);
}

static void a_slow_drip_ends_in_time(void **state)
{
    struct loop_timer *timer = loop_timer_new(fx.loop, drip, &timer);
    struct peer *p;

    (void)state;
    px.conf.timeout_ms = 50;
    p = fetch_by_hand();
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    drip(&timer);
    finish();
    assert_string_equal(px.failure, CANNOT "it did not come within 50 ms.");
    UNTIL(p->gone);
    loop_timer_free(timer);
}

/* Each hop is answered at once, and the limit is that of all together. */
static void time_does_not_begin_anew_with_a_redirect(void **state)
{
    static const struct script_step script[] = {{GO("/"), false}, {GO("/"), false}, {NULL, false}};

    (void)state;
    px.conf.timeout_ms = 50;
    fetch(script, "/");
    assert_string_equal(px.failure, CANNOT "it did not come within 50 ms.");
    assert_int_equal(fx.n_steps, 3);
}

/* ---- no answer */

static void servers_that_do_not_answer_are_failures(void **state)
{
    (void)state;
    check_failure("", CANNOT "its server is not reachable.");
    check_failure("SSH-2.0-x\r\n\r\n", CANNOT "its server is not reachable.");
    listener_close(fx.listener);
    fx.listener = NULL;
    start(px.url);
    finish();
    assert_string_equal(px.failure, CANNOT "its server is not reachable.");
}

static void what_is_no_url_does_not_start(void **state)
{
    static const char *const urls[] = {"",         "example.org", "file:///etc/passwd",
                                       "http://",  "http:/\\x",   "mailto:a@b",
                                       "http://[", "http://a b/", "http://u@h/"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct err e;

        if (page_fetch_start(fx.client, &px.conf, str_from_c(urls[i]), &handler, &px, &e) != NULL)
            fail_msg("%s", urls[i]);
        assert_non_null(strstr(e.msg, "Invalid URL in 'url': "));
    }
    assert_int_equal(px.n_asked, 0);
}

static void a_cancelled_fetch_reports_nothing(void **state)
{
    struct peer *p = fetch_by_hand();

    (void)state;
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx");
    let_pass(1);
    page_fetch_cancel(px.fetch);
    px.fetch = NULL;
    UNTIL(p->gone);
    assert_int_equal(px.n_reports, 0);
}

/* ---- while a page is read */

/* Until page_read() waits; that the loop hears of it shows that it turns meanwhile. */
static void fetch_until_read(void)
{
    struct peer *p;

    px.waits = true;
    p = fetch_by_hand();
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nread");
    UNTIL(px.is_there);
    assert_int_equal(px.n_reports, 0);
}

static void the_loop_turns_while_a_page_is_read(void **state)
{
    (void)state;
    fetch_until_read();
    uv_sem_post(&px.may_go);
    finish();
    check_page("read", false);
}

static void a_fetch_that_is_cancelled_while_it_reads_reports_nothing(void **state)
{
    (void)state;
    fetch_until_read();
    page_fetch_cancel(px.fetch);
    px.fetch = NULL;
    uv_sem_post(&px.may_go);
    let_pass(1);
    assert_int_equal(px.n_reports, 0);
}

/* As a worker goes: its fetches, its client, its loop, which is done by the teardown. */
static void a_loop_ends_while_a_page_is_read(void **state)
{
    (void)state;
    fetch_until_read();
    page_fetch_cancel(px.fetch);
    px.fetch = NULL;
    http_client_free(fx.client);
    fx.client = NULL;
    uv_sem_post(&px.may_go);
}

static void hold_thread(uv_work_t *work)
{
    (void)work;
    uv_sem_wait(&px.may_go);
}

static void on_thread_free(uv_work_t *work, int status)
{
    (void)status;
    work->data = work;
}

static void a_page_that_waits_for_a_thread_is_not_read_when_cancelled(void **state)
{
    uv_work_t other = {.data = NULL};
    struct peer *p;

    (void)state;
    assert_int_equal(uv_queue_work(loop_uv(fx.loop), &other, hold_thread, on_thread_free), 0);
    p = fetch_by_hand();
    peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    for (size_t said = 0; said <= LIMIT; said += strlen("waits"))
        peer_say(p, "waits");
    UNTIL(p->gone); /* enough has come, so the connection is left */
    page_fetch_cancel(px.fetch);
    px.fetch = NULL;
    uv_sem_post(&px.may_go);
    UNTIL(other.data != NULL);
    let_pass(1);
    assert_false(px.is_read);
    assert_int_equal(px.n_reports, 0);
}

#define PAGE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAGE_TEST(a_page_arrives_as_it_is),
        PAGE_TEST(nothing_personal_goes_along),
        PAGE_TEST(urls_are_sent_as_servers_take_them),
        PAGE_TEST(only_text_is_taken),
        PAGE_TEST(other_types_are_refused_by_name),
        PAGE_TEST(statuses_are_told),
        PAGE_TEST(what_cannot_be_read_is_a_failure),
        PAGE_TEST(redirects_are_followed_to_the_page),
        PAGE_TEST(a_circle_of_redirects_ends),
        PAGE_TEST(redirects_lead_to_web_pages_only),
        PAGE_TEST(each_hop_is_judged_by_the_policy),
        PAGE_TEST(each_hop_is_asked_about),
        PAGE_TEST(a_redirect_to_a_private_address_ends_there),
        PAGE_TEST(https_does_not_lead_to_http),
        PAGE_TEST(a_page_without_end_is_cut_and_left),
        PAGE_TEST(a_page_of_exactly_the_limit_is_whole),
        PAGE_TEST(lengths_that_lie_do_no_harm),
        PAGE_TEST(a_packed_page_is_unpacked),
        PAGE_TEST(a_page_that_swells_is_cut),
        PAGE_TEST(a_packed_page_that_is_too_large_is_cut),
        PAGE_TEST(a_packed_page_that_breaks_off_is_read_as_far_as_it_goes),
        PAGE_TEST(codings_that_are_damaged_or_unknown_are_failures),
        PAGE_TEST(a_slow_drip_ends_in_time),
        PAGE_TEST(time_does_not_begin_anew_with_a_redirect),
        PAGE_TEST(servers_that_do_not_answer_are_failures),
        PAGE_TEST(what_is_no_url_does_not_start),
        PAGE_TEST(a_cancelled_fetch_reports_nothing),
        PAGE_TEST(the_loop_turns_while_a_page_is_read),
        PAGE_TEST(a_fetch_that_is_cancelled_while_it_reads_reports_nothing),
        PAGE_TEST(a_loop_ends_while_a_page_is_read),
        PAGE_TEST(a_page_that_waits_for_a_thread_is_not_read_when_cancelled),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(setenv("UV_THREADPOOL_SIZE", "1", 1), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
