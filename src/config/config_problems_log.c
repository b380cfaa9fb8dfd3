/* config_problems_log.c -- what is wrong with a file that a running gateway reads again. */
#include "config/config_problems.h"

#include "ev/log.h"

void config_problems_log(const struct config_problems *p)
{
    for (size_t i = 0; i < p->n_kept; i++)
        log_msg(p->kept[i].is_warning ? LOG_WARN : LOG_ERROR, "%s", p->kept[i].text);
}
