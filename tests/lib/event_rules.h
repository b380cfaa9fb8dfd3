/* event_rules.h -- what the contract knows about events, items and parts, as
 * tables (CONTRACT 3 and 4.2), written down a second time on purpose: a test
 * that read the gateway's own tables would find nothing. */
#ifndef ANTIPHON_TESTS_LIB_EVENT_RULES_H
#define ANTIPHON_TESTS_LIB_EVENT_RULES_H

#include <stdbool.h>

/* What an event does, whatever it is about. */
enum event_act {
    ACT_RESPONSE, /* created, queued, in_progress and the terminal events */
    ACT_ERROR,
    ACT_KEEPALIVE,
    ACT_ITEM_ADDED,
    ACT_ITEM_DONE,
    ACT_PART_ADDED,
    ACT_PART_DONE,
    ACT_PART_DELTA,
    ACT_PART_TEXT, /* the whole text of a part */
    ACT_PART_ANNOTATION,
    ACT_CALL_DELTA,
    ACT_CALL_TEXT,
    ACT_STATE, /* what the gateway does itself: in_progress, searching, completed, failed */
};

/* Lists of members are words with spaces between them. */
struct event_rule {
    const char *type;
    enum event_act act;
    const char *about;   /* ACT_RESPONSE: the status; else type of the part or item, or NULL */
    const char *text;    /* member that holds text; ACT_STATE: the state; or NULL */
    const char *members; /* besides type and sequence_number */
};

struct item_rule {
    const char *type, *id_prefix;
    bool is_prose;       /* a message or reasoning item: nothing opens beside it */
    const char *text;    /* calls: the member that deltas make grow; else NULL */
    bool has_status;     /* else the item has none */
    const char *running; /* the state before its end; NULL: no ACT_STATE events are about it */
    const char *members; /* besides id, type and status; those with ? may be missing */
};

struct part_rule {
    const char *type, *item; /* the item it stands in, */
    const char *list;        /* ... and that item's member */
    const char *text, *members;
};

extern const char response_members[], response_running_members[];

/* NULL when the contract has no such type. */
const struct event_rule *event_rule_find(const char *type);
const struct item_rule *item_rule_find(const char *type);
const struct part_rule *part_rule_find(const char *type);

#endif
