/* settings_read.h -- the configuration, read again by SIGHUP. */
#ifndef ANTIPHON_DAEMON_SETTINGS_READ_H
#define ANTIPHON_DAEMON_SETTINGS_READ_H

#include <stdbool.h>

struct config;
struct config_sources;
struct settings;

/* Is there a file of the configuration? */
bool settings_are_in_file(const struct config_sources *sources);

/* What the sources say now, with the values of the start where they stay; without upstreams, which the caller sets. A
 * reference, or NULL: why has been logged, and all stays as it is. Blocks. */
struct settings *settings_read(const struct config_sources *sources, const struct config *start,
                               bool asks_for_key);

/* Settings with a copy of a configuration; without upstreams. A reference, or NULL: that has been logged. */
struct settings *settings_like(const struct config *c, bool asks_for_key);

#endif
