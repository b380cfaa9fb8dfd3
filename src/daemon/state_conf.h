/* state_conf.h -- the operator's choices as the options of the store. */
#ifndef ANTIPHON_DAEMON_STATE_CONF_H
#define ANTIPHON_DAEMON_STATE_CONF_H

#include "config/config.h"
#include "store/store.h"

/* The arena takes the URL when none is configured: antiphon.db in the directory that
 * the variable STATE_DIRECTORY names (systemd sets it), or else in the current
 * one. url is NULL when memory is out. */
struct store_conf state_conf(const struct config *c, struct arena *a);

#endif
