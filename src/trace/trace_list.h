/* trace_list.h -- lists in variables of OpenTelemetry: OTEL_RESOURCE_ATTRIBUTES and the headers.
 *
 *     key1=value1,key2=value%202
 *
 * White space around names and values does not count; %XX stands for a byte. */
#ifndef ANTIPHON_TRACE_TRACE_LIST_H
#define ANTIPHON_TRACE_TRACE_LIST_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum { TRACE_LIST_MAX = 64 };

struct trace_pair {
    str key, value; /* decoded, in the arena, each with a NUL behind it */
};

/* Reads a list into pairs, and *ret_n of them. NULL, or what is wrong with it: the end of a sentence that
 * names the list. An element without anything in it does not count. */
const char *trace_list_read(str text, struct arena *a, struct trace_pair pairs[TRACE_LIST_MAX],
                            size_t *ret_n);

#endif
