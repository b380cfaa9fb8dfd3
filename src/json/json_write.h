/* json_write.h -- write JSON by appending to a buf.
 *
 * A jw knows one thing: whether the next value needs a comma before it. Names
 * and values are appended in order; nothing is checked that the caller cannot
 * get wrong by eye. Ask buf_failed() at the end. */
#ifndef ANTIPHON_JSON_JSON_WRITE_H
#define ANTIPHON_JSON_JSON_WRITE_H

#include <stdint.h>

#include "base/buf.h"

struct jw {
    struct buf *out;
    bool comma;
};

static inline struct jw jw_to(struct buf *out)
{
    return (struct jw){.out = out};
}

void jw_object(struct jw *w);
void jw_object_end(struct jw *w);
void jw_array(struct jw *w);
void jw_array_end(struct jw *w);

/* A member name: plain text without characters that need escapes. */
void jw_key(struct jw *w, const char *key);

void jw_string(struct jw *w, str text);     /* plain text, escaped here; STR_NONE writes null */
void jw_escaped(struct jw *w, str escaped); /* text already escaped; STR_NONE writes null */
void jw_raw(struct jw *w, str json);        /* a whole value as it is; STR_NONE writes null */
void jw_int(struct jw *w, int64_t n);
void jw_bool(struct jw *w, bool b);
void jw_null(struct jw *w);

/* A string value in pieces: jw_open_string(), append escaped bytes to w->out,
 * jw_close_string(). */
void jw_open_string(struct jw *w);
void jw_close_string(struct jw *w);

/* name and value in one line */
void jw_key_string(struct jw *w, const char *key, str text);
void jw_key_escaped(struct jw *w, const char *key, str escaped);
void jw_key_raw(struct jw *w, const char *key, str json);
void jw_key_int(struct jw *w, const char *key, int64_t n);
void jw_key_bool(struct jw *w, const char *key, bool b);

#endif
