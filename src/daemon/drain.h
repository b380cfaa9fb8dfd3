/* drain.h -- the gateway stops taking requests: for good, or until that is taken back
 * (OPERATIONS 7.3).
 *
 *     SERVING --begin--> LEAVING --drain_delay--> DRAINED or ENDING
 *        ^                  |                        |
 *        '----take back-----'------------------------'  unless it is for good
 *
 * LEAVING accepts requests while GET /ready says 503, so that whoever sends them can notice. Then the
 * addresses are closed, what runs has drain_timeout, and what is left fails. All on the main loop;
 * admin routes ask through flight/life.h, from any thread. */
#ifndef ANTIPHON_DAEMON_DRAIN_H
#define ANTIPHON_DAEMON_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct drain;
struct server;

struct drain *drain_new(struct server *s, struct err *reterr);
void drain_free(struct drain *d); /* NULL is fine */

/* Begins a drain that stays with the process, or takes it back, as POST and DELETE /admin/drain do:
 * soon, from any thread. */
void drain_ask(struct drain *d, bool begins);

/* Drains for good: the main loop ends with the last worker. */
void drain_to_end(struct drain *d);

/* Drains for good and at once, when another process listens on the sockets: who is connected here may
 * send another request, which is the last of its connection. */
void drain_hand_over(struct drain *d);

/* What is left of drain_timeout. */
uint64_t drain_left_ms(const struct drain *d);

/* True from drain_to_end() on. */
bool drain_is_to_end(const struct drain *d);

#endif
