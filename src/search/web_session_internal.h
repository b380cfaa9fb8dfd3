/* web_session_internal.h -- what the files of a session share.
 *
 * web_session.c finds out what an action is about, web_fetch.c fetches pages, and web_report.c
 * shows them and ends calls. */
#ifndef ANTIPHON_SEARCH_WEB_SESSION_INTERNAL_H
#define ANTIPHON_SEARCH_WEB_SESSION_INTERNAL_H

#include "ev/loop.h"
#include "search/web_doc.h"

struct web_fetch;

struct web_call {
    struct web_session *session;
    struct arena arena; /* of the action's texts */
    struct web_action action;
    struct web_handler handler;
    void *arg;
    void *search;            /* the searcher's call */
    struct web_fetch *fetch; /* that it waits for ... */
    struct web_call *next;   /* ... with these */
    struct web_doc *doc;     /* what is to be shown, or why it cannot be, on the loop's next turn */
    str failure;
    struct loop_message next_turn;
    struct loop_job find; /* of a large page */
    bool is_deferred, is_done, is_cancelled;
    size_t cursor;     /* of the view that it shows */
    struct page *page; /* a reference, while it is searched; that is, found is written, elsewhere */
    struct buf found;
};

/* Why a page that was shown cannot be shown again. */
#define WEB_FORGOTTEN "That page is no longer held: open it again by its url."

struct web_session {
    struct web_session_conf conf;
    struct web_docs docs;
    struct web_doc **views; /* by cursor, from conf.first_cursor on */
    size_t n_views, cap_views;
    struct web_fetch *fetches;
};

/* Each of these reports and frees the call. Texts are copied by nobody: they live until then. */
void web_report_doc(struct web_call *c, struct web_doc *doc); /* whose page may be forgotten */
void web_report_failure(struct web_call *c, str message);
void web_report_no_memory(struct web_call *c);

void web_call_free(struct web_call *c);

/* Lets the call wait for the page of this URL, which may be under way for others. Returns 0, or -1
 * with *reterr: a URL that is refused, or out of memory. */
int web_fetch_wait(struct web_call *c, str url, struct err *reterr);

/* Ends the waiting of a call; a fetch that nobody waits for is called off. */
void web_fetch_leave(struct web_call *c);

#endif
