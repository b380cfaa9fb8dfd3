/* event_check_internal.h -- what the files of the checker share.
 *
 * event_check.c       frames, sequence, the life of the response
 * event_check_item.c  items, parts, deltas
 * event_check_hosted.c  what the gateway does itself
 *
 * Functions that return bool return false after the first fault, which fault()
 * has put into words. */
#ifndef ANTIPHON_TESTS_LIB_EVENT_CHECK_INTERNAL_H
#define ANTIPHON_TESTS_LIB_EVENT_CHECK_INTERNAL_H

#include <jansson.h>

#include "base/buf.h"
#include "lib/event_rules.h"

/* All json_t here are borrowed from the events, except those marked "own". */
struct seen_item {
    const struct item_rule *rule;
    json_t *added, *done; /* done NULL: still open */
    json_t *closed_parts; /* own: {"content": [...], "summary": [...]} */
    struct buf text;      /* what the deltas of the call or of the open part said */
    bool has_text;        /* the event that repeats all of it has come */
    const char *state;    /* of what the gateway does itself; NULL: none yet */
    const struct part_rule *part;
    str text_events; /* of the open part: how the names of its delta and done begin */
    json_t *logprobs, *annotations; /* own: of the open part */
};

struct check {
    size_t frame; /* counted from 1 */
    bool allows_cut, allows_overlap;
    json_t *events;                    /* own */
    json_t *first, *terminal, *error;  /* first: the response of response.created */
    bool queued, in_progress, is_done; /* is_done: [DONE] has come */
    struct seen_item *items;
    size_t n_items;
};

/* Puts the fault into words; returns false. */
bool fault(const struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does object have these members, and no others? */
bool check_members(const struct check *c, const char *what, json_t *object, const char *members);

bool check_logprobs(const struct check *c, json_t *list);

bool check_item_event(struct check *c, const struct event_rule *rule, json_t *event);

/* Has this call been approved by the client? Its arguments are known from the start then. */
bool is_approved(json_t *item);

/* in_progress and what follows it, up to completed or failed, of an item. */
bool check_state(const struct check *c, struct seen_item *item, const struct event_rule *rule);

/* What members of it may be when it is announced and when it is closed. */
bool check_hosted_added(const struct check *c, const struct item_rule *rule, json_t *item);
bool check_hosted_done(const struct check *c, const struct seen_item *item, json_t *done);

void seen_items_free(struct check *c);

/* Member of an object as text, "" when it is none. */
const char *text_of(json_t *object, const char *member);

#endif
