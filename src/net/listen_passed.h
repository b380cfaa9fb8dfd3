/* listen_passed.h -- sockets that listen already when the process starts (OPERATIONS 7.4, 7.5).
 *
 * A service manager passes descriptors from 3 on: LISTEN_FDS says how many, LISTEN_FDNAMES how they are
 * called, with colons between. A gateway that is replaced passes its own in ANTIPHON_LISTEN_FDS:
 *
 *     3                                 where to report what has come of the start
 *     4,5=127.0.0.1:8080                one line for each address: descriptors, and its text
 *     6=fd:api
 */
#ifndef ANTIPHON_NET_LISTEN_PASSED_H
#define ANTIPHON_NET_LISTEN_PASSED_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define LISTEN_PASSED_VARIABLE "ANTIPHON_LISTEN_FDS"

struct listen_passed {
    const char *address; /* as in `listen`, without marks: "fd:NAME" of a service manager's */
    int fd;
};

struct listen_passed_list {
    struct listen_passed *v; /* one for each descriptor; those of an address may be many */
    size_t n;
    int report_fd; /* -1: nobody waits for a report */
};

/* Read what the variables say; texts and list are in the arena. NULL names are "unknown". Returns 0, or -1
 * with *reterr filled. Pure. */
int listen_passed_read_manager(const char *count, const char *names, struct arena *a,
                               struct listen_passed_list *ret, struct err *reterr);
int listen_passed_read_upgrade(const char *text, struct arena *a, struct listen_passed_list *ret,
                               struct err *reterr);

/* Appends the text that is read as this list. Pure. */
void listen_passed_write(const struct listen_passed_list *list, struct buf *out);

/* Is each a socket that listens for streams? Makes them private to this process, and such that nobody
 * waits for them. Returns 0, or -1 with *reterr filled. */
int listen_passed_check(const struct listen_passed_list *list, struct err *reterr);

#endif
