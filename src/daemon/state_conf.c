/* state_conf.c -- where the store is, and its limits. */
#include "daemon/state_conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"

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

/* A store in memory leaves most of it to requests, and events leave most of that to responses. */
enum { PART = 4 };

static bool is_in_memory(const struct config *c)
{
    return c->store != NULL && strcmp(c->store, "memory") == 0;
}

static uint64_t max_bytes(const struct config *c)
{
    enum { USUAL_BYTES = 256 * 1024 * 1024 };
    size_t part = budget_limit() / PART;

    if (c->store_max_bytes != 0 || !is_in_memory(c))
        return c->store_max_bytes;
    return part == 0 || part > USUAL_BYTES ? USUAL_BYTES : part;
}

static uint64_t max_cuts_bytes(const struct config *c)
{
    uint64_t part = max_bytes(c) / PART;
    bool is_bounded = c->events_max_bytes != 0 && c->events_max_bytes <= part;

    return is_in_memory(c) && !is_bounded ? part : c->events_max_bytes;
}

struct store_conf state_conf(const struct config *c, struct arena *a)
{
    return (struct store_conf){
        .url = c->store != NULL ? c->store : default_url(a),
        .sync = c->store_sync,
        .backup = c->store_backup,
        .connections = c->store_connections,
        .timeout_ms = c->store_timeout_ms,
        .lock_ms = c->conversation_lock_ms,
        .work_ms = c->background_lease_ms,
        .limits =
            {
                .max_age_s = c->store_max_age_ms / 1000,
                .max_responses = c->store_max_responses,
                .max_owner_responses = c->store_max_owner_responses,
                .max_bytes = max_bytes(c),
                .max_owner_bytes = c->store_max_owner_bytes,
                .max_cuts_bytes = max_cuts_bytes(c),
                .max_cuts_age_s = c->events_max_age_ms / 1000,
                .max_key_age_s = c->idempotency_max_age_ms / 1000,
            },
    };
}
