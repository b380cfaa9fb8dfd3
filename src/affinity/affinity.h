/* affinity.h -- which upstream has the beginning of which prompt in its cache, as far as it can be
 * known from what was sent there (OPERATIONS 4.5).
 *
 * Two bounded memories. A *session* is a conversation that its client names, by a cache key or by what
 * it continues: it has one upstream, the last. A *mark* is the hash of a prompt up to a boundary
 * (prefix_marks.h): it has the upstreams that saw it last, at most AFFINITY_UPSTREAMS. Both forget what
 * was not noted for ttl_ms, and the least recently noted when they are full.
 *
 * Both cost nothing before the first note, grow with use up to 22 MiB at the bounds of OPERATIONS 4.5, and
 * give all back when they are empty. Their memory is taken from the budget; when it is refused they
 * remember less, so no call can fail.
 *
 * Upstreams are small numbers of the caller's, which mean the same as long as this lives. now_ms is
 * any clock that never goes back. Pure; one thread at a time: the caller holds a lock. */
#ifndef ANTIPHON_AFFINITY_AFFINITY_H
#define ANTIPHON_AFFINITY_AFFINITY_H

#include "affinity/prefix_marks.h"

enum { AFFINITY_SESSIONS = 65536, AFFINITY_MARKS = 262144, AFFINITY_UPSTREAMS = 4 };

struct affinity;

struct affinity_conf {
    size_t max_sessions, max_marks; /* entries; 0: none are remembered */
    uint64_t ttl_ms;                /* what was not noted for so long is not known */
};

/* NULL when out of memory. It is freed by affinity_free(), for which NULL is fine. */
struct affinity *affinity_new(const struct affinity_conf *conf);
void affinity_free(struct affinity *a);

/* From the next call on, also for what has been noted. */
void affinity_set_ttl(struct affinity *a, uint64_t ttl_ms);

/* The hash by which a session is known: of whose it is, the model's name and the words that name it.
 * Never 0, which stands for no session. key: that of the marks. */
uint64_t affinity_session_hash(uint64_t key, str owner, str model, str text);

/* What keeps the marks of owners apart (`affinity_shared` false): never 0, which stands for no salt.
 * Marks that were noted with a salt are found with the same one only. */
uint64_t affinity_salt(uint64_t key, str owner);

/* What of a request is remembered. marks: in any memory of the caller's. */
struct affinity_prompt {
    uint64_t session; /* 0: none */
    uint64_t salt;    /* 0: none */
    const struct prefix_mark *marks;
    size_t n_marks;
};

/* Notes what has been sent to an upstream: its session is there from now on, and all of its marks are
 * known there. */
void affinity_note(struct affinity *a, const struct affinity_prompt *p, uint16_t upstream,
                   uint64_t now_ms);

/* The upstream of a session. False when none is known. */
bool affinity_find_session(const struct affinity *a, uint64_t session, uint64_t now_ms,
                           uint16_t *ret_upstream);

/* The upstreams that know a mark, in no order. Returns their number. */
size_t affinity_find_mark(const struct affinity *a, uint64_t salt, const struct prefix_mark *mark,
                          uint64_t now_ms, uint16_t ret_upstreams[AFFINITY_UPSTREAMS]);

/* Removes all that is known of an upstream, which was ejected or has lost its cache. Takes time for
 * each entry. */
void affinity_forget(struct affinity *a, uint16_t upstream);

/* Removes what has not been noted for ttl_ms; affinity_note() does so as well. */
void affinity_expire(struct affinity *a, uint64_t now_ms);

/* Entries of each memory, and the bytes of both. */
struct affinity_size {
    size_t n_sessions, n_marks, bytes;
};

struct affinity_size affinity_size(const struct affinity *a);

#endif
