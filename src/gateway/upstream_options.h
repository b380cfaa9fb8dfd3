/* upstream_options.h -- the operator's choices as the options of the pure core.
 *
 * The views in what is returned point into the configuration. */
#ifndef ANTIPHON_GATEWAY_UPSTREAM_OPTIONS_H
#define ANTIPHON_GATEWAY_UPSTREAM_OPTIONS_H

#include "config/config.h"
#include "wire/chat_options.h"
#include "wire/chat_stream.h"
#include "wire/model_alias.h"
#include "wire/responses_request.h"

/* How requests are read. */
struct responses_request_options upstream_request_options(const struct config *c);

/* How the upstream's request is written. The arena takes the name of the model
 * while it is looked up. */
struct chat_request_options
upstream_chat_options(const struct config *c, const struct responses_request *r, struct arena *a);

/* How its answer is read. */
struct chat_stream_conf upstream_stream_conf(const struct config *c,
                                             const struct responses_request *r);

/* For model_alias_rewrite(). */
struct name_list upstream_model_aliases(const struct config *c);

#endif
