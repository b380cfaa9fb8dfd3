/* curl_pump.h -- libcurl's multi interface driven by our loop.
 *
 * libcurl tells which sockets to watch and when it wants to be woken; this
 * feeds it both. What a transfer means is client_curl.c's business.
 *
 * libcurl calls back from inside its own functions, and while it does, most of
 * them must not be called: curl_pump_is_inside() tells, and on_settled is the
 * moment after. */
#ifndef ANTIPHON_HTTP_CURL_PUMP_H
#define ANTIPHON_HTTP_CURL_PUMP_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

struct curl_pump;
struct loop;

struct curl_pump_handler {
    /* libcurl has been left: what had to wait may be done now. */
    void (*on_settled)(void *arg);
    /* A transfer has ended. It must be removed; others may be, too. */
    void (*on_done)(void *arg, CURL *easy, CURLcode result);
};

/* Makes a pump; NULL when out of memory. */
struct curl_pump *curl_pump_new(struct loop *loop, const struct curl_pump_handler *handler,
                                void *arg);

/* Frees a pump whose transfers have all been removed. NULL is fine. */
void curl_pump_free(struct curl_pump *pump);

bool curl_pump_is_inside(const struct curl_pump *pump);

/* Add or remove a transfer; only from outside. Removing one that has not ended closes its
 * connection. */
bool curl_pump_add(struct curl_pump *pump, CURL *easy);
void curl_pump_remove(struct curl_pump *pump, CURL *easy);

/* Resumes a transfer; only from outside. Hands over held back bytes at once, through the transfer's
 * write callback. */
void curl_pump_unpause(struct curl_pump *pump, CURL *easy);

/* Sets how many connections are kept, busy and idle ones together. */
void curl_pump_keep(struct curl_pump *pump, size_t n_connections);

#endif
