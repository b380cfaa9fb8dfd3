/* http_client.h -- requests to upstream servers, whichever library sends them.
 *
 * One client per loop; everything here runs on that loop's thread. The hot
 * path of a turn is: start -> on_head -> on_body* -> on_end. Behind this
 * interface http:// and unix: are spoken directly, and libcurl does the rest:
 * https, proxies, URLs with a user or other rarities.
 *
 * URLs: http://, https://, and unix:/path/to.sock[:/prefix] (the request goes
 * to prefix + path over that socket). */
#ifndef ANTIPHON_HTTP_HTTP_CLIENT_H
#define ANTIPHON_HTTP_HTTP_CLIENT_H

#include "http/http_call_conf.h"

struct http_call;
struct http_client;
struct loop;

/* Makes a client; NULL when out of memory. conf is copied; loop must outlive the client. The
 * process must ignore SIGPIPE: TLS writes may raise it. */
struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf);

/* Cancels what is still running, without reports. Not from inside a report.
 * NULL is fine. */
void http_client_free(struct http_client *client);

/* The loop that the client was made for. */
struct loop *http_client_loop(const struct http_client *client);

/* True while a name is being looked up. loop_free() waits for that then, and so does exit(): what
 * hangs in the system's resolver cannot be called off. Lookups of libcurl are not counted, since it
 * leaves them behind. */
bool http_client_is_resolving(const struct http_client *client);

/* Starts a call, or returns NULL with *reterr filled (bad URL, out of memory). */
struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr);

/* Ends a call at once and frees it: its connection is closed; no further
 * report. Does nothing inside the call's own on_end. */
void http_call_cancel(struct http_call *call);

/* Back-pressure: stop and go on reading the body. While paused, no on_body is
 * reported and the idle timeout does not run. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* The phase that a call has come to, also from inside its on_end: "connecting", which is also
 * looking up the name and the handshake of TLS, "first_byte", which is waiting for the head, or
 * "answer". */
const char *http_call_phase(const struct http_call *call);

/* How long it took to connect, from inside on_head or on_end: the name and the handshake of TLS included.
 * False when the call has an older connection, or none. */
bool http_call_connect_time(const struct http_call *call, uint64_t *ret_ms);

#endif
