/* base64.h -- bytes as letters (RFC 4648, 4), and as letters that also may stand in URLs
 * and in JSON without an escape (5). */
#ifndef ANTIPHON_BASE_BASE64_H
#define ANTIPHON_BASE_BASE64_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the bytes in base64, padded. */
void base64_write(str bytes, struct buf *out);

/* Appends the bytes in base64url, not padded. */
void base64url_write(str bytes, struct buf *out);

/* The number of letters that base64url_write() appends for n bytes, and of bytes that n letters
 * hold. */
size_t base64url_letters(size_t n_bytes);
size_t base64url_bytes(size_t n_letters);

/* Puts base64url_bytes(letters.len) bytes into `to`. False when the letters are not what
 * base64url_write() makes of any bytes; then `to` may hold anything. */
bool base64url_read(str letters, char *to);

/* Padded base64 without its padding; base64url_bytes() tells how many bytes it holds. STR_NONE when
 * its length is impossible. */
str base64_unpadded(str letters);

/* Decodes what base64_unpadded() returned into `to`; fails as base64url_read() does. */
bool base64_read(str unpadded, char *to);

#endif
