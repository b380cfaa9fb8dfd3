/* response_restore.h -- a response that runs, or has run, somewhere else, put together again from the
 * rows of its journal (struct journal_row in replay.h).
 *
 *     response_restore_begin -> response_restore_row* -> response_fail or response_cancel -> response_end
 *
 * After each row the response is as it was when the row was made, as far as clients have seen it: its
 * events can be sent again. When it is not to run on it is failed or cancelled, which closes the items
 * that are open; the events of that take the next numbers. One that has had no row has had no events:
 * response_queue() notes those that it begins with. What was hidden, withheld, or waited for its turn
 * is lost. Pure; one thread at a time. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_RESTORE_H
#define ANTIPHON_RESPONSE_RESPONSE_RESTORE_H

#include "response/cuts.h"
#include "response/response.h"

struct response_restore {
    struct response response;   /* the struct is not to be moved; response_fini() this */
    struct output_item **items; /* by output_index; in the response's arena */
    size_t cap_items;
    struct cuts_reader reader; /* of the response's cuts, as far as rows have come */
};

/* Head and tail as they were stored when the response was accepted, or when it began to run; they may
 * go afterwards. conf: as for response_read(); its seal is that of items that are closed. The response
 * keeps its cuts. Returns 0, or -1 with *reterr filled and nothing to free. */
int response_restore_begin(const struct response_conf *conf, str head, str tail,
                           struct response_restore *ret, struct err *reterr);

/* The next row, in the order in which they were made; its texts may go afterwards. Returns 0, or -1 with
 * *reterr filled when the row does not fit, leaves something half closed, or memory ran out: the response
 * is then only good for response_fini(). Linear in the row. */
int response_restore_row(struct response_restore *restore, str cuts, str done, str pieces,
                         struct err *reterr);

#endif
