/* chat_usage.h -- the usage object of a Chat Completions answer. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_USAGE_H
#define ANTIPHON_WIRE_CHUNK_CHAT_USAGE_H

#include "wire/chunk/delta.h"

/* Reads a usage object into *ret; false, and *ret as it was, when raw is none. */
bool chat_usage(str raw, struct usage *ret);

#endif
