/* flight_limits.h -- what a flight takes of its caller's limits, until its answer is over (OPERATIONS 5.1, 5.3).
 *
 * Callers are names, or client addresses where no keys are asked for. A flight asks once, when its model is
 * known, in the order: model, requests, tokens, concurrency; what refuses it says why, and leaves a line
 * `rejected` in the log. What was taken is given back once, with the tokens that it has really cost, by
 * whatever ends the flight (flight_give_back()).
 *
 * Loop's thread. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_LIMITS_H
#define ANTIPHON_FLIGHT_FLIGHT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/rate_table.h"
#include "base/str.h"

struct caller;
struct err;
struct flight;
struct http_exchange;
struct http_request;
struct usage;
struct worker;

/* The limits of whoever asks, those of the configuration where its name has no setting. */
struct rate_limits flight_limits_of(const struct worker *w, const struct caller *c);

/* Whose limits they are: the owner, or the client's address, which lives as long as the flight. */
str flight_limits_user(struct flight *f);

/* May the caller ask for this model, by its plain name in the request? Returns 0, or -1 with *reterr filled:
 * 404, as for one that is not there. */
int flight_limits_check_model(struct flight *f, str model, struct err *reterr);

/* Takes one request of its body_bytes. Returns 0, or -1 with *reterr filled: 429, and then nothing was taken. */
int flight_limits_admit(struct flight *f, struct err *reterr);

/* The same for work that another flight has been admitted for. */
void flight_limits_join(struct flight *f);

/* The work goes on in another flight, which will join: what was taken for its tokens stays taken. */
void flight_limits_hand_over(struct flight *f);

/* The tokens that all of it has cost until now. */
void flight_limits_note_usage(struct flight *f, const struct usage *usage);

/* True when the caller has a limit of tokens. */
bool flight_limits_count_tokens(const struct flight *f);

/* Tells the client of a request, before anything is done for it, what there is of its limits, in headers of
 * whatever answer it gets; nothing where it has none, or the path tells none. */
void flight_limits_tell(const struct worker *w, struct http_exchange *x,
                        const struct http_request *r, const struct caller *caller);

#endif
