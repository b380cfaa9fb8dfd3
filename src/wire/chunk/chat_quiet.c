/* chat_quiet.c -- the bound, and the words when it is passed. */
#include "wire/chunk/chat_quiet.h"

#include <stdint.h>

#include "wire/dialect/upstream_error.h"

static size_t most_quiet(size_t max_event_bytes)
{
    if (max_event_bytes == 0 || max_event_bytes > SIZE_MAX / 2)
        return SIZE_MAX;
    return max_event_bytes < CHAT_QUIET_LEAST / 2 ? CHAT_QUIET_LEAST : 2 * max_event_bytes;
}

int chat_quiet_check(size_t quiet_bytes, size_t max_event_bytes, struct err *reterr)
{
    const size_t most = most_quiet(max_event_bytes);

    if (quiet_bytes <= most)
        return 0;
    err_set(reterr, ERR_UPSTREAM_ERROR,
            UPSTREAM_SERVER_ERROR
            "The upstream server sent more than %zu bytes of comments or empty chunks and said "
            "nothing.",
            most);
    return -1;
}
