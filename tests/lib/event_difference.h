/* event_difference.h -- do two streams say the same? */
#ifndef ANTIPHON_TESTS_LIB_EVENT_DIFFERENCE_H
#define ANTIPHON_TESTS_LIB_EVENT_DIFFERENCE_H

#include "base/str.h"

/* NULL when the events of two faultless streams are the same, but for the order of members and
 * the values of ids, times and what repeats a request. Else the first that differs, in words:
 * free() them. */
char *event_difference(str got, str expected);

#endif
