/* h1_response.h -- an HTTP/1.x response out of a byte stream (RFC 9112).
 *
 * A thin layer over llhttp, as h1.h is for requests: it joins the pieces of the
 * head, lower-cases names, swallows 1xx responses and trailers, takes the
 * framing off the body and stops where the message ends. Whatever the pieces
 * are that the network cuts, the result is the same.
 *
 *     used = h1_response_feed(&r, p, n, &body)    ends behind the head, at the latest
 *     if (r.state == H1_RESPONSE_BODY) ...        status, h1_response_headers()
 *     used = h1_response_feed(&r, p, n, &body)    until H1_RESPONSE_DONE
 *
 * All heads together may have max_head_bytes, and what frames the body (chunk sizes, their
 * extensions, trailers) as many, and 32 for each byte of the body: a response that says nothing
 * comes to an end.
 *
 * The body is not copied: its bytes are pushed together where they were read,
 * over the chunk sizes between them, so each call gives one view.
 *
 * Pure: bytes in, views out. The only memory is the buffer of the head. */
#ifndef ANTIPHON_NET_H1_RESPONSE_H
#define ANTIPHON_NET_H1_RESPONSE_H

#include <llhttp.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/header.h"

enum h1_response_state {
    H1_RESPONSE_HEAD,   /* the final head is not complete */
    H1_RESPONSE_BODY,   /* the head is complete; the body may still be found to be empty */
    H1_RESPONSE_DONE,   /* the response is complete */
    H1_RESPONSE_FAILED, /* see fault: the stream cannot be read on */
};

enum h1_response_fault {
    H1_FAULT_NONE,
    H1_FAULT_NOT_HTTP,   /* not a response of HTTP/1.x */
    H1_FAULT_HEAD_LIMIT, /* the head is too large */
    H1_FAULT_CODING,     /* a transfer coding other than chunked */
    H1_FAULT_CHUNK,      /* a chunk without a valid size or end */
    H1_FAULT_FRAMING,    /* more chunk extensions and trailers than the body can need */
    H1_FAULT_NO_MEMORY,
};

struct h1_response {
    /* for the caller to read */
    enum h1_response_state state;
    enum h1_response_fault fault;
    bool begun; /* a byte has been seen */
    int status; /* from H1_RESPONSE_BODY on, like the next two */
    size_t n_headers;
    bool keep_alive; /* the connection may carry another response after this one */

    /* h1_response.c's own */
    llhttp_t parser;
    struct buf fields;    /* names and values in turn, each with a NUL behind it */
    size_t name_at;       /* in fields: where the current name begins */
    size_t value_at;      /* in fields: where its value begins */
    size_t allowed_bytes; /* that may still come: of heads, behind them of what frames the body */
    size_t max_head_bytes;
    bool has_no_body; /* whatever its head says: HEAD was asked for */
    bool ends_by_close;
    bool has_coding;            /* the head has a Transfer-Encoding */
    bool is_coded;              /* the coding is not chunked alone */
    char *piece;                /* what is being fed */
    size_t body_at, body_bytes; /* the body in the piece, as far as found */
    size_t framed_to;           /* where its last byte ends in the piece, as it was fed */
};

void h1_response_init(struct h1_response *r, size_t max_head_bytes, bool is_answer_to_head);
void h1_response_fini(struct h1_response *r);

/* Feeds bytes until they are used up, the head is complete or the response is;
 * in the state H1_RESPONSE_BODY also with n == 0: a response without a body is
 * complete then. Returns the number of bytes used, or -1. *ret_body is what was
 * found of the body, in either case, a view into p, which is never NULL; the bytes
 * of p are changed. */
ssize_t h1_response_feed(struct h1_response *r, char *p, size_t n, str *ret_body);

/* The stream has ended in order. True when that completes the response. */
bool h1_response_end(struct h1_response *r);

/* Fills out[0 .. n_headers - 1] with views that are good until
 * h1_response_drop_head(); names are lower case, values trimmed. */
void h1_response_headers(const struct h1_response *r, struct http_header *out);
void h1_response_drop_head(struct h1_response *r);

#endif
