/* jail_filter.h -- the system calls that code in a sandbox may make.
 *
 * A second wall: what most of the others do needs rights that the sandbox does not have, but each
 * is code of the kernel that a stranger could look for mistakes in. Only calls that are listed are
 * made (jail_call.def, and a table for those whose arguments decide). */
#ifndef ANTIPHON_SANDBOX_JAIL_FILTER_H
#define ANTIPHON_SANDBOX_JAIL_FILTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct jail_filter_conf {
    bool counts_memory; /* a control group counts all memory of the sandbox */
    bool has_own_user;  /* the sandbox's user is not the gateway's */
    bool has_own_space; /* and has made the user namespace itself */
};

/* Appends the program for the kernel, as bwrap --seccomp reads it. What could take from the gateway
 * is refused unless conf says that it cannot. Returns 0, or -1 with *reterr filled. */
int jail_filter_write(const struct jail_filter_conf *conf, struct buf *out, struct err *reterr);

#endif
