/* upstreams.h -- the table of upstreams of the running gateway: loaded at the start, and again when its file, the
 * configuration or a file with a key has changed. On the main thread. */
#ifndef ANTIPHON_DAEMON_UPSTREAMS_H
#define ANTIPHON_DAEMON_UPSTREAMS_H

#include "base/err.h"

struct server;
struct settings;

/* Opens the demo model where there is no upstream, the pool and the first table. Returns 0, or -1 with *reterr
 * filled. */
int upstreams_open(struct server *s, struct err *reterr);
void upstreams_close(struct server *s);

/* Is there a file of them? */
bool upstreams_are_in_file(const struct server *s);

/* The file has been read again: all workers have what is new. Returns false when all stays as it is, for a reason
 * that was logged. */
bool upstreams_read(struct server *s);

/* The upstreams under another configuration, with the file as it was read last. Returns 0, or -1 when they cannot be
 * had, for a reason that was logged. */
int upstreams_set(struct server *s, struct settings *now);

#endif
