/* relay_limits.c -- a look at the path and at the body. */
#include "front/relay_limits.h"

#include "flight/flight.h"
#include "flight/flight_limits.h"
#include "front/relay_guard.h"
#include "front/relay_model.h"
#include "front/relay_path.h"

static bool is_choosy(const struct flight *f)
{
    return allowance_is_choosy(f->caller.allowance);
}

bool relay_limits_hide_models(const struct flight *f)
{
    return is_choosy(f) && relay_guard_is_models(f->http->path);
}

/* Only what is understood can be shown in part: the list, and one model. */
int relay_limits_check_path(struct flight *f, str model, struct err *reterr)
{
    const struct http_request *r = f->http;

    if (!relay_limits_hide_models(f))
        return 0;
    if (!str_is_none(model))
        return flight_limits_check_model(f, model, reterr);
    if (str_eq(relay_path(r->path), STR("/models")) &&
        (str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD"))))
        return 0;
    err_set(reterr, ERR_NOT_FOUND, "Unknown path: %.*s %.*s.", STR_ARG(r->method),
            STR_ARG(r->path));
    return -1;
}

/* A coding hides how large a body is. */
bool relay_limits_need_body(const struct flight *f)
{
    const bool is_coded = !str_is_none(http_request_header(f->http, STR("content-encoding")));

    return f->http->body.len > 0 && (is_choosy(f) || (is_coded && flight_limits_count_tokens(f)));
}

void relay_limits_read(struct relay_limits *l, struct flight *f, str body)
{
    if (!str_is_none(body))
        f->body_bytes = body.len;
    l->is_refused = is_choosy(f) && !relay_model_is_allowed(f->caller.allowance, body, &f->arena,
                                                            &l->refused_model);
}

int relay_limits_admit(const struct relay_limits *l, struct flight *f, struct err *reterr)
{
    if (l->is_refused && flight_limits_check_model(f, l->refused_model, reterr) == -1)
        return -1;
    if (!str_eq(f->http->method, STR("POST")))
        return 0;
    if (f->body_bytes == 0)
        f->body_bytes = f->http->body.len;
    return flight_limits_admit(f, reterr);
}
