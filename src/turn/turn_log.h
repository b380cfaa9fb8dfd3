/* turn_log.h -- the one line that every turn leaves in the log. */
#ifndef ANTIPHON_TURN_TURN_LOG_H
#define ANTIPHON_TURN_TURN_LOG_H

#include "base/err.h"
#include "conv/conversation.h"
#include "response/response.h"

struct turn_summary {
    str request_id, client;          /* the client's address */
    str owner;                       /* the name of its key, or STR_NONE */
    str model;                       /* escaped; STR_NONE when the request was not understood */
    const struct err *error;         /* NULL: none */
    const struct response *response; /* NULL: the request did not get that far */
    int upstream_status;             /* 0: the upstream has not answered */
    const char *phase;               /* of the upstream's call that failed; NULL: none has */
    uint64_t upstream_bytes;         /* of its body */
    uint64_t first_byte_ms; /* from the request to the first byte of the upstream's body; 0: none */
    uint64_t total_ms;
    size_t ignored_fields; /* of the request, unknown here */
    size_t ignored_items;  /* of its input, which tell the model nothing */
    size_t skipped_chunks; /* chunks of the upstream that were no JSON */
    unsigned n_put_back;   /* responses of which calls were put back into the request */
    unsigned n_repairs;    /* of raw text that broke the rules of its format */
    const char *repair;    /* what the last was */
    struct history_repairs history_repairs; /* of what the client or the store sent */
    const struct err *not_stored;           /* NULL: it did not have to be, or was */
    unsigned n_shortened; /* how often it was sent again with less (truncation: auto) */
    size_t n_left_out;    /* messages that were left out in the end */
    bool is_count;        /* its tokens were counted, and nothing else was asked for */
    int64_t input_tokens; /* so many are they; 0: that is not known */
};

void turn_log(const struct turn_summary *s);

/* The client left before its answer was complete. */
void turn_log_gone(const struct turn_summary *s);

#endif
