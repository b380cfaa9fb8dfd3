/* upstream_probe.h -- ask the upstream what it is, once.
 *
 * A few requests one after the other (wire/dialect/upstream_sign.h says which), with small
 * answers, all within one time: GET, and a POST where Ollama tells of a model. Redirects are not
 * followed. Everything may go wrong: then less is known. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_PROBE_H
#define ANTIPHON_UPSTREAM_UPSTREAM_PROBE_H

#include "http/http_client.h"
#include "upstream/upstream_facts.h"

struct upstream_probe;

struct upstream_probe_conf {
    str base;          /* of the upstream, without a slash at its end; lives as long as the probe */
    str authorization; /* the same; STR_NONE: none */
    str model;         /* which to ask about where only one can be; STR_NONE: any. Copied */
    uint64_t timeout_ms;           /* of all requests together */
    bool keeps_list;               /* of models, as it comes */
    struct upstream_finding known; /* what is known already: by the URL, or the configuration */
};

/* The outcome; on the client's loop, once, never from inside upstream_probe_start(). facts: a
 * reference, which the callee has to give back; NULL when the upstream has not answered at all, and
 * was_silent says that it was waited for in vain. The probe is freed when it returns. */
typedef void upstream_probe_done(void *arg, struct upstream_facts *facts, bool was_silent);

/* NULL with *reterr filled. */
struct upstream_probe *upstream_probe_start(struct http_client *client,
                                            const struct upstream_probe_conf *conf,
                                            upstream_probe_done *done, void *arg,
                                            struct err *reterr);

/* No report. NULL is fine. */
void upstream_probe_cancel(struct upstream_probe *p);

#endif
