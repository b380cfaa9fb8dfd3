/* settings_read.c -- from files to settings. */
#include "daemon/settings_read.h"

#include "access/origin_policy.h"
#include "access/problems_log.h"
#include "config/config_key.h"
#include "config/config_override.h"
#include "ev/log.h"
#include "flight/settings.h"

bool settings_are_in_file(const struct config_sources *sources)
{
    return config_flags_file(sources->n_args, sources->args) != NULL ||
           !str_is_none(config_env_get(sources->env, STR("ANTIPHON_CONFIG")));
}

static void log_rest(const struct buf *changed)
{
    if (changed->len > 0)
        log_msg(LOG_WARN, "these take effect when the gateway is started again: %.*s",
                STR_ARG(buf_str(changed)));
}

/* False when out of memory. */
static bool make_of_config(struct settings *s, const struct config *start, bool asks_for_key)
{
    struct buf changed = {.limit = 0};
    bool is_made;

    config_keep_rest(&s->config, start, &changed);
    log_rest(&changed);
    is_made = !buf_failed(&changed) &&
              origin_policy_make(&s->config, asks_for_key, &s->memory, &s->origins) == 0 &&
              trusted_proxies_make(s->config.trusted_proxies.items, s->config.trusted_proxies.n,
                                   &s->memory, &s->trusted) == 0;
    buf_fini(&changed);
    return is_made;
}

struct settings *settings_like(const struct config *c, bool asks_for_key)
{
    struct settings *s = settings_new();

    if (s != NULL && config_dup(c, &s->config) == 0 && make_of_config(s, c, asks_for_key))
        return s;
    log_msg(LOG_ERROR, "out of memory");
    settings_unref(s);
    return NULL;
}

struct settings *settings_read(const struct config_sources *sources, const struct config *start,
                               bool asks_for_key)
{
    struct config_problems problems = {.n_kept = 0};
    struct settings *s = settings_new();
    bool is_good = s != NULL && config_load(&s->config, sources, &problems) == 0;

    problems_log(&problems);
    config_problems_fini(&problems);
    if (is_good && !make_of_config(s, start, asks_for_key)) {
        log_msg(LOG_ERROR, "out of memory");
        is_good = false;
    }
    if (is_good)
        return s;
    log_msg(LOG_ERROR, "the settings stay as they are");
    settings_unref(s);
    return NULL;
}
