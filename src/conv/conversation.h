/* conversation.h -- items into the order a Chat Completions server accepts.
 *
 * Responses items are a flat log: a call, its output and the reasoning before
 * it are items of their own, in almost any order. Chat messages are turns: one
 * assistant message holds text, reasoning and all calls, and its tool messages
 * follow it directly. Assembly makes one from the other and repairs what is
 * missing (CONTRACT 2.4, 2.5). The time is linear in the number of items. */
#ifndef ANTIPHON_CONV_CONVERSATION_H
#define ANTIPHON_CONV_CONVERSATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "conv/item.h"

/* The parts of an assistant message are kept by kind; their places tell in which order they came. */
struct call {
    str server_label, tool_name;  /* escaped, of a tool of an MCP server; else STR_NONE */
    enum hosted_kind hosted_kind; /* whatever its name is */
    str id;                       /* escaped, as the upstream knows it */
    str item_id;                  /* escaped: of a hosted call, as clients know it; or STR_NONE */
    str name;                     /* plain, as the upstream knows it */
    str arguments;                /* escaped JSON text */
    str upstream_arguments;       /* the same as the upstream wrote it; else STR_NONE or empty */
    const struct content *output; /* NULL when the client never sent one */
    bool open;                    /* still to be run: no tool message follows */
    bool is_cut_off;              /* it ended before the model had said all of it */
    bool is_broken;               /* it has an output, but its arguments are no JSON object */
    bool is_approved;             /* the client was asked before the gateway ran it */
    bool is_declined;             /* the client was asked, and said no */
    unsigned place;               /* among all parts of its message */
    const struct message *owner;
    struct call *next;
};

/* A call's arguments as the upstream is to read them. */
static inline str call_written_arguments(const struct call *c)
{
    return c->upstream_arguments.len > 0 ? c->upstream_arguments : c->arguments;
}

/* The id by which clients send a call back. */
static inline str call_shown_id(const struct call *c)
{
    return c->item_id.len > 0 ? c->item_id : c->id;
}

/* One content of several: texts of a message, pieces of its reasoning. */
struct piece {
    const struct content *content;
    enum phase phase; /* of a text of the assistant */
    bool is_summary;  /* of reasoning: no more than that is known of it */
    unsigned place;   /* among all parts of its message */
    struct piece *next;
};

struct pieces {
    struct piece *first, *last;
};

struct message {
    enum role role;
    const struct content *content; /* of a system or user message */
    bool media_only; /* of the content only images, files and audio: a tool sent them */
    struct pieces texts, reasoning; /* of an assistant message */
    struct call *first_call, *last_call;
    bool has_hosted_call;
    bool is_own_summary; /* of what stood before: it stays when less is sent */
    struct message *next;
};

/* What trim.h has left out of the beginning of the body. */
struct left_out {
    size_t n;      /* messages */
    size_t weight; /* see conversation_weight() */
    uint64_t mark; /* what they say, as a hash: of another conversation it is another one */
};

/* What had to be changed of a history so that a server takes it. */
enum history_repair {
#define HISTORY_REPAIR(symbol, name, what) HISTORY_REPAIR_##symbol,
#include "conv/history_repair.def"
    HISTORY_REPAIR_KINDS,
};

struct history_repairs {
    unsigned n;
    unsigned of[HISTORY_REPAIR_KINDS];
    const char *last; /* what the last was; NULL: there was none */
};

void history_repairs_add(struct history_repairs *r, unsigned n, enum history_repair kind);

/* The name of a kind, for the log. */
const char *history_repair_name(enum history_repair kind);

struct conversation {
    str instructions;      /* escaped, STR_NONE when there are none */
    struct message *first; /* system messages from here up to body are one */
    struct message *body;
    struct left_out left_out;
    bool is_unfinished; /* it ends with a text of the assistant that was cut off */
    struct history_repairs repairs;
};

/* Where the reasoning before a call may be known that the client did not send
 * back (CONTRACT 2.4). find puts it, escaped, into the arena. */
struct reasoning_source {
    bool (*find)(void *arg, const struct call *c, struct arena *a, str *ret);
    void *arg;
};

/* Zeroed: nothing is held by the gateway. */
struct conversation_context {
    /* The items before these are, so an output without its call is the client's
     * mistake (CONTRACT 2.5 rule 4). */
    bool is_stateful;
    const struct reasoning_source *reasoning; /* NULL: there is none */
    /* Leave out the reasoning before and of the last answer, that is all but the chain of tool
     * calls that is still open (HARMONY 2.1). */
    bool open_reasoning_only;
};

/* The items and *ret share the arena. */
int conversation_build(const struct item_list *items, str instructions,
                       const struct conversation_context *context, const struct id_source *ids,
                       struct arena *a, struct conversation *ret, struct err *reterr);

/* Is the text p of the message m of an assistant what it came to? Else it was said on the way:
 * that is what comes with calls, unless it says otherwise of itself. */
bool conversation_is_answer(const struct message *m, const struct piece *p);

bool conversation_has_media(const struct pieces *list);

/* Is anything of the message not text, the outputs of its calls included? */
bool message_has_media(const struct message *m);

/* The first of the messages from m on that is not one of the leading system
 * texts, or NULL. */
struct message *conversation_find_body(struct message *m);

#endif
