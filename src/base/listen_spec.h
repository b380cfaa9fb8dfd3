/* listen_spec.h -- an element of the key `listen`: an address, and marks that say what it is for
 * (OPERATIONS 6.1).
 *
 *     :8443+tls    127.0.0.1:9090+admin    unix:/run/antiphon.sock+proxy    fd:api
 *
 * The path of a Unix socket may hold a + in its folders, and none in its last part. Pure. */
#ifndef ANTIPHON_BASE_LISTEN_SPEC_H
#define ANTIPHON_BASE_LISTEN_SPEC_H

#include "base/buf.h"
#include "base/str.h"

enum {
#define LISTEN_MARK(symbol, word, help) LISTEN_NUMBER_##symbol,
#include "base/listen_mark.def"
#undef LISTEN_MARK
    LISTEN_MARKS
};

enum listen_mark {
#define LISTEN_MARK(symbol, word, help) LISTEN_##symbol = 1 << LISTEN_NUMBER_##symbol,
#include "base/listen_mark.def"
#undef LISTEN_MARK
};

struct listen_spec {
    str address;    /* without the marks; a view of the text */
    unsigned marks; /* of enum listen_mark */
};

/* Takes a text apart. False when a mark is unknown, or there twice: then *ret_wrong is the mark without
 * its +. The address is not judged. */
bool listen_spec_read(str text, struct listen_spec *ret, str *ret_wrong);

/* Takes a text apart that was read before. */
struct listen_spec listen_spec_of(const char *text);

static inline bool listen_spec_is_unix(const struct listen_spec *s)
{
    return str_starts_with(s->address, STR("unix:"));
}

/* True for fd:NAME, a descriptor that the process was started with. */
static inline bool listen_spec_is_descriptor(const struct listen_spec *s)
{
    return str_starts_with(s->address, STR("fd:"));
}

/* Appends the marks as they are written: "+tls+proxy". */
void listen_spec_write_marks(unsigned marks, struct buf *out);

/* The word of the mark with this number (LISTEN_NUMBER_TLS). */
const char *listen_spec_word(unsigned number);

#endif
