/* turn_log.h -- the one line that every turn leaves in the log.
 *
 * A turn of either front fills a summary, whose members are the fields of turn_line.def: a field that does
 * not apply is left as turn_summary_init() has set it. Texts are views, of the turn or of the summary itself,
 * which therefore is not copied. */
#ifndef ANTIPHON_TURN_TURN_LOG_H
#define ANTIPHON_TURN_TURN_LOG_H

#include "conv/conversation.h"
#include "conv/reject.h"
#include "flight/flight.h"
#include "upstream/upstream_answer.h"

struct tool_set;
struct usage;

typedef str turn_field_TEXT, turn_field_NAME, turn_field_WORDS;
typedef int64_t turn_field_NUMBER; /* less than 0: not known */
typedef uint64_t turn_field_COUNT;
typedef bool turn_field_FLAG;

struct turn_summary {
#define TURN_FIELD(name, kind, help) turn_field_##kind name;
#include "turn/turn_line.def"
    bool is_trouble; /* for a warning */
    struct shown shown_model;
    char traceparent[TRACEPARENT_CHARS + 1];
    struct upstream_words words;
};

void turn_summary_init(struct turn_summary *s);

/* What every flight knows: client, times, bytes, upstream. */
void turn_summary_flight(struct turn_summary *s, const struct flight *f);

/* The model, escaped; or STR_NONE. */
void turn_summary_model(struct turn_summary *s, str model);

/* Why it has ended badly, with how far the upstream's call came; NULL: it has not. */
void turn_summary_error(struct turn_summary *s, const struct err *e,
                        const struct upstream_answer *answer);

void turn_summary_usage(struct turn_summary *s, const struct usage *u);

/* Writes the line, and that for the audit. */
void turn_log(const struct turn_summary *s);

/* At debug: types of tools that the request has and nobody serves. */
void turn_log_unserved(str request_id, const struct tool_set *tools);

/* At debug: what was repaired of the messages, once for each kind. */
void turn_log_repairs(str request_id, const struct history_repairs *repairs);

#endif
