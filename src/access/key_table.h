/* key_table.h -- the keys of clients, read again while the gateway runs.
 *
 * A table never changes. SIGHUP makes a new one, and each worker exchanges its own
 * for that between two requests, so that nobody waits and nothing is locked: whose key
 * is gone is refused from the next request on, also on a connection that is open.
 *
 * What has begun goes on, and knows its owner by a text of the old table. So those
 * texts stay: a new table takes them over, and adds to them what it is the first to name. */
#ifndef ANTIPHON_ACCESS_KEY_TABLE_H
#define ANTIPHON_ACCESS_KEY_TABLE_H

#include "access/api_key.h"

struct key_table;

/* True when there is a file that keys may change in. */
bool keys_are_in_file(const struct config *c);

/* Reads the configuration and the file of keys again, for a gateway that asks for the keys of
 * former. Problems are logged; success is logged when n_workers have taken the table, so that no
 * old key is good any more once the line is there. owners outlives the table, as does former.
 * Returns a reference, or NULL when all stays as it is. Blocks. */
struct key_table *key_table_reload(const struct config_sources *sources,
                                   const struct api_keys *former, struct arena *owners,
                                   unsigned n_workers);

/* Notes that a worker asks for these keys from now on, or has been given later ones. Any thread. */
void key_table_taken(struct key_table *t);

const struct api_keys *key_table_keys(const struct key_table *t);

/* Any thread. NULL is fine. */
struct key_table *key_table_ref(struct key_table *t);
void key_table_unref(struct key_table *t);

#endif
