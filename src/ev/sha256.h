/* sha256.h -- the one hash we need: for keys, names and what credentials belong to. */
#ifndef ANTIPHON_EV_SHA256_H
#define ANTIPHON_EV_SHA256_H

#include <stdbool.h>

#include "base/str.h"

enum { SHA256_BYTES = 32 };

/* Hashes the bytes; false when OpenSSL cannot, as when memory is out. Any thread. */
bool sha256(str bytes, unsigned char hash[SHA256_BYTES]);

/* The same piece by piece: begin, add as often as there is something, end, which frees the run. A run
 * that is NULL or has failed takes everything, and ends with false. */
struct sha256_run;
struct sha256_run *sha256_begin(void);
void sha256_add(struct sha256_run *run, str bytes);
bool sha256_end(struct sha256_run *run, unsigned char hash[SHA256_BYTES]);

#endif
