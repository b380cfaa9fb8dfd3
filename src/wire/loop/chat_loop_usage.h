/* chat_loop_usage.h -- one usage object for several rounds (CONTRACT 6.2). */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_LOOP_USAGE_H
#define ANTIPHON_WIRE_LOOP_CHAT_LOOP_USAGE_H

#include "base/buf.h"

/* Appends the usage object `now` with the numbers of `before` added, member by member,
 * also in objects inside. Members that only one has stay as they are; of what is no
 * number the newer counts. Both raw; before may be STR_NONE or "". */
void chat_loop_usage_write(str before, str now, struct buf *out);

#endif
