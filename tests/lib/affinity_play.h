/* affinity_play.h -- what affinity.c remembers, against lists that are searched from end to end. */
#ifndef ANTIPHON_TESTS_LIB_AFFINITY_PLAY_H
#define ANTIPHON_TESTS_LIB_AFFINITY_PLAY_H

#include "base/str.h"

/* Plays what any bytes say on both: notes, questions, ejections, time. Returns NULL, or in what they
 * differ. */
const char *affinity_play(str script);

#endif
