/* container_routes.h -- containers of the code interpreter and their files over HTTP, as the OpenAI
 * API has them. */
#ifndef ANTIPHON_FRONT_CONTAINER_ROUTES_H
#define ANTIPHON_FRONT_CONTAINER_ROUTES_H

#include "front/path_pattern.h"
#include "http/http_server.h"

struct caller;
struct worker;

/* What can be asked of containers, for endpoints.def. */
struct container_call;

extern const struct container_call container_create, container_list, container_get,
    container_delete, container_files_list, container_file_get, container_file_content;

/* Begins a call; it answers, and frees itself. ids: as in the path. */
void container_routes_start(struct worker *w, struct http_exchange *x, const struct http_request *r,
                            const struct caller *caller, const struct path_ids *ids,
                            const struct container_call *call);

#endif
