/* request_compact.h -- compaction, as far as it is a matter of requests (CONTRACT 13).
 *
 *     responses_request_parse, request_resolve      compaction items are read back, and has_trigger
 *                                                   says that the client asks for a summary
 *     compact_question_write, request_compact_ask   the request whose answer is the summary
 *     compact_item_seal, request_compact_replace    the next round goes on from the summary */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_COMPACT_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_COMPACT_H

#include "wire/request/responses_request.h"

struct request_compact_call {
    str question;       /* plain (compact_question.h) */
    int64_t max_tokens; /* of the summary */
    bool omits_tools;   /* compaction_tools=omit, or the answer before was a call */
};

/* The request for the summary: *r, which is complete, with the question behind its items, and
 * without what has no say in a summary (CONTRACT 13.2). It shares what r points to; r itself stays as
 * it is. Returns 0, or -1 when out of memory. */
int request_compact_ask(const struct responses_request *r, const struct request_compact_call *call,
                        struct arena *a, struct responses_request *ret, struct err *reterr);

/* The items of r, which is complete, become what the item with this encrypted_content (plain) says,
 * as they will when a client sends it back. Returns 0, or -1 with *reterr filled; then r is as it
 * was. */
int request_compact_replace(struct responses_request *r, str encrypted_content,
                            const struct responses_request_options *options,
                            const struct id_source *ids, struct arena *a, struct err *reterr);

#endif
