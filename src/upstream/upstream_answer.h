/* upstream_answer.h -- how the upstream took a call: what a turn keeps of the head of its
 * answer, and of the body when that says why it refuses; and how far it came, for the log. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_ANSWER_H
#define ANTIPHON_UPSTREAM_UPSTREAM_ANSWER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/header.h"

struct http_call;

struct upstream_answer {
    int status; /* 0: none yet */
    int retry_after_s;
    uint64_t n_bytes; /* of the body so far */
    const char
        *phase; /* in which the call failed: see upstream_answer_failed(); NULL: it has not */
    struct buf error_body; /* when it is not good */
};

void upstream_answer_init(struct upstream_answer *a);
void upstream_answer_fini(struct upstream_answer *a);

/* Another call begins. */
void upstream_answer_reset(struct upstream_answer *a);

void upstream_answer_head(struct upstream_answer *a, int status, const struct http_header *headers,
                          size_t n_headers);

/* 2xx */
bool upstream_answer_is_good(const struct upstream_answer *a);

/* The next bytes of why it refuses. False when they are too many to wait for their end,
 * which may never come. */
bool upstream_answer_keep(struct upstream_answer *a, str bytes);

/* The call has failed: notes how far it came, as connecting, first_byte (nothing but perhaps a
 * head), answer or refused. The call may be NULL once there was a head. */
void upstream_answer_failed(struct upstream_answer *a, const struct http_call *call);

/* The message of a failed call for a log line: the upstream's own words, which have no keys and
 * URLs in them, cut before they quote the request. Nothing of no error. */
struct upstream_words {
    char text[512];
};
struct upstream_words upstream_words(const struct err *e);

/* It refuses: the error that this is to the client. is_clients_key: the credentials that it
 * refuses, if it does, are the client's own. */
void upstream_answer_error(const struct upstream_answer *a, bool is_clients_key, struct err *ret);

#endif
