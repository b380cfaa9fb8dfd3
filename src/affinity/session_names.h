/* session_names.h -- the name of a session that goes on under another name with each of its responses
 * (OPERATIONS 4.5).
 *
 * A chain of responses is known by the last one: each request names the response before it, and nothing else. Servers
 * that are told which session it is want to hear one name all the time, which is that of the first response. So what
 * a session was called is noted whenever its name changes.
 *
 *     r1              named r1
 *     r2 behind r1    r2 is r1
 *     r3 behind r2    r3 is what r2 is: r1
 *
 * Bounded: of names that share a place the oldest is lost, and what goes on under that is a session of its own. Names
 * are hashes that nobody can choose (affinity_session_hash()), never 0. Pure; one thread at a time. */
#ifndef ANTIPHON_AFFINITY_SESSION_NAMES_H
#define ANTIPHON_AFFINITY_SESSION_NAMES_H

#include <stdint.h>

enum { SESSION_NAMES = 65536 };

struct session_names;

/* Takes 1.5 MiB of the budget. NULL when out of memory. It is freed by session_names_free(), for which NULL is
 * fine. */
struct session_names *session_names_new(void);
void session_names_free(struct session_names *s);

/* The first name of a session: its own when nothing else is known. s: NULL knows nothing. */
uint64_t session_names_first(const struct session_names *s, uint64_t session);

/* What is called `next` from now on has had this first name. */
void session_names_note(struct session_names *s, uint64_t next, uint64_t first);

#endif
