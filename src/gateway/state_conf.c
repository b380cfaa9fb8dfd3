/* state_conf.c -- where the store is, and its limits. */
#include "gateway/state_conf.h"

#include <stdlib.h>

/* systemd may name several directories, with colons between them. */
static const char *default_url(struct arena *a)
{
    const char *variable = getenv("STATE_DIRECTORY");
    str directories = str_from_c(variable == NULL || *variable == '\0' ? "." : variable);
    struct buf url = {.limit = 0};
    str kept;

    buf_c(&url, "sqlite:");
    buf_append(&url, str_from(directories.p, str_find_char(directories, ':')));
    buf_c(&url, "/antiphon.db");
    kept = buf_failed(&url) ? STR_NONE : arena_dup(a, buf_str(&url));
    buf_fini(&url);
    return kept.p;
}

struct store_conf state_conf(const struct config *c, struct arena *a)
{
    return (struct store_conf){
        .url = c->store != NULL ? c->store : default_url(a),
        .sync = c->store_sync,
        .connections = c->store_connections,
        .timeout_ms = c->store_timeout_ms,
        .lock_ms = c->conversation_lock_ms,
        .limits =
            {
                .max_age_s = c->store_max_age_ms / 1000,
                .max_responses = c->store_max_responses,
                .max_owner_responses = c->store_max_owner_responses,
                .max_bytes = c->store_max_bytes,
                .max_owner_bytes = c->store_max_owner_bytes,
            },
    };
}
