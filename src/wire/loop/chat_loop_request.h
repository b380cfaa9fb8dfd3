/* chat_loop_request.h -- a client's Chat Completions request when the gateway adds
 * tools of its own to it (CONTRACT 6.2).
 *
 * The body is never read into a structure and written again: what goes to the
 * upstream is the client's text, byte for byte, with a few values replaced. */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_LOOP_REQUEST_H
#define ANTIPHON_WIRE_LOOP_CHAT_LOOP_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"

/* Members that may be sent otherwise than they came. */
enum chat_loop_field {
    CHAT_LOOP_TOOLS,
    CHAT_LOOP_TOOL_CHOICE,
    CHAT_LOOP_MESSAGES,
    CHAT_LOOP_STREAM_OPTIONS,
    CHAT_LOOP_FIELDS,
};

/* Views of the body, which has to live as long. */
struct chat_loop_request {
    str body;                    /* the JSON object, without white space around it */
    str value[CHAT_LOOP_FIELDS]; /* raw; STR_NONE: not in it */
    str model;                   /* escaped, or STR_NONE */
    const str *names;            /* plain: the functions of the client, in the arena */
    size_t n_names;
    str forced; /* plain, in the arena: the one tool that has to be called, or STR_NONE */
    bool stream;
    bool include_usage; /* the client wants the usage chunk */
};

/* Reads a body; false when it has to be passed on as it came: tools would be of no use
 * (tool_choice none), there are several answers to follow (n above 1), it is not valid,
 * which is the upstream's to say, or memory is out. */
bool chat_loop_request_read(str body, struct arena *a, struct chat_loop_request *ret);

/* What one round adds. */
struct chat_loop_additions {
    str tools;           /* elements for `tools`, with commas between; not empty */
    str messages;        /* elements for `messages`, likewise; "" in the first round */
    bool is_later_round; /* a forced tool_choice has become auto (CONTRACT 1.4) */
    bool asks_for_usage; /* of a stream */
    str only;            /* plain: the one tool that is sent, for servers that cannot be told its
                            name; STR_NONE: all are sent. It has to be there */
    str choice;          /* beside only: what tool_choice is, raw */
};

void chat_loop_request_write(const struct chat_loop_request *r,
                             const struct chat_loop_additions *add, struct buf *out);

#endif
