/* tls_listener.h -- TLS of the listeners with +tls: what the configuration says of it, and the clock
 * that it is looked after by. Main thread, where nothing else is said. */
#ifndef ANTIPHON_DAEMON_TLS_LISTENER_H
#define ANTIPHON_DAEMON_TLS_LISTENER_H

#include "config/config.h"
#include "ev/loop.h"
#include "metrics/metrics_page.h"
#include "tls/tls_files.h"

struct tls_listener;

/* Reads the certificates, when there are any. False when they cannot be used: that is among the
 * problems then, and that others may read a key is a warning. */
bool tls_listener_check(const struct config *c, struct config_problems *problems);

/* *ret is NULL when there are no certificates. Returns 0, or -1 with *reterr filled. */
int tls_listener_open(struct loop *loop, const struct config *c, struct tls_listener **ret,
                      struct err *reterr);

/* When all connections are closed, and before the loop. NULL is fine. */
void tls_listener_free(struct tls_listener *t);

/* What connections take their certificates from, and metrics their numbers. NULL for NULL. */
struct tls_files *tls_listener_files(const struct tls_listener *t);

/* Tells when the certificates in use expire: a source of the page of metrics, whose arg is the listener.
 * Any thread. */
void tls_listener_tell(void *arg, struct metrics_page *page);

/* SIGHUP: reads the certificates again (tls_files_reload()), and logs what came of it. False when all
 * stays as it was. */
bool tls_listener_reload(struct tls_listener *t);

#endif
