/* store_events.h -- the events of responses, kept as cuts (CONTRACT 4.8).
 *
 * A response under way has a *journal*: rows of what is new, in the order of its events.
 * When it ends, the journal becomes one text of cuts beside the response; a response that
 * was made in the foreground has that alone. What cuts, done and pieces hold is opaque
 * here.
 *
 * Cuts live as long as their response, unless a limit removes them before: the oldest
 * ones first, and never a journal. They are counted apart from the limits of responses. */
#ifndef ANTIPHON_STORE_STORE_EVENTS_H
#define ANTIPHON_STORE_STORE_EVENTS_H

#include "store/store_work.h"

struct store_event_row {
    int64_t first;          /* number of its first event */
    str cuts, done, pieces; /* STR_NONE or empty: nothing */
};

/* Appends a row to the journal of work that was claimed under this lock, and tells what is wanted of it. A
 * row that is there already, by its first number, stays as it is: after a failure that leaves it open
 * whether the row was stored, the very same row is to be appended again. With STORE_TAKEN or
 * STORE_DELETED nothing was written. */
int store_append_events(struct store_session *s, str id, str lock,
                        const struct store_event_row *row, enum store_wish *ret,
                        struct err *reterr);

struct store_events {
    enum store_status status;
    struct store_response
        response;                 /* when it has ended: all of it as store_get_response() tells, and
                                       its cuts; else, if from was 0, without items; else empty */
    struct store_event_row *rows; /* in the arena; of the journal, when it has not ended */
    size_t n_rows;
    bool has_more; /* there are more rows behind the last: ask again at once */
};

/* Loads the rows of the journal whose first number is at least from; or what has become of them when
 * the response has ended: then response.cuts is STR_NONE if its events are not kept. All is of one
 * moment in a task that reads. At most 256 rows at once. ERR_NOT_FOUND. */
int store_get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                     struct store_events *ret, struct err *reterr);

#endif
