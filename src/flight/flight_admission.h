/* flight_admission.h -- a place for a flight at one of the upstreams that may serve it (OPERATIONS 4, 5.4).
 *
 *     flight_find_route()   the model is known: who may serve it
 *     flight_admit()        a round has been written: waits for a place
 *     the call
 *     flight_end_attempt()  it has ended: is it to be asked again? then flight_admit() once more
 *
 * On the worker's loop, but for flight_end_attempt(), which is for any thread that works on the flight. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_ADMISSION_H
#define ANTIPHON_FLIGHT_FLIGHT_ADMISSION_H

#include "flight/flight_route.h"

/* What there is to know of a round. */
struct flight_round {
    str body;                  /* of its request; lives until the attempt has ended */
    struct prefix_marks marks; /* of the body, if flight_read_prompt() has read them */
    str session;               /* what names the conversation that it goes on with, or "" */
    str session_next;          /* the same of what will go on with this; STR_NONE: the same */
    bool is_last;              /* nothing will go on with it under that name */
    bool is_later;             /* there was one before in this turn */
    bool takes_slot;           /* flight_slot() may be told with it */
};

/* What the prompt of a body is (upstream_pool_read_prompt()), of the flight's arena. */
struct prefix_marks flight_read_prompt(struct flight *f, str body);

/* Asks for a place. TURN_GO: the upstream has been taken. TURN_WAIT: the flight is woken, by its front or by
 * on_admitted, and asks again. TURN_FAIL: *reterr is filled. */
enum turn_next flight_admit(struct flight *f, const struct flight_round *round, struct err *reterr);

/* The slot of its session at the upstream where it has a place, which no other round uses; -1: it is told none. */
int flight_slot(const struct flight *f);

/* How long it has waited for places, for all rounds together. */
uint64_t flight_waited_ms(const struct flight *f);

/* How many bytes of its prompts an upstream knew that was not asked, since it was busy or had failed. */
size_t flight_cache_lost(const struct flight *f);

/* True when the upstream should learn how the next request will say the answer: only where there was a choice. */
bool flight_wants_answer(const struct flight *f);

/* Notes that the upstream of the round knows the answer, given as the message, in JSON, that the next request will have
 * (OPERATIONS 4.5 rule 6). Any thread. */
void flight_note_answer(struct flight *f, str message);

/* Might an answer with this status be followed by another attempt, if it is a failure? Then it is not passed on before
 * it is judged. */
bool flight_could_retry(const struct flight *f, int status);

/* An attempt has failed. failure: of the call, or what its answer came to; NULL: the answer's status says it. is_shown:
 * something of the round was written for the client. Returns whether it is asked again, by flight_admit(). */
bool flight_may_retry(struct flight *f, const struct err *failure, bool is_shown);

/* The error that a round is given up with tells the client when to try again. */
void flight_tell_retry(const struct flight *f, struct err *e);

/* The same in the head of an answer that is passed on, if that has a Retry-After. */
void flight_tell_retry_in_head(struct flight *f, int status, struct http_header *headers, size_t n);

/* An attempt has ended, and the round is over: gives the place back. Does nothing when there is none. */
void flight_end_attempt(struct flight *f, const struct err *failure);

#endif
