/* h1.h -- HTTP/1.x requests out of a byte stream (RFC 9112), strictly.
 *
 * A thin layer over llhttp: it joins the pieces, lower-cases header names,
 * takes the chunks off a body, enforces limits and stops in front of a body and
 * where a message ends, so that a request can be refused for its head, and the
 * bytes of the next one stay with the caller. Whatever the pieces are that the
 * network cuts, the result is the same.
 *
 *     used = h1_feed(&h, bytes, &err);        -1: answer with err and close
 *     if (h.state == H1_BODY) ...             h1_headers(): is the body wanted? then feed on
 *     if (h.state == H1_DONE) ...             h1_headers(), h1_body() ...
 *     h1_next(&h);                            ready for the next request
 *
 * Pure: bytes in, views out. The only memory are two growing buffers: one for
 * the target and the header fields, which stays where it is from the end of the
 * head on, and one for the body. */
#ifndef ANTIPHON_NET_H1_H
#define ANTIPHON_NET_H1_H

#include <llhttp.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/header.h"
#include "net/h1_lines.h"

struct h1_limits {
    size_t max_head_bytes; /* request line and header lines as received; the same again for the
                            * extensions of all chunks and the trailer together */
    size_t max_headers;
    size_t max_body_bytes;
};

enum h1_state {
    H1_HEAD,   /* the head is not complete; h1_is_idle() when it has not begun */
    H1_BODY,   /* the head is complete and may be looked at, the body is not */
    H1_DONE,   /* the request is complete */
    H1_FAILED, /* not HTTP as we accept it: the stream cannot be read on */
};

struct h1 {
    /* for the caller to read */
    enum h1_state state;
    size_t n_headers;
    bool has_head;         /* whole, and to be looked at: from H1_BODY on, and often when failed */
    bool keep_alive;       /* from H1_BODY on: as the client wishes */
    bool is_http_1_0;      /* client knows no chunks */
    bool expects_continue; /* client waits for 100 Continue before it sends the body */
    bool wants_upgrade;
    bool has_body; /* from H1_BODY on: at least one byte of it, or chunks, will come */

    /* h1.c's own */
    llhttp_t parser;
    const struct h1_limits *limits; /* the caller's, must outlive this */
    struct buf bytes;               /* target and header fields */
    struct buf body;
    size_t target_len;
    size_t record_at;     /* where the last header record begins in bytes */
    size_t value_at;      /* where its value begins */
    size_t allowed_bytes; /* of the head, or of the body with its framing, that may still come */
    struct h1_lines lines;
    size_t extension_bytes; /* of the chunks so far */
    unsigned n_hosts;
    unsigned seen_fields;     /* bits of the single fields that have come */
    const char *repeat_fault; /* why the head is refused: a single field has come again; or NULL */
    enum { H1_CODING_NONE, H1_CODING_CHUNKED, H1_CODING_OTHER } coding;
    enum { H1_PAUSE_HEAD, H1_PAUSE_LAST_CHUNK, H1_PAUSE_END } pause;
    bool in_trailer;     /* behind the last chunk */
    enum err_code fault; /* why one of our callbacks stopped the parser */
    const char *fault_text;
};

void h1_init(struct h1 *h, const struct h1_limits *limits);
void h1_fini(struct h1 *h);

/* Forgets the request and starts the next one. A large buffer is given back. */
void h1_next(struct h1 *h);

/* Feeds bytes until they are used up, the head of a request that has a body is complete, or the
 * request is; to be called in state H1_HEAD or H1_BODY. Returns the number of bytes used, or -1
 * with *reterr filled: 400, 411, 413, 431, 501, or 503 when out of memory. */
ssize_t h1_feed(struct h1 *h, str bytes, struct err *reterr);

/* True while no byte of a request has been seen. */
bool h1_is_idle(const struct h1 *h);

/* Views into the buffers: good until h1_next(), that of the body from H1_DONE on. Not before
 * has_head. The path of an absolute target ("http://host/path") comes
 * without its scheme and host. */
str h1_method(const struct h1 *h);
str h1_path(const struct h1 *h);
str h1_query(const struct h1 *h); /* without "?"; empty when there is none */
str h1_body(const struct h1 *h);

/* Fills out[0 .. n_headers - 1]; names are lower case, values trimmed. */
void h1_headers(const struct h1 *h, struct http_header *out);

#endif
