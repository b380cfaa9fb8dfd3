/* poll_after.c -- the older a response is, the longer it will take. */
#include "response/poll_after.h"

#include <stddef.h>

static const struct {
    int64_t below_s;
    str ms;
} steps[] = {
    {10, STR_INIT("500")},
    {60, STR_INIT("1000")},
    {600, STR_INIT("2000")},
    {INT64_MAX, STR_INIT("5000")},
};

str poll_after_ms(int64_t age_s)
{
    size_t i = 0;

    while (age_s >= steps[i].below_s && steps[i].below_s != INT64_MAX)
        i++;
    return steps[i].ms;
}
