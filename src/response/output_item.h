/* output_item.h -- the items of a response's output and their parts, as data.
 *
 * What an item is made of and which events it sends comes from kind.def; the
 * order of those events is the business of response.c. All text is escaped
 * JSON text. */
#ifndef ANTIPHON_RESPONSE_OUTPUT_ITEM_H
#define ANTIPHON_RESPONSE_OUTPUT_ITEM_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/id.h"
#include "response/event.h"
#include "wire/chunk/delta.h"

enum output_part_kind {
#define PART(symbol, type, member, item, added, delta, text_done, done) OUTPUT_PART_##symbol,
#include "response/kind.def"
};

enum output_kind {
#define ITEM(symbol, type, prefix)                      OUTPUT_##symbol,
#define CALL(symbol, type, prefix, member, delta, done) OUTPUT_##symbol,
#include "response/kind.def"
    OUTPUT_KIND_COUNT,
};

enum output_status { OUTPUT_IN_PROGRESS, OUTPUT_COMPLETED, OUTPUT_INCOMPLETE, OUTPUT_FAILED };

struct tool;

struct output_part_row {
    const char *type, *text_member;
    enum output_kind item;
    enum event_type added, delta, text_done, done;
};

struct output_kind_row {
    const char *type, *prefix, *text_member;
    enum event_type delta, done; /* of calls */
};

/* What the gateway does itself; EVENT_NONE for all other kinds. */
struct output_hosted_row {
    enum event_type in_progress, running, completed, failed;
    enum output_status cut; /* of one that will not be run any more */
};

const struct output_part_row *output_part_row(enum output_part_kind kind);
const struct output_kind_row *output_kind_row(enum output_kind kind);
const struct output_hosted_row *output_hosted_row(enum output_kind kind);

/* The words of the API; NULL for PHASE_NONE. */
const char *output_status_word(enum output_status status);
const char *output_phase_word(enum phase phase);

/* Has an item of this kind a status? The others are announced and closed without one. */
bool output_has_status(enum output_kind kind);

/* A call that the gateway runs. */
bool output_is_hosted_call(enum output_kind kind);

/* The hosted tool that items of this kind are calls of; HOSTED_NONE: they are calls of server tools,
 * or no calls. And the other way round: the kind of a hosted tool's calls. */
enum hosted_kind output_hosted_kind(enum output_kind kind);
enum output_kind output_hosted_call(enum hosted_kind kind);

/* A citation waits until all of the text it refers to is there. */
struct output_citation {
    struct citation citation; /* views into the arena */
    size_t from, to;          /* where it stands in the part's annotations; 0, 0: it does not yet */
    struct output_citation *next;
};

struct output_part {
    enum output_part_kind kind;
    unsigned index; /* content_index, or summary_index */
    struct buf text;
    struct buf delta_ids;             /* members of its deltas that are always the same */
    struct buf logprobs;              /* elements of an array, without brackets */
    struct buf annotations;           /* the same; filled when the part is closed */
    struct output_citation *citation; /* the first of those that will fill it */
    struct output_citation **citations_end;
    size_t n_counted, n_chars; /* so much of the text is so many characters */
    struct output_part *next;
};

struct output_item {
    enum output_kind kind;
    enum output_status status;
    unsigned index;  /* output_index */
    bool is_hidden;  /* kept for the model; no event and no object shows it, it has no index */
    bool is_waiting; /* its events follow when the items before it are done (response_order.c) */
    struct id id;
    /* message, reasoning */
    enum phase phase;
    struct buf sealed; /* encrypted_content; empty: there is none */
    struct output_part *first, **end, *open;
    unsigned n_parts;
    /* calls; views into the response's arena or the request */
    str call_id, name, name_space; /* that of an MCP call is for another dialect */
    struct buf text;      /* arguments, input or code; raw JSON: an action, elements of tools */
    size_t n_said;        /* so much of it has been in deltas, or will be when it waits no more */
    bool is_whole;        /* no delta follows, and the event that repeats the text has come */
    bool is_running;      /* the gateway has begun to run it */
    struct buf arguments; /* of a hosted tool whose calls are shown whole: escaped, in the one form
                             that it has for them (wire/tools/hosted_tool.h) */
    struct buf upstream_arguments; /* of a hosted tool: escaped, as the upstream wrote them; empty
                                      when they are no arguments of a function */
    str upstream_id;         /* escaped: of a call that the gateway runs; STR_NONE: it has none */
    const struct tool *tool; /* of a call, NULL when it has none; in the request */
    bool is_old_form;        /* the upstream wrote the call as function_call (CONTRACT 5.4) */
    bool ends_round;         /* of what the gateway runs, the last of its round: the model was told
                                before it said more */
    /* of what the gateway runs; STR_NONE: there is none, or not yet */
    str output; /* for the model; of an MCP call the client sees it, too */
    str server_label, approval_request_id; /* of MCP */
    str error;                             /* of MCP: raw JSON; of a listing escaped text */
    enum builtin_tool builtin;             /* of calls of hosted tools */
    str container_id, outputs; /* of a code_interpreter_call: escaped; raw array, as shown */
    str shown;                 /* of a call that is shown whole: raw, in place of the text */
    struct output_item *next;
};

/* A new item without content. NULL when out of memory. */
struct output_item *output_item_new(struct arena *a, enum output_kind kind, unsigned index,
                                    const struct id_source *ids);

/* Frees the text; the item itself belongs to the arena. */
void output_item_fini(struct output_item *item);

/* A new, empty part at the end of the item, which becomes the open one; NULL
 * when out of memory. */
struct output_part *output_item_add_part(struct output_item *item, struct arena *a,
                                         enum output_part_kind kind);

/* Appends the item or part as JSON, with what it holds by now; of a hidden item
 * what would be shown of it otherwise. */
void output_item_write(const struct output_item *item, struct buf *out);
void output_part_write(const struct output_part *part, struct buf *out);

#endif
