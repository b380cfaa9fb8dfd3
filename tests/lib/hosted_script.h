/* hosted_script.h -- the gateway's tools, which do in a test what they were told before.
 *
 * All parts are lines of JSON:
 *
 *     tools      {"server_label":"docs","name":"search","needs_approval":true}
 *                {"type":"code_interpreter"} or {"type":"web_search"}; "not_allowed":true with
 *                each: there are allowed_tools, without it
 *     before     {"list":"docs","tools":[...]}   or "error":"..." in place of its tools
 *                {"approved":"search","arguments":"{}","approval_request_id":"mcpr_1",
 *                 "output":"..."}                or "error"
 *     outcomes   {"call":1,"output":"..."}       or "error": any JSON, which is for the client
 *                                                only if the call is one of MCP
 *                with "outputs":[...] of code, "action":{...} of a search
 *                {"compaction":"gw1.AA","input_tokens":1,"output_tokens":2}   as the last line, also of
 *                                                before: a summary takes the place of all that was said
 *     sources    {"cursor":3,"url":"...","title":"..."}   what can be cited
 *
 * "call" counts the calls that are open after a round, from 0; the lines are in the order in
 * which the calls end. Calls without a line end after the others, the last one first; some of
 * them fail. A tool is known to the model by its name. */
#ifndef ANTIPHON_TESTS_LIB_HOSTED_SCRIPT_H
#define ANTIPHON_TESTS_LIB_HOSTED_SCRIPT_H

#include "response/response.h"

enum { MAX_SCRIPT_ROUNDS = 8 };

struct script_round {
    str upstream; /* the bytes of the answer */
    str outcomes;
    bool is_last; /* the loop ends with this round, whatever it calls */
};

struct hosted_script {
    str tools, before, sources; /* STR_NONE: none */
    struct script_round rounds[MAX_SCRIPT_ROUNDS];
    size_t n_rounds;
};

/* Adds the script's tools to the set. */
void hosted_script_add_tools(const struct hosted_script *script, struct tool_set *set,
                             struct arena *a);

/* What a marker means by the script's sources. */
bool hosted_script_source(const struct hosted_script *script, const struct cite_marker *marker,
                          struct citation *ret);

/* What happens before the first round, and to the calls of one. What is kept for the response
 * comes from a. False: the response has failed. */
bool hosted_script_begin(const struct hosted_script *script, struct response *r, struct arena *a,
                         struct buf *out);
bool hosted_script_play(str outcomes, struct response *r, struct arena *a, struct buf *out);

#endif
