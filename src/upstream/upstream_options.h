/* upstream_options.h -- the operator's choices as the options of the pure core.
 *
 * The views in what is returned point into the configuration. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_OPTIONS_H
#define ANTIPHON_UPSTREAM_UPSTREAM_OPTIONS_H

#include "config/config.h"
#include "upstream/upstream_facts.h"
#include "wire/chunk/chat_stream.h"
#include "wire/dialect/chat_options.h"
#include "wire/dialect/model_alias.h"
#include "wire/dialect/model_profile.h"
#include "wire/harmony/harmony_request.h"
#include "wire/request/responses_request.h"

/* What a server of its kind understands: the configuration's word, else the facts', which are NULL
 * here and below while nothing is known. */
const struct upstream_profile *upstream_kind_profile(const struct config *c,
                                                     const struct upstream_facts *facts);

/* How requests are read. */
struct responses_request_options upstream_request_options(const struct config *c,
                                                          const struct upstream_facts *facts);

/* What the upstream calls a model, plain: what stands behind its alias, or its own name. The same of
 * the model of a request, whose name may be in the arena; STR_NONE when out of memory. */
str upstream_name_of(const struct config *c, str model);
str upstream_model_name(const struct config *c, const struct responses_request *r, struct arena *a);

/* What is known of the model of a request, behind its aliases: once for all rounds. The arena takes
 * its name while it is looked up. */
struct model_profile upstream_model_profile(const struct config *c,
                                            const struct upstream_facts *facts,
                                            const struct responses_request *r, struct arena *a);

/* The same of a model that the upstream knows by this name, plain. */
struct model_profile upstream_named_profile(const struct config *c,
                                            const struct upstream_facts *facts, str model);

/* How the upstream's request is written. */
struct chat_request_options upstream_chat_options(const struct config *c,
                                                  const struct upstream_facts *facts,
                                                  const struct responses_request *r,
                                                  const struct model_profile *p, struct arena *a);

/* How its answer is read. */
struct chat_stream_conf upstream_stream_conf(const struct config *c,
                                             const struct responses_request *r,
                                             const struct model_profile *p);

/* How a prompt is written that takes the place of the request (HARMONY 2.3). The date may be in
 * the arena. */
struct harmony_options upstream_harmony_options(const struct config *c,
                                                const struct model_profile *p, struct arena *a);

/* For model_alias_rewrite(). */
struct name_list upstream_model_aliases(const struct config *c);

#endif
