/* log_reject.h -- lines `rejected`, which anybody can cause: LOG_REJECTS_PER_S for each reason, and a count of
 * the others. */
#ifndef ANTIPHON_EV_LOG_REJECT_H
#define ANTIPHON_EV_LOG_REJECT_H

#include "ev/log.h"

enum { LOG_REJECTS_PER_S = 10, LOG_REJECT_FIELDS = 12 };

enum reject_reason {
#define REJECT_REASON(symbol, word, meaning) REJECT_##symbol,
#include "ev/reject_reason.def"
    REJECT_REASONS,
};

/* Writes the line, with at most LOG_REJECT_FIELDS fields behind the reason; or counts it, and the next line of
 * that reason has the number (left_out). Any thread. */
void log_rejected(enum reject_reason reason, const struct log_field *fields);

/* The decision of log_rejected() alone, at a second of any clock that goes on: may a line be written?
 * Then *ret_left_out says how many were not, before it. */
bool log_reject_take(enum reject_reason reason, uint64_t now_s, uint64_t *ret_left_out);

#endif
