/* seal_secret.h -- what encrypted_content is sealed with (CONTRACT 4.4, 13.7).
 *
 * Clients bring back after a restart what was sealed before it, a compacted conversation above all. So
 * a gateway whose operator gives no encryption_keys makes a secret of its own and keeps it beside its
 * SQLite database, in a file with -key behind its name, which only its user may read. Without such a
 * database there is no place for it. */
#ifndef ANTIPHON_DAEMON_SEAL_SECRET_H
#define ANTIPHON_DAEMON_SEAL_SECRET_H

#include "base/arena.h"
#include "base/err.h"
#include "config/config.h"

/* The secrets of the configuration, else the one beside the database at this URL of a store; none when
 * there is no place for one, or no file can be made in it, of which the log tells. All in the arena.
 * Returns 0, or -1 with *reterr filled: there is a file, and it holds no secret or cannot be read. */
int seal_secret_find(const struct config *c, const char *store_url, struct arena *a,
                     struct config_list *ret, struct err *reterr);

/* The name of the file beside the database at this URL, whether there is one or not. False: there is no
 * place for it. */
bool seal_secret_path(const char *store_url, char *out, size_t size);

#endif
