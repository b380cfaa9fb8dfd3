/* poll_after.h -- when a client should ask again for a response that has not ended (CONTRACT 4.8). */
#ifndef ANTIPHON_RESPONSE_POLL_AFTER_H
#define ANTIPHON_RESPONSE_POLL_AFTER_H

#include <stdint.h>

#include "base/str.h"

#define POLL_AFTER_HEADER "openai-poll-after-ms"

/* Milliseconds, for a response that was created so many seconds ago, as the value of the
 * header. */
str poll_after_ms(int64_t age_s);

#endif
