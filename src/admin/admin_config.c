/* admin_config.c -- /admin/config and /admin/log-level. */
#include "admin/admin_routes.h"
#include "base/num.h"
#include "config/config.h"
#include "ev/log.h"
#include "flight/worker.h"
#include "json/json_read.h"
#include "json/json_write.h"

/* A file with comments, which is no JSON. */
void admin_config(struct worker *w, struct http_exchange *x, const struct http_request *r,
                  const struct path_ids *ids)
{
    const struct http_header type = {STR("content-type"), STR("text/plain; charset=utf-8")};
    struct buf text = {.limit = 0};
    struct err e;

    (void)r;
    (void)ids;
    config_show(w->config, &text);
    if (buf_failed(&text)) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
    } else {
        http_exchange_respond(x, 200, &type, 1, buf_str(&text));
    }
    buf_fini(&text);
}

/* ---- the level of the log */

struct wish {
    str level, duration; /* as they stand in the body; STR_NONE: not there */
};

static int read_members(str body, struct wish *ret, struct err *reterr)
{
    struct wish wish = {STR_NONE, STR_NONE};
    struct jr j;
    bool is_object;
    str key;

    jr_init(&j, body);
    is_object = jr_enter(&j, JR_OBJECT);
    while (is_object && jr_next_member(&j, &key)) {
        if (str_eq(key, STR("level"))) {
            wish.level = jr_string(&j);
        } else if (str_eq(key, STR("for"))) {
            wish.duration = jr_string(&j);
        } else {
            err_set(reterr, ERR_UNKNOWN_PARAMETER,
                    "There is level, and for; nothing else may be set here.");
            return -1;
        }
    }
    if (!is_object || !jr_end(&j)) {
        err_set(reterr, ERR_INVALID_JSON,
                "The body must be an object such as {\"level\":\"debug\",\"for\":\"10m\"}.");
        return -1;
    }
    *ret = wish;
    return 0;
}

static int read_wish(str body, enum log_level *ret_level, uint64_t *ret_ms, struct err *reterr)
{
    struct wish wish;

    if (read_members(body, &wish, reterr) == -1)
        return -1;
    if (!log_level_read(wish.level, ret_level)) {
        err_set_param(reterr, ERR_INVALID_VALUE, "level",
                      "level must be error, warn, info or debug.");
        return -1;
    }
    *ret_ms = 0;
    if (str_is_none(wish.duration))
        return 0;
    if (num_duration_ms(wish.duration, ret_ms) && *ret_ms > 0 && *ret_ms <= LOG_LEVEL_MAX_MS)
        return 0;
    err_set_param(reterr, ERR_INVALID_VALUE, "for",
                  "for must be a duration of up to 168h, such as 10m.");
    return -1;
}

static void respond_level(struct http_exchange *x, enum log_level level, uint64_t for_ms)
{
    struct buf text = {.limit = 0};
    struct jw j = jw_to(&text);

    jw_object(&j);
    jw_key_string(&j, "level", str_from_c(log_level_name(level)));
    if (for_ms > 0)
        jw_key_int(&j, "for_ms", (int64_t)for_ms);
    jw_object_end(&j);
    admin_respond_json(x, 200, &text);
}

void admin_log_level(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct path_ids *ids)
{
    enum log_level level;
    uint64_t for_ms;
    struct err e;
    str body;

    (void)w;
    (void)r;
    (void)ids;
    if (http_exchange_body(x, &body, &e) == -1 || read_wish(body, &level, &for_ms, &e) == -1) {
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    log_set_level(level, for_ms);
    respond_level(x, level, for_ms);
}
