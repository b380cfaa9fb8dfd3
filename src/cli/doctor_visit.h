/* doctor_visit.h -- asks a server all that `antiphon doctor` wants to know, one thing after the other. */
#ifndef ANTIPHON_CLI_DOCTOR_VISIT_H
#define ANTIPHON_CLI_DOCTOR_VISIT_H

#include "cli/doctor_setting.h"

/* The certificate that an upstream is shown; NULL: none. */
struct doctor_certificate {
    const char *cert, *key; /* paths */
};

struct doctor_visit_conf {
    const struct config *config; /* with an upstream */
    uint64_t timeout_ms;         /* of each request */
    bool is_quick;
    struct doctor_certificate certificate;
};

struct doctor_visit {
    struct doctor_subject subject; /* of whom it is; facts are the visit's */
    struct doctor_findings findings;
    uint64_t ms[DOCTOR_CHECKS]; /* that the questions of a check took */
    unsigned n_requests;        /* to /chat/completions */
    bool is_resolving;          /* a name is still looked up: _exit(), nobody is to wait for it */
    struct upstream_facts *facts;
    struct arena memory;
};

/* Returns 0, or -1 with *reterr filled when nothing could be asked at all. Finish *ret in any case. */
int doctor_visit(const struct doctor_visit_conf *conf, struct doctor_visit *ret,
                 struct err *reterr);
void doctor_visit_fini(struct doctor_visit *v);

#endif
