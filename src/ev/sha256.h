/* sha256.h -- the one hash we need: for keys, names and what credentials belong to. */
#ifndef ANTIPHON_EV_SHA256_H
#define ANTIPHON_EV_SHA256_H

#include <stdbool.h>

#include "base/str.h"

enum { SHA256_BYTES = 32 };

/* Hashes the bytes; false when OpenSSL cannot, as when memory is out. Any thread. */
bool sha256(str bytes, unsigned char hash[SHA256_BYTES]);

#endif
