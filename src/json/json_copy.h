/* json_copy.h -- copy a client's JSON so that it can stand anywhere in ours.
 *
 * A request may hold pretty-printed schemas, halves of surrogate pairs and
 * characters that some line splitters take for line ends. Copies made here
 * have no white space outside strings, only whole characters, and U+0085,
 * U+2028 and U+2029 escaped, so they fit into one SSE data line and into the
 * strictest upstream parser. The sources must be valid JSON. */
#ifndef ANTIPHON_JSON_JSON_COPY_H
#define ANTIPHON_JSON_JSON_COPY_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json_write.h"

/* A whole value. */
void json_copy_value(str raw, struct buf *out);

/* The content of a string, without its quotes. */
void json_copy_text(str escaped, struct buf *out);

/* An element of an array. */
void json_copy_element(struct jw *w, str raw);

/* The name of a member of another object, as jr.raw_key holds it. */
void json_copy_key(struct jw *w, str raw_key);

/* Name and value in one line; STR_NONE writes null. */
void json_copy_key_value(struct jw *w, const char *key, str raw);
void json_copy_key_text(struct jw *w, const char *key, str escaped);

/* Name and value, but STR_NONE writes nothing at all. */
void json_copy_given_value(struct jw *w, const char *key, str raw);
void json_copy_given_text(struct jw *w, const char *key, str escaped);

/* The JSON in json as the text of a JSON string: escaped, without quotes, in
 * the arena. Finishes the buf. STR_NONE when out of memory. */
str json_copy_quote_take(struct arena *a, struct buf *json);

#endif
