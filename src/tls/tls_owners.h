/* tls_owners.h -- the owners that certificates of clients have named, each text once.
 *
 * Turns that outlive their connection, and what they leave, hold these texts: so none is taken back, and
 * there is a limit to them. Any thread. */
#ifndef ANTIPHON_TLS_TLS_OWNERS_H
#define ANTIPHON_TLS_TLS_OWNERS_H

#include "base/str.h"

struct tls_owners;

enum { TLS_OWNERS_MOST = 100000 };

struct tls_owners *tls_owners_new(void);    /* NULL when out of memory */
void tls_owners_free(struct tls_owners *o); /* NULL is fine */

/* The same text, which lives as long as the table. STR_NONE: it is a new one, and there is no memory for
 * it, or TLS_OWNERS_MOST are there; the log says so once. */
str tls_owners_keep(struct tls_owners *o, str owner);

#endif
