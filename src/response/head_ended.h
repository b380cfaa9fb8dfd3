/* head_ended.h -- the stored object of a response that cannot be read back, made one that has ended.
 *
 * The head was written by another version of the gateway, or is damaged: so nothing is read but where
 * the two values stand that tell of an end. */
#ifndef ANTIPHON_RESPONSE_HEAD_ENDED_H
#define ANTIPHON_RESPONSE_HEAD_ENDED_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends a head (response_object_head()) with the status failed and this error, or cancelled and none if
 * it is ERR_RESPONSE_CANCELLED. Returns 0, or -1 when it has no status and error, with *reterr filled. */
int head_ended_write(str head, const struct err *why, struct buf *out, struct err *reterr);

#endif
