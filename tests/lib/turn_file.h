/* turn_file.h -- a whole turn as text.
 *
 *     What the scenario shows, in words.
 *     --- options
 *     --token-field both                    flags of the gateway, if any
 *     --- request
 *     {"model":"m","input":"hi"}            the body of POST /v1/responses
 *     --- tools                             what the gateway runs; see hosted_script.h
 *     --- sources                           what can be cited; there are no citations without it
 *     --- before                            the first round: listings, approved calls
 *     --- upstream (option, option)
 *     data: {"choices":[...]}               the bytes of the upstream's answer
 *
 *     --- outcomes                          of the calls in it; then upstream and outcomes of the
 *                                           next round, if there is one
 *     --- events
 *     response.output_text.delta {"delta":"Hi"}
 *     --- stream
 *     mcp_call.sse                          of the reference streams: the same events, but for
 *                                           ids, times and what repeats the request
 *     --- response
 *     {"status":"completed"}                of the final object
 *     --- chat
 *     {"model":"m"}                         of the JSON that goes upstream
 *     --- error
 *     {"code":"invalid_value"}              instead, when the request is refused
 *
 * Expected JSON names the members that matter; others may be there as well.
 * Events are listed from the first item to the last event; every event is
 * there. Options of `upstream`: `status N`, `retry-after N`, `ends broken`, and `last` when the
 * loop ends with this round. */
#ifndef ANTIPHON_TESTS_LIB_TURN_FILE_H
#define ANTIPHON_TESTS_LIB_TURN_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lib/hosted_script.h"

/* Views into bytes; a section that is not there is STR_NONE. */
struct turn_file {
    struct buf bytes;
    str words, options, request, events, stream, response, chat, error;
    struct hosted_script script; /* its first round is there when the upstream is asked */
    int status, retry_after_s;   /* 200 and 0 unless said otherwise */
    bool ends_broken;
};

/* False when the file cannot be read or has a section or option of another
 * name; *ret_fault then says so. turn_file_fini() it either way. */
bool turn_file_read(const char *path, struct turn_file *ret, const char **ret_fault);
void turn_file_fini(struct turn_file *t);

/* Takes the first line off *text, without its line end. */
str turn_file_line(str *text);

#endif
