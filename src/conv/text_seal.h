/* text_seal.h -- encrypted_content: reasoning that clients keep for the gateway and cannot read
 * (CONTRACT 4.4).
 *
 * The core only knows that there is somebody who seals and opens; turn/owner_seal.h is. */
#ifndef ANTIPHON_CONV_TEXT_SEAL_H
#define ANTIPHON_CONV_TEXT_SEAL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

struct text_seal {
    /* Appends text, escaped, in its sealed form, as characters that need no escape. False when
     * that failed; then nothing is appended. */
    bool (*close)(void *arg, str text, struct buf *out);
    /* The text that close() was given, in the arena. False for what was sealed by others, for
     * others, with a key that is gone, or is damaged. */
    bool (*open)(void *arg, str sealed, struct arena *a, str *ret);
    void *arg;
};

#endif
