/* container_routes.h -- containers of the code interpreter and their files over HTTP, as the OpenAI
 * API has them. */
#ifndef ANTIPHON_GATEWAY_CONTAINER_ROUTES_H
#define ANTIPHON_GATEWAY_CONTAINER_ROUTES_H

#include "http/http_server.h"

struct caller;
struct worker;

#define CONTAINER_PATH         "/v1/containers/{id}"
#define CONTAINER_FILES_PATH   CONTAINER_PATH "/files"
#define CONTAINER_FILE_PATH    CONTAINER_FILES_PATH "/{file_id}"
#define CONTAINER_CONTENT_PATH CONTAINER_FILE_PATH "/content"

typedef void container_route(struct worker *w, struct http_exchange *x,
                             const struct http_request *r, const struct caller *caller);

container_route container_create, container_list, container_get, container_delete;
container_route container_files_list, container_file_get, container_file_content;

#endif
