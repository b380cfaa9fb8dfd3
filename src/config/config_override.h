/* config_override.h -- a configuration made of another one: a copy in which some keys are set otherwise.
 *
 * Files with a form of their own, such as that of upstreams_file, have keys of the configuration as members
 * beside theirs. There a key takes what it takes in the configuration file, and problems say where it stands:
 *
 *     upstreams.json: line 7: upstreams.gpu1.idle_timeout: "soon" is not valid; give a duration ... */
#ifndef ANTIPHON_CONFIG_CONFIG_OVERRIDE_H
#define ANTIPHON_CONFIG_CONFIG_OVERRIDE_H

#include "config/config.h"

/* Copies all of *from, whose texts need not outlive it. Returns 0, or -1 when out of memory. Finish *ret with
 * config_fini() either way. */
int config_dup(const struct config *from, struct config *ret);

/* A key's value in such a file. Texts outlive the configuration that it is set in. */
struct config_override {
    enum config_id key;
    str raw; /* JSON, valid */
    const char *file;
    size_t line;
    const char *member; /* its path in the file */
};

/* Sets the key. What it does not take is a problem, and leaves it as it was or empty. */
void config_override(struct config *c, const struct config_override *o,
                     struct config_problems *problems);

/* Once all members are set, of an upstream: puts paths in place of credential:NAME, and checks what only
 * several keys together, or a look at the world, can tell. Says nothing about keys that all stand
 * elsewhere. */
void config_override_check(struct config *c, const char *const *env,
                           struct config_problems *problems);

/* The path that a text names: itself, or the file that credential:NAME stands for (OPERATIONS 7.4). In the
 * arena; NULL with *retwhy filled. */
const char *config_file_path(struct arena *a, str text, const char *const *env,
                             const char **retwhy);

#endif
