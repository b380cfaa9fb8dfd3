/* admin_routes.h -- the functions of admin_routes.def. Each answers, at once or later. */
#ifndef ANTIPHON_ADMIN_ADMIN_ROUTES_H
#define ANTIPHON_ADMIN_ADMIN_ROUTES_H

#include "front/path_pattern.h"
#include "http/http_server.h"

struct worker;

typedef void admin_route_fn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                            const struct path_ids *ids);

admin_route_fn admin_status, admin_upstreams, admin_upstream_drain, admin_upstream_resume,
    admin_upstream_check, admin_turns, admin_turns_cancel, admin_keys, admin_config,
    admin_log_level, admin_reload, admin_drain, admin_take_back;

/* Answers with this JSON, or for want of memory; finishes the buffer. */
void admin_respond_json(struct http_exchange *x, int status, struct buf *body);

#endif
