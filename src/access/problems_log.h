/* problems_log.h -- what is wrong with a file that a running gateway reads again, as lines of the log. */
#ifndef ANTIPHON_ACCESS_PROBLEMS_LOG_H
#define ANTIPHON_ACCESS_PROBLEMS_LOG_H

#include "config/config_problems.h"

/* Mistakes at error, the rest at warn; any thread. */
void problems_log(const struct config_problems *p);

#endif
