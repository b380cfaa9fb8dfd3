/* ask_once.h -- one request after the other from the command line, each waited for.
 *
 *     struct asker *a = asker_open(&conf, &e);
 *     ask_once(a, &question, &answer);
 *     asked_fini(&answer);
 *     asker_close(a);
 *
 * An answer is kept whole, up to a limit: what comes behind it is not waited for. */
#ifndef ANTIPHON_CLI_ASK_ONCE_H
#define ANTIPHON_CLI_ASK_ONCE_H

#include "base/buf.h"
#include "http/http_call_conf.h"

struct asker;

/* NULL with *reterr filled. From then on the process ignores SIGPIPE, and its log has errors alone. */
struct asker *asker_open(const struct http_client_conf *conf, struct err *reterr);

/* NULL is fine. */
void asker_close(struct asker *a);

/* True while a name is being looked up that nobody waits for any more: asker_close() and exit() would
 * wait for it, _exit() does not. */
bool asker_is_resolving(const struct asker *a);

struct question {
    const char *method;
    const char *url;
    str authorization; /* STR_NONE: none */
    str body;          /* JSON; STR_NONE: none */
    uint64_t timeout_ms;
};

struct asked {
    int status; /* 0: there was no answer, see failure */
    struct buf body;
    uint64_t first_ms, total_ms; /* to the first byte of the body, and to its end */
    bool has_failed;             /* perhaps in the middle */
    struct err failure;
};

/* Waits for the answer, or for what went wrong. Finish *ret with asked_fini() in any case. */
void ask_once(struct asker *a, const struct question *q, struct asked *ret);
void asked_fini(struct asked *a);

#endif
