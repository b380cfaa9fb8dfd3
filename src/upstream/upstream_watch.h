/* upstream_watch.h -- what the upstream is: found out once for all workers, and again when it has
 * changed.
 *
 *     nothing known --(start, or a turn)--> asking --> known --(lost, other answers, old)--> asking
 *
 * The upstream is asked on the main thread's loop. A turn that comes while nothing is known, or
 * after the upstream was lost, waits for the outcome, no longer than upstream_probe_timeout; what was
 * asked in vain is not asked again at once, and turns then go on without. Turns also report what
 * they hear, so that a server that was put in the place of another is noticed.
 *
 * What is known is old after models_refresh (CONTRACT 15.1): the next turn has the upstream asked
 * again, and goes on with the old, unless nobody has wanted to know for so long. One of several is asked as
 * soon as it is so old, since what it lists says which requests come to it (OPERATIONS 4.3); its last list stays when
 * it does not answer with another. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_WATCH_H
#define ANTIPHON_UPSTREAM_UPSTREAM_WATCH_H

#include "base/header.h"
#include "config/config.h"
#include "ev/loop.h"
#include "upstream/upstream_facts.h"

struct http_client;
struct loop;
struct upstream_watch;

struct upstream_watch_conf {
    const struct config *config;          /* what holds for the upstream; of no use afterwards */
    str name, base;                       /* as in upstream_table.h; they outlive the watch */
    str authorization;                    /* the same; for upstream_watch_look() */
    const char *client_cert, *client_key; /* the same; NULL: none */
    bool is_alone; /* the only upstream: nobody else tells when it is gone and when it is back, and
                    * its list of models is not kept */
};

/* On the loop's thread, the main one. Asks nothing before upstream_watch_begin(). NULL with *reterr filled. */
struct upstream_watch *upstream_watch_new(struct loop *loop, const struct upstream_watch_conf *conf,
                                          struct err *reterr);

/* Before upstream_watch_begin(), or when the loop has stopped. NULL is fine. */
void upstream_watch_free(struct upstream_watch *w);

/* Asks the upstream at once, the first time; one of several is also asked by itself whenever what is known is old. The
 * key, which is copied, is used from now on. On the loop's thread. */
void upstream_watch_begin(struct upstream_watch *w, str authorization);

/* No table has the upstream any more: it is asked only for turns that still go there. On the loop's thread. */
void upstream_watch_rest(struct upstream_watch *w);

/* As http_client_is_resolving(). */
bool upstream_watch_is_resolving(const struct upstream_watch *w);

/* ---- any thread; NULL is fine for the watch: then nothing is ever known */

/* The facts as they are known now: a reference, or NULL. */
struct upstream_facts *upstream_watch_facts(struct upstream_watch *w);

struct upstream_waiter {
    struct loop *loop;
    struct loop_message known;
    struct upstream_waiter *next; /* the watch's own */
};

/* Must the caller wait? Then the message is posted to the loop once, when more is known or nothing
 * could be found out; the waiter waits for one thing at a time. Neither it nor the loop may be freed
 * before the watch's own loop has stopped. */
bool upstream_watch_await(struct upstream_watch *w, struct upstream_waiter *waiter);

/* The same for its list of models (upstream_facts.list): while there is none, or, with wants_new, one that is not
 * of the last 5 s. It is asked for once in that time. waiter: NULL for who does not wait. */
bool upstream_watch_await_list(struct upstream_watch *w, bool wants_new,
                               struct upstream_waiter *waiter);

/* The head of an answer has come to a turn with these facts, NULL while there are none. */
void upstream_watch_hear_head(struct upstream_watch *w, const struct upstream_facts *facts,
                              const struct http_header *headers, size_t n_headers);

/* The first bytes of an answer's body. */
void upstream_watch_hear_body(struct upstream_watch *w, const struct upstream_facts *facts,
                              str bytes);

/* An answer, an error among them, says that no more than this fits into the model that the upstream
 * knows by this name. It counts, if it is less than what is known, until the upstream is asked
 * again. */
void upstream_watch_learn_window(struct upstream_watch *w, str model, int64_t window);

/* By what is known, a request is too long to be sent: is that still so? The upstream may have been started
 * anew with more room, which nobody hears of who sends it nothing. */
void upstream_watch_doubt_window(struct upstream_watch *w);

/* A model begins to answer: what was not known of it while it was not loaded, may be now. */
void upstream_watch_hear_model(struct upstream_watch *w, const struct upstream_facts *facts,
                               str model);

/* The upstream's list of models, as a client has just got it. */
void upstream_watch_hear_models(struct upstream_watch *w, const struct upstream_facts *facts,
                                const struct upstream_models *models);

/* The upstream could not be reached, or broke off. */
void upstream_watch_lose(struct upstream_watch *w);

enum upstream_state {
    UPSTREAM_UNHEARD, /* it was not asked yet, or is never asked by itself */
    UPSTREAM_UP,
    UPSTREAM_DOWN, /* it could not be reached when it was tried last */
};

/* At once. NULL, the demo, is up. */
enum upstream_state upstream_watch_state(const struct upstream_watch *w);

/* A call to it has ended: failure is NULL, or what went wrong. */
void upstream_watch_hear_end(struct upstream_watch *w, const struct err *failure);

/* For operators: what became of the calls to it, and since when it has the state that it has. */
enum { UPSTREAM_SAID_BYTES = 256 };
struct upstream_tally {
    uint64_t n_calls, n_failed; /* calls that were begun, and that broke off or could not be made */
    int64_t since_s;            /* of the state; seconds since 1970; 0: it was never tried */
    int64_t last_error_s;       /* 0: none was yet, and last_error is "" */
    char last_error[UPSTREAM_SAID_BYTES]; /* in words of ours */
};

/* A call to it begins. */
void upstream_watch_hear_call(struct upstream_watch *w);

/* At once. NULL: all is 0. */
void upstream_watch_tally(struct upstream_watch *w, struct upstream_tally *ret);

/* ---- for --check-config, and for what the configuration says alone */

/* What the URL or the configuration say, without asking. */
struct upstream_finding upstream_watch_told(const struct config *config, str base);

/* Asks once, on a loop of its own, an upstream that has no name yet. A reference; NULL when it does not answer, or is
 * not to be asked. */
struct upstream_facts *upstream_watch_look(const struct upstream_watch_conf *of);

#endif
