/* restore_check.h -- a response is put together again, from a journal while it is made and from what is
 * stored of it when it has ended: then it must have the same events. */
#ifndef ANTIPHON_TESTS_LIB_RESTORE_CHECK_H
#define ANTIPHON_TESTS_LIB_RESTORE_CHECK_H

#include "response/replay.h"
#include "response/response_restore.h"

/* A row of the journal, as a store has it. */
struct restore_row {
    struct buf cuts, done, pieces;
};

struct restore_check {
    const char *(*check)(str stream); /* event_check() or another */
    struct buf head, tail;            /* of the response at its beginning */
    struct restore_row *rows;         /* of the journal, as a store has them */
    size_t n_rows;
    struct replay journal;
    struct response_restore grown; /* by each row as it came */
    bool has_begun;
    const char *fault; /* NULL: none so far */
};

/* check: of a stream that was begun by the response and ended by the one that was restored. */
void restore_check_init(struct restore_check *c, const char *(*check)(str stream));
void restore_check_fini(struct restore_check *c);

/* After something was done to a response with cuts; not when it has ended. */
void restore_check_step(struct restore_check *c, const struct response *r);

/* Begins a response to be restored from the rows, of which the first n are read; false when one of them is
 * refused. Either way the response is there. */
bool restore_check_rows(const struct restore_check *c, size_t n, struct response_restore *ret);

/* When it has ended. */
void restore_check_end(struct restore_check *c, const struct response *r);

#endif
