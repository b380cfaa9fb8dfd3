/* upstream_models.h -- what a server tells of its models: their names and how much fits into them.
 *
 * Every server lists them at /v1/models; llama.cpp has more in /props, the template of its one
 * model above all. Of which kind a server is, is the business of upstream_sign.h. */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_MODELS_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_MODELS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Of /props; texts escaped, views of the body, STR_NONE where missing. */
struct upstream_props {
    str chat_template, model_alias, model_path;
    int64_t context_window; /* of a slot; 0: not said */
};

/* False when it is not the /props of llama.cpp. */
bool upstream_props_read(str body, struct upstream_props *ret);

/* A model of /v1/models: its name, and the name of what is behind it, as a rule with a path or a
 * maker in front (`root` of vLLM and SGLang), or STR_NONE. Plain, in the arena. */
struct upstream_model {
    str id, root;
    int64_t context_window; /* max_model_len, meta.n_ctx; 0: not said */
};

struct upstream_models {
    struct upstream_model *v;
    size_t n;
};

/* The first of a list of models, as many as are kept. False when out of memory; a body that is no
 * such list has none. */
enum { UPSTREAM_MAX_MODELS = 256 };
bool upstream_models_read(str body, struct arena *a, struct upstream_models *ret);

#endif
