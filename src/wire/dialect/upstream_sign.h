/* upstream_sign.h -- of which kind a server is, told from what it sends.
 *
 * Every function looks at one thing, and adds what it says to a finding: the surest sign counts,
 * of two as sure the first. What is looked at comes from a stranger and may be anything.
 *
 * A server is asked little: upstream_sign_next() says which path is worth a request after what has
 * been found so far. */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_SIGN_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_SIGN_H

#include "base/str.h"
#include "wire/dialect/upstream_path.h"

enum upstream_certainty {
    UPSTREAM_UNKNOWN,
    UPSTREAM_LIKELY, /* others could send that, too, but none is known to */
    UPSTREAM_SURE,   /* it says its name */
};

enum { UPSTREAM_VERSION_BYTES = 48 };

/* What told it: one word. */
#define UPSTREAM_BY_URL           "url"
#define UPSTREAM_BY_CONFIGURATION "configuration"

/* Zeroed: nothing is known, which is the kind generic. */
struct upstream_finding {
    enum upstream_kind kind;
    enum upstream_certainty certainty;
    const char *by;                       /* a constant; NULL while nothing is known */
    char version[UPSTREAM_VERSION_BYTES]; /* printable, without spaces; "" while not known */
    bool is_public;   /* its URL is that of a server on the Internet: https, and a domain */
    bool hides_owner; /* it lists models, and does not say whose */
};

/* The next path to ask, where bit i of asked is set when path i has been; false: enough is known,
 * or there is nothing left that could tell more. A server that its URL or the configuration names is
 * asked only where it may tell of its models; a public one is asked for no more than its models until
 * these have named it. */
bool upstream_sign_next(const struct upstream_finding *f, unsigned asked, enum upstream_path *ret);

/* Who is at this URL? */
void upstream_sign_url(str url, struct upstream_finding *f);

/* One header of any answer. */
void upstream_sign_header(str name, str value, struct upstream_finding *f);

/* system_fingerprint of a chunk or an answer. */
void upstream_sign_fingerprint(str value, struct upstream_finding *f);

/* The same where it stands in the first bytes of an answer, in whatever framing; the rest is not
 * looked at. */
void upstream_sign_answer(str bytes, struct upstream_finding *f);

/* The body of the answer to a path, whatever its status and whether JSON or not. */
void upstream_sign_body(enum upstream_path path, int status, str body, struct upstream_finding *f);

#endif
