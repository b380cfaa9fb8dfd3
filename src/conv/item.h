/* item.h -- the items of `input` and of what came before, reduced to what a chat message needs.
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
#include "conv/hosted.h"
#include "json/json_walk.h"

enum item_kind {
    ITEM_MESSAGE,           /* role, content */
    ITEM_REASONING,         /* content: the text, may be empty */
    ITEM_CALL,              /* call_id, name, arguments */
    ITEM_OUTPUT,            /* call_id, content; name when the client gave one, arguments */
    ITEM_HOSTED_CALL,       /* a call that carries its output; has_output, content */
    ITEM_REFERENCE,         /* id of a stored item */
    ITEM_APPROVAL_REQUEST,  /* a call of an MCP tool that waits: id, server_label, name ... */
    ITEM_APPROVAL_RESPONSE, /* id of the approval request it answers; approves, reason */
    ITEM_TOOL_LIST,         /* server_label, tools: an MCP server was listed before */
    ITEM_ADDITIONAL_TOOLS,  /* tools */
    ITEM_CONFIGURATION,     /* reasoning, text: how the model is to answer from there on */
    ITEM_COMPACTION,        /* sealed; becomes what it stands for (compact/compact_read.h) */
    ITEM_TRIGGER,           /* asks for a compaction; stands in `input` only */
    ITEM_FOUND_TOOLS,       /* tools: what a search of the gateway has found; content: what the
                               model was told, should the call before it not have it */
    ITEM_IGNORED,           /* nothing for the model */
};

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

/* Of a message of the assistant: said before it goes on with its tools, or what it came to. */
enum phase { PHASE_NONE, PHASE_COMMENTARY, PHASE_FINAL_ANSWER };

struct item {
    enum item_kind kind;
    enum role role;
    enum phase phase; /* of a message of the assistant, when it has one */
    size_t index;     /* in its list, for messages */
    str id;           /* escaped, STR_NONE when not given */
    str call_id; /* escaped, never empty in calls and outputs: made up when the client gave none */
    str name;    /* upstream name, plain; STR_NONE in an output without one */
    str arguments;               /* escaped JSON text */
    str upstream_arguments;      /* the same of a hosted call as the upstream wrote it, when that is
                                    known and another text; else STR_NONE or empty */
    str tools;                   /* raw array; of an output: what a search for tools has found */
    str server_label, tool_name; /* escaped, of what belongs to an MCP tool; name is then what
                                    the model knows it by, which the tools of the request may
                                    change once they are known */
    str approval_request_id;     /* escaped, of an mcp_call that was approved; also when it never
                                    ended and is ITEM_IGNORED */
    str reason;                  /* escaped */
    str reasoning, text;         /* raw objects, as in a request; or STR_NONE */
    enum hosted_kind hosted_kind; /* of a hosted call; its name is then that of the type, which the
                                     tools of the request may change, too */
    str container_id;             /* escaped: where code ran, also when it never ended */
    bool approves;
    struct content content;
    bool is_summary; /* of reasoning: the content is its summary, since it has no other text */
    bool has_output;
    bool is_cut_off;  /* its status is incomplete; that of a message, or in_progress */
    bool is_partial;  /* of a hosted call: the store may know its output, by id. A search of which
                        no more is known is ITEM_IGNORED until then */
    bool is_result;   /* of a hosted call: it takes the place of the item with its id */
    bool is_origin;   /* of a result: it only tells how the upstream wrote the call of that item */
    bool is_declined; /* of a hosted call: the client has answered that it is not to run */
    bool ends_round;  /* of a hosted call: the model was told before it said anything more */
    bool is_search; /* of an output: tools, which a search of the client has found; then also of the
                         tools alone, when the output is gone */
    bool is_own_summary; /* a message that a compaction item, whose id it has, has become */
    str sealed;          /* escaped: encrypted_content of a compaction item */
    str raw;             /* the JSON it was read from; STR_NONE: from none */
    str raw_result;      /* the same of its result or origin, or STR_NONE */
    bool is_kept; /* of the output of an earlier response, all of which the store has put here */
    struct item *next;
};

/* Its tools are the request's as well (CONTRACT 2.1). */
static inline bool item_brings_tools(const struct item *it)
{
    return it->kind == ITEM_ADDITIONAL_TOOLS || it->kind == ITEM_FOUND_TOOLS ||
           (it->kind == ITEM_OUTPUT && it->is_search);
}

/* The store has it, or has more of it. */
static inline bool item_is_stored(const struct item *it)
{
    return it->kind == ITEM_REFERENCE || it->is_partial;
}

/* What a tool of a server is called by the model, plain, and its description, escaped; both STR_NONE
 * where it is not known. label and name are escaped. */
struct item_tool_names {
    void (*find)(void *arg, str label, str name, str *ret_name, str *ret_description);
    void *arg;
};

/* What the model is told of tools (raw) that a search has found, escaped; STR_NONE when out of memory.
 * Without names a server's tools are called as MCP 10.1 has it. */
str item_found_text(str tools, const struct item_tool_names *names, struct arena *a);

/* mcp__LABEL__NAME, as far as that is a name; label and name are escaped. STR_NONE as above. */
str item_server_tool_name(str label, str name, struct arena *a);

struct item_list {
    struct item *first, *last;
    size_t n;
};

/* What the model was told by a hosted tool is kept in the store beside the item that clients see,
 * under its id with this behind:
 *
 *     {"id":"ws_1_result","type":"hosted_call_result","call_id":"ws_1","upstream_id":"eHN4F",
 *      "ends_round":true,"name":"web_search","arguments":"{...}","upstream_arguments":"{ ... }",
 *      "output":"...","container_id":"..."}
 *
 * upstream_id, upstream_arguments: the call as the upstream wrote it, where that is another text.
 * ends_round: what follows is another message of the assistant. container_id: of code. The item of
 * a call of an MCP tool has its output; beside it stands an origin, which ends before the name.
 * Read from the store and the gateway's memory alone (input_options.own_items). */
#define ITEM_RESULT_TYPE   "hosted_call_result"
#define ITEM_RESULT_SUFFIX "_result"

/* Both plain; STR_NONE when out of memory. */
str item_result_id(str id, struct arena *a);

/* May there be a result for this stored item, a JSON object? */
bool item_has_result(str body);

/* Puts a result in the place of the item that it belongs to, or tells the item its origin. */
void item_take_result(struct item *it, const struct item *result);

/* The type of an item with these members, all escaped or STR_NONE: without a type
 * it is a message when it has a role, a reference when it has an id. */
str item_type_name(str type, str role, str id);

/* Reads the next value as an item into *ret, which must be zeroed but for index
 * and next. The walk is of valid JSON; at is its place. A call without an id
 * gets one from ids. */
int item_read(struct json_walk *w, const struct path *at, const struct input_options *o,
              const struct id_source *ids, struct arena *a, struct item *ret, struct err *reterr);

/* input is a raw value: a string is one user message, an array holds items. at
 * is its place. */
int item_list_parse(str input, const struct path *at, const struct input_options *o,
                    const struct id_source *ids, struct arena *a, struct item_list *ret,
                    struct err *reterr);

/* A new, zeroed item at the end of the list, its index set; NULL when out of memory. */
struct item *item_list_add(struct item_list *list, struct arena *a);

/* The container of the last call of code that names one, escaped; STR_NONE: there is none. */
str item_list_container(const struct item_list *list);

/* How many calls of web searches there are. */
size_t item_list_searches(const struct item_list *list);

/* Puts the items of before in front of those of list. */
void item_list_prepend(struct item_list *list, const struct item_list *before);

#endif
