/* web_session.h -- what a model has searched and opened for one response: numbered pages, which it
 * can scroll, search in, follow links of, and cite (CONTRACT 1.2; HARMONY 2.3, browser).
 *
 * A list of results is a page as well: each action gives the model one view with its number, the
 * cursor, as `[3] title (url)` and numbered lines `L0: ...`. A model cites lines of it as
 * 【3†L5-L9】. Pages are fetched once for a session. On one loop's thread. */
#ifndef ANTIPHON_SEARCH_WEB_SESSION_H
#define ANTIPHON_SEARCH_WEB_SESSION_H

#include "search/page.h"
#include "search/search.h"

struct web_session;
struct web_call;

struct web_session_conf {
    struct loop *loop;
    struct searcher searcher;
    struct http_client *pages; /* for page_fetch_start(); NULL: no page may be opened */
    struct page_fetch_conf fetch;
    struct search_query query; /* all but the query itself; views outlive the session */
    size_t first_cursor;       /* of the first view: behind those of earlier responses, if any */
    size_t max_view_bytes;     /* of what the model gets at once; 0: as the size says */
    size_t max_held_bytes;     /* of all pages together; the oldest are forgotten. 0: no limit */
};

/* Makes a session, or returns NULL when out of memory. conf is copied; what it points to must
 * outlive the session. */
struct web_session *web_session_new(const struct web_session_conf *conf);

/* Frees a session that has no call under way. NULL is fine. */
void web_session_free(struct web_session *s);

enum web_op { WEB_SEARCH, WEB_OPEN, WEB_FIND };

/* What the model asks for, plain text; STR_NONE or -1: not given. */
struct web_action {
    enum web_op op;
    str query;                   /* SEARCH */
    str url;                     /* OPEN, FIND: the page of this URL */
    str pattern;                 /* FIND */
    int64_t link;                /* OPEN: the link of this number, of the page at cursor */
    int64_t cursor;              /* -1: the last page */
    int64_t first_line, n_lines; /* OPEN */
    int64_t max_results;         /* SEARCH */
};

/* Reads the arguments of a call as they come from a model, plain JSON: of the function web_search
 * {action, query, url, pattern}, and with what gpt-oss gives its browser besides: id, cursor, loc,
 * num_lines, topn. Returns 0, or -1 with *reterr filled, a message for the model. Views into the
 * arena. */
int web_action_read(str arguments, struct arena *a, struct web_action *ret, struct err *reterr);

struct web_source {
    str url, title; /* plain */
};

/* Views die with the report. */
struct web_outcome {
    bool is_failed;
    str output; /* plain, for the model: a view, or what went wrong */
    str url;    /* of the page, for the action of the item, or "cursor:3" of a list; STR_NONE of a
                 * search, and of what failed before there was a page */
    const struct web_source *sources; /* of a search: its results */
    size_t n_sources;
};

struct web_handler {
    void (*on_done)(void *arg, const struct web_outcome *outcome); /* once, never from inside */
};

/* Starts a call; several may be under way. The action is copied. NULL with *reterr filled when out
 * of memory. */
struct web_call *web_session_start(struct web_session *s, const struct web_action *action,
                                   const struct web_handler *handler, void *arg,
                                   struct err *reterr);

/* Cancels a call: no report follows. Does nothing inside the call's own report. */
void web_call_cancel(struct web_call *call);

/* What the view with this number shows, also when its page has been forgotten. Of a list of
 * results, line says which result is meant (-1: none); a list as a whole is no source. False when
 * there is no such view or result. The views live as long as the session. */
bool web_session_source(const struct web_session *s, unsigned cursor, int64_t line,
                        struct web_source *ret);

#endif
