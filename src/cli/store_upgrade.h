/* store_upgrade.h -- bringing a store up to date, and telling what it comes to. */
#ifndef ANTIPHON_CLI_STORE_UPGRADE_H
#define ANTIPHON_CLI_STORE_UPGRADE_H

#include <stdbool.h>

#include "base/buf.h"
#include "store/store.h"

/* Migrates the store, in as much time as it takes. */
int store_upgrade(const struct store_conf *conf, struct err *reterr);

/* Appends a line: what was done to tables that were as `was` says, or, with only_checks, what would
 * be. */
void store_upgrade_report(const struct store_conf *conf, const struct store_schema *was,
                          bool only_checks, struct buf *out);

#endif
