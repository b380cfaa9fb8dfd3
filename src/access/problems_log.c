/* problems_log.c -- one line each. */
#include "access/problems_log.h"

#include "ev/log.h"

void problems_log(const struct config_problems *p)
{
    for (size_t i = 0; i < p->n_kept; i++)
        log_msg(p->kept[i].is_warning ? LOG_WARN : LOG_ERROR, "%s", p->kept[i].text);
}
