/* response_hosted.h -- tools that the gateway runs, as items of a response (CONTRACT 1.5, 3.1, 4.3;
 * MCP 11.6 to 12.6, 15.2, 15.3; HARMONY 3).
 *
 * A response may take several rounds:
 *
 *     response_start
 *     for each server that has to be listed: response_begin_listing, response_end_listing
 *     for each call that was approved:   response_approved_call, response_call_ended
 *     round: response_begin_round, response_delta*, response_end_round
 *         for each response_next_call: run it, response_call_ended      in any order
 *         if response_goes_on: response_replay, the next round
 *         if response_lacks_answer: the same messages again, in a round without calls
 *     response_finish, response_end
 *
 * A call of a server tool becomes an mcp_call when the model begins it, and stays open until
 * response_call_ended(). A call of a hosted tool (conv/hosted.def) becomes an item of its own type and
 * stays open as well, whether the model calls a function for it or a tool that it has by itself, python
 * or a browser. One that is shown whole is announced when all of it is known, and has failed already
 * when its arguments are of no use. What a search for tools has found is an item behind its call; such
 * a search is no call of those that max_tool_calls counts (CONTRACT 1.9).
 *
 * However they are run, the events of what comes behind one wait until it has ended
 * (response_order.c).
 *
 * A call of an MCP tool that needs an approval becomes an mcp_approval_request once it is
 * complete, and the response ends with this round. Beyond max_tool_calls all calls become hidden
 * items: the model is told, the client sees nothing. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_HOSTED_H
#define ANTIPHON_RESPONSE_RESPONSE_HOSTED_H

#include "conv/item.h"
#include "response/response.h"

/* A listing is announced: output_item.added, mcp_list_tools.in_progress. server_label is
 * escaped and lives as long as the response. NULL when out of memory or output. */
struct output_item *response_begin_listing(struct response *r, str server_label, struct buf *out);

/* tools: elements of an array without its brackets. */
bool response_end_listing(struct response *r, struct output_item *item, str tools, struct buf *out);

/* error is escaped. The response fails next, by response_fail(). */
bool response_fail_listing(struct response *r, struct output_item *item, str error,
                           struct buf *out);

/* A call that the client has approved is announced with its arguments (escaped text; it and the
 * id live as long as the response). NULL when out of memory or output. */
struct output_item *response_approved_call(struct response *r, const struct tool *tool,
                                           str arguments, str approval_request_id, struct buf *out);

/* The upstream has said all of this round. Closes what it said; calls that are to be run stay
 * open. After FINISH_LENGTH and FINISH_CONTENT_FILTER nothing is run: cut calls are incomplete. */
void response_end_round(struct response *r, enum finish finish, struct buf *out);

/* The calls that are open, in the order in which the model made them: the one after `last`, or
 * the first when that is NULL. NULL: no more. What to run:
 *
 *     mcp_call                item->tool, arguments in item->text; tool NULL: the request has no
 *                             such tool, the model made it up, and the call can only fail
 *     code_interpreter_call   item->tool, the code in item->text, which may be empty or blank
 *     web_search_call and all others that are shown whole
 *                             item->tool, item->arguments as a function would have them, also when
 *                             the model has used its browser
 *
 * item->tool of hosted tools is NULL when the request has no such tool.
 */
struct output_item *response_next_call(const struct response *r, const struct output_item *last);

/* What a call came to. A view that is not read need not be set. */
struct hosted_outcome {
    bool is_failed;
    str output;  /* escaped; what the model is told. An mcp_call that failed has an error instead */
    str error;   /* of an mcp_call that failed: raw JSON, a text or an object */
    str outputs; /* of a code_interpreter_call, for the client: raw array, or STR_NONE for null. It
                    is only shown when the client has asked for it */
    str tools;   /* of a tool_search_call: the elements of the array of what it has found, raw */
    str shown;   /* of a hosted tool whose calls are shown whole, when it did not fail: raw, what it
                    was announced with and what was found; STR_NONE: no more than that */
};

/* Closes it: mcp_call.completed or .failed and their like, output_item.done. False past the limit
 * of the output or without memory, like response_delta(). */
bool response_call_ended(struct response *r, struct output_item *item,
                         const struct hosted_outcome *outcome, struct buf *out);

/* After a round, all calls have ended: is the model to be asked again? Not when it called a tool
 * of the client, waits for an approval, or called nothing. */
bool response_goes_on(const struct response *r);

/* Has the model used up its calls (max_tool_calls)? The next round is then the last. */
bool response_has_used_up(const struct response *r);

/* What the model may say in the next round; without this call, what it might in the one before.
 * What was withheld in that is forgotten if the answer is still lacking. */
void response_begin_round(struct response *r, const struct response_plan *plan);

/* After a round that withheld its text: has the model nothing left to call, so that it is now to be
 * asked for its answer? What it said is shown if the response is finished instead. */
bool response_lacks_answer(const struct response *r);

/* The next round is the last: what it calls is dropped. If it says nothing besides, the response
 * is incomplete, for max_tool_calls. */
void response_begin_last_round(struct response *r);

/* Appends what was added to the output since the last time as the input items that it would be
 * in the next request, hidden ones included: each call with the name the model knows, open or
 * cut ones not. Returns 0, or -1 with *reterr filled. */
int response_replay(struct response *r, const struct input_options *o, struct item_list *items,
                    struct arena *a, struct err *reterr);

/* Bytes of what the last round has said, when it has called nothing; else 0. */
size_t response_answer_bytes(const struct response *r);

/* The same items as response_replay(), which may be read again. */
int response_read_answer(const struct response *r, const struct input_options *o,
                         struct item_list *items, struct arena *a, struct err *reterr);

#endif
