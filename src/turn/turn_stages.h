/* turn_stages.h -- the stages of a turn, for the table in turn.c, which alone knows them all.
 * What a stage is, turn_drive.h says; arg is the turn. */
#ifndef ANTIPHON_TURN_TURN_STAGES_H
#define ANTIPHON_TURN_TURN_STAGES_H

#include "turn/turn_internal.h"

/* ---- turn_prepare.c */

/* PARSE: the client's request is read. Otherwise: it refers to nothing that has to be fetched. */
size_t turn_body_weight(const void *arg);
int turn_read_request(void *arg, struct err *reterr);
enum turn_next turn_check_request(void *arg, struct err *reterr);

/* RESOLVE: it is completed with what it refers to, and with what the gateway has run before. Otherwise:
 * no server's tools are needed, nothing has been approved then, and the client waits for the answer. A
 * warm-up ends here. */
int turn_complete_request(void *arg, struct err *reterr);
enum turn_next turn_pass_tools(void *arg, struct err *reterr);

/* ---- turn_accept.c */

/* ACCEPT: a response for the background is stored, queued, which ends the turn; or it has been queued and
 * is stored as begun, before anything is done. Otherwise: that, and no server's tools are needed. */
size_t turn_accept_weight(const void *arg);
int turn_compose_accepted(void *arg, struct err *reterr);
enum turn_next turn_accept(void *arg, struct err *reterr);

/* ---- turn_state.c */

/* LOAD: what it refers to is fetched. */
int turn_start_loading(void *arg, struct err *reterr);
enum turn_next turn_await_loaded(void *arg, struct err *reterr);

/* RECORD: the response that has ended is written down, if it is to be kept; a row of its journal that is on
 * its way arrives first. */
size_t turn_record_weight(const void *arg);
int turn_compose_record(void *arg, struct err *reterr);
enum turn_next turn_await_row(void *arg, struct err *reterr);

/* SAVE: it is stored, or its conversation is unlocked: a client that hears of the end may use that again
 * at once. */
int turn_start_saving(void *arg, struct err *reterr);
enum turn_next turn_await_saved(void *arg, struct err *reterr);

/* ---- turn_tools.c */

/* TOOLS: servers that the request names are waited for while they are just being started. */
enum turn_next turn_look_for_tools(void *arg, struct err *reterr);

/* LIST: servers that it brought are listed. */
int turn_start_listings(void *arg, struct err *reterr);
enum turn_next turn_await_listings(void *arg, struct err *reterr);

/* OFFER: the tools of all servers are known, and given to the request. */
int turn_offer_tools(void *arg, struct err *reterr);

/* ---- turn_calls.c */

/* APPROVED: what the client has approved is announced. */
enum turn_next turn_announce_approved(void *arg, struct err *reterr);

/* CALLS: what has been announced, or called by the model in this round, is run. */
size_t turn_calls_weight(const void *arg);
int turn_gather_calls(void *arg, struct err *reterr);
enum turn_next turn_run_calls(void *arg, struct err *reterr);

/* ---- turn_round.c */

/* WRITE: the conversation is written for the model. */
int turn_write_request(void *arg, struct err *reterr);

/* ASK: it is sent, or sent again. */
enum turn_next turn_ask(void *arg, struct err *reterr);

/* REWRITE: it is written as another upstream takes it. */
int turn_write_again(void *arg, struct err *reterr);

/* SHORTEN: the same with less of it, in place of what was too long. */
int turn_write_shorter(void *arg, struct err *reterr);

/* ---- turn_admit.c */

/* ROUTE: who may serve its model. */
size_t turn_route_weight(const void *arg);
int turn_look_for_model(void *arg, struct err *reterr);
enum turn_next turn_find_route(void *arg, struct err *reterr);

/* ROUTE_SUMMARY: who may serve the model that writes summaries, where that is another one than the turn's. */
enum turn_next turn_route_summary(void *arg, struct err *reterr);

/* ADMIT, ADMIT_SUMMARY: there is a place at an upstream. Otherwise: it is one that wants the request written
 * otherwise. */
enum turn_next turn_admit(void *arg, struct err *reterr);
enum turn_next turn_admit_summary(void *arg, struct err *reterr);

/* RETRY: the round is asked again, of this upstream or another. Otherwise: it is asked for less. */
enum turn_next turn_retries(void *arg, struct err *reterr);

/* ---- turn_count.c */

/* COUNT: how many tokens that is, if anything wants to know. */
size_t turn_estimate_weight(const void *arg);
int turn_estimate_written(void *arg, struct err *reterr);
enum turn_next turn_count_written(void *arg, struct err *reterr);

/* FIT: is that more than the model takes? Otherwise: it is made shorter. With clamp_output the answer
 * that is asked for is no more than there is room for. */
size_t turn_fit_weight(const void *arg);
int turn_clamp_output(void *arg, struct err *reterr);
enum turn_next turn_judge_size(void *arg, struct err *reterr);

/* ANSWER: the count is all that was asked for. */
enum turn_next turn_send_count(void *arg, struct err *reterr);

/* ---- turn_compact.c */

/* COMPACT: is it time for a summary, and is there anything to summarize? Otherwise: it is not. */
size_t turn_compact_weight(const void *arg);
int turn_begin_summary(void *arg, struct err *reterr);
enum turn_next turn_wants_summary(void *arg, struct err *reterr);

/* WRITE_SUMMARY: the question for it. */
int turn_write_summary_question(void *arg, struct err *reterr);

/* ASK_SUMMARY: it is sent. */
enum turn_next turn_ask_for_summary(void *arg, struct err *reterr);

/* ---- turn_summary.c */

/* SUMMARY: the model writes it. */
enum turn_next turn_await_summary(void *arg, struct err *reterr);

/* COMPACTED: it takes the place of the context, or has failed. Otherwise: it is asked for again. */
int turn_take_summary(void *arg, struct err *reterr);
enum turn_next turn_judge_summary(void *arg, struct err *reterr);

/* ---- turn_round_end.c */

/* ROUND: the model speaks. */
enum turn_next turn_await_round(void *arg, struct err *reterr);

/* HEAR: bytes that end a large event are read. */
size_t turn_unread_weight(const void *arg);
int turn_hear_unread(void *arg, struct err *reterr);
enum turn_next turn_send_heard(void *arg, struct err *reterr);

/* CLOSE: it has said all of this round. Otherwise: the same question is asked again. */
size_t turn_round_weight(const void *arg);
int turn_close_round(void *arg, struct err *reterr);
enum turn_next turn_judge_round(void *arg, struct err *reterr);

/* DECIDE: is it asked, or asked again? Otherwise: for a summary alone. */
enum turn_next turn_decide(void *arg, struct err *reterr);

/* ---- turn_end.c */

/* CONCLUDE: the last event, or the object, is written and sent. */
size_t turn_end_weight(const void *arg);
int turn_write_end(void *arg, struct err *reterr);
enum turn_next turn_send_end(void *arg, struct err *reterr);

#endif
