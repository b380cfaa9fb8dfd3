/* tls_files.h -- the certificates in use, and their exchange while connections run.
 *
 * New handshakes take the context that is in use; open connections stay with theirs. Files are read
 * again when somebody asks (SIGHUP), and when a look finds that one has changed. What cannot be used
 * (a key of another certificate, an expired one) changes nothing, and is logged as an error once. What
 * is not valid yet waits: each look tries it again.
 *
 * Opening, reloading and looking is the main thread's; the rest is any thread's. */
#ifndef ANTIPHON_TLS_TLS_FILES_H
#define ANTIPHON_TLS_TLS_FILES_H

#include "tls/tls_channel.h"

struct tls_files;

enum { TLS_LOOK_S = 60 };

/* What there is to tell of a certificate in use. */
struct tls_certificate {
    char name[TLS_NAME_BYTES]; /* the first name in it */
    int64_t until_s;           /* notAfter, in Unix time */
};

/* conf outlives it. A certificate that has expired is an error; one that is not valid yet is used, since
 * there is no other. NULL with *reterr filled. Blocks. */
struct tls_files *tls_files_open(const struct tls_conf *conf, int64_t now_s, struct err *reterr);

/* When all connections are closed. NULL is fine. */
void tls_files_free(struct tls_files *t);

/* A reference to the context for a new connection. */
struct tls_context *tls_files_context(struct tls_files *t);

/* Reads the files again, and leaves a line `reload` in the log. False when all stays as it was. Blocks. */
bool tls_files_reload(struct tls_files *t, int64_t now_s);

/* To be called every TLS_LOOK_S: reloads when that is due, and warns of certificates that expire soon. */
void tls_files_look(struct tls_files *t, int64_t now_s);

/* A copy of the owner that a certificate names (tls_owners.h), which lives as long as these files. STR_NONE
 * when there is no room for another. */
str tls_files_keep_owner(struct tls_files *t, str owner);

/* Writes at most n of the certificates in use; returns how many there are. */
size_t tls_files_certificates(struct tls_files *t, struct tls_certificate *out, size_t n);

#endif
