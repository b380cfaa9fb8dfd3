/* turn_file.h -- a whole turn as text.
 *
 *     What the scenario shows, in words.
 *     --- options
 *     --token-field both                    flags of the gateway, if any
 *     --- request
 *     {"model":"m","input":"hi"}            the body of POST /v1/responses
 *     --- upstream (option, option)
 *     data: {"choices":[...]}               the bytes of the upstream's answer
 *
 *     --- events
 *     response.output_text.delta {"delta":"Hi"}
 *     --- response
 *     {"status":"completed"}                of the final object
 *     --- chat
 *     {"model":"m"}                         of the JSON that goes upstream
 *     --- error
 *     {"code":"invalid_value"}              instead, when the request is refused
 *
 * Expected JSON names the members that matter; others may be there as well.
 * Events are listed from the first item to the last event; every event is
 * there. Options of `upstream`: `status N`, `retry-after N`, `ends broken`. */
#ifndef ANTIPHON_TESTS_LIB_TURN_FILE_H
#define ANTIPHON_TESTS_LIB_TURN_FILE_H

#include <stdbool.h>

#include "base/buf.h"

/* Views into bytes; a section that is not there is STR_NONE. */
struct turn_file {
    struct buf bytes;
    str words, options, request, upstream, events, response, chat, error;
    int status, retry_after_s; /* 200 and 0 unless said otherwise */
    bool ends_broken;
};

/* False when the file cannot be read or has a section or option of another
 * name; *ret_fault then says so. turn_file_fini() it either way. */
bool turn_file_read(const char *path, struct turn_file *ret, const char **ret_fault);
void turn_file_fini(struct turn_file *t);

/* Takes the first line off *text, without its line end. */
str turn_file_line(str *text);

#endif
