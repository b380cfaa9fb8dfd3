/* item.h -- the items of `input`, reduced to what a chat message needs.
 *
 * Many item types say the same thing in different words: a function_call, a
 * custom_tool_call and a local_shell_call are all a call with a name and an
 * argument text. Parsing (CONTRACT 2.1) ends these differences; order and
 * repair are conversation.h's. All str are views of the request or of the
 * turn's arena. */
#ifndef ANTIPHON_CONV_ITEM_H
#define ANTIPHON_CONV_ITEM_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "conv/content.h"

enum item_kind {
    ITEM_MESSAGE,           /* role, content */
    ITEM_REASONING,         /* content: the text, may be empty */
    ITEM_CALL,              /* call_id, name, arguments */
    ITEM_OUTPUT,            /* call_id, content; name when the client gave one, arguments */
    ITEM_HOSTED_CALL,       /* a call that carries its output; has_output, content */
    ITEM_REFERENCE,         /* id of a stored item */
    ITEM_APPROVAL_RESPONSE, /* id of the approval request it answers */
    ITEM_ADDITIONAL_TOOLS,  /* tools */
    ITEM_IGNORED,           /* nothing for the model */
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

struct item {
    enum item_kind kind;
    enum role role;
    size_t index; /* in `input`, for messages */
    str id;       /* escaped, STR_NONE when not given */
    str call_id;  /* escaped, never empty in calls and outputs: made up when the client gave none */
    str name;     /* upstream name, plain; STR_NONE in an output without one */
    str arguments; /* escaped JSON text */
    str tools;     /* raw array */
    struct content content;
    bool has_output;
    struct item *next;
};

struct item_list {
    struct item *first, *last;
    size_t n, n_ignored;
};

/* input is the raw value of the request's field: a string is one user message,
 * an array holds items. It must be valid JSON. A call without an id gets one
 * from ids. */
int item_list_parse(str input, const struct input_options *o, const struct id_source *ids,
                    struct arena *a, struct item_list *ret, struct err *reterr);

#endif
