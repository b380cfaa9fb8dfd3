/* request_fields.h -- the fields of the request while they are read and checked.
 *
 * responses_request.c reads and ties things together, request_check.c holds the
 * limits and enums, request_configuration.c what input items say of how the model
 * is to answer, request_resolve.c what may have to wait for the store. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_FIELDS_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_FIELDS_H

#include "wire/request/responses_request.h"

struct request_fields {
    struct responses_request r;
    /* raw values of which r keeps only the meaning */
    str stream, store, background, stream_options, include_obfuscation, conversation;
    str max_output_tokens, max_tool_calls, top_logprobs;
    str text, format, reasoning, generate_summary, include, prompt;
    str context_management;
    str personality, cache_options;
    str without_effect;
    str generate;              /* of a message */
    str previous_responses_id; /* a misspelling of previous_response_id that clients send */
};

/* How the model is to answer: text and reasoning, which stand at parent, in->text and in->reasoning.
 * Their types, then what must be there, then what they may be. */
int request_read_answer(struct request_fields *in, const struct path *parent, struct err *reterr);
int request_require_format(const struct request_fields *in, const struct path *parent,
                           struct err *reterr);
int request_check_answer(const struct request_fields *in, const struct path *parent,
                         struct err *reterr);

/* What configuration_update items of the context say holds unless the request, or a later one of
 * them, says otherwise (CONTRACT 2.1). Those of `input` are checked; of what came before, one that
 * is wrong is passed over. To be called again when the history is there. */
int request_configure(struct responses_request *r, struct err *reterr);

/* Types inside of `include` and `metadata`. */
int request_check_types(const struct request_fields *in, struct err *reterr);

/* Enums and limits; notes in in->r what `include` asks for and the integers. */
int request_check_values(struct request_fields *in, struct err *reterr);

/* context_management, raw: its types alone, then its values. Both take STR_NONE for nothing. */
int request_check_management_types(str raw, struct err *reterr);
int request_read_management(str raw, struct context_management *ret, struct err *reterr);

/* Tools and tool_choice, from r's items and raw values. While r needs the store or
 * tools of MCP servers the choice may name tools that are not there yet. */
int request_read_tools(struct responses_request *r, const struct responses_request_options *options,
                       const struct id_source *ids, struct arena *a, struct err *reterr);

/* Takes a compaction_trigger out of the items, which are those of `input`, and notes it in
 * r->has_trigger; in request_compact.c, as what follows. Returns 0, or -1 with *reterr filled. */
int request_take_trigger(struct responses_request *r, struct err *reterr);

/* The items are complete: refuses a trigger with nothing before it, and reads compaction items
 * back. */
int request_read_back(struct responses_request *r, const struct responses_request_options *options,
                      const struct id_source *ids, struct arena *a, struct err *reterr);

/* What a request names besides items of the store must exist. Tools of MCP servers
 * do not while it needs them. */
int request_look_up(struct responses_request *r, const struct id_source *ids, struct arena *a,
                    struct err *reterr);

#endif
