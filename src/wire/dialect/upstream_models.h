/* upstream_models.h -- what a server tells of its models: their names, how much fits into them, and
 * whether they look at images.
 *
 * Every server lists them at /v1/models; many tell more on paths of their own, which are asked after
 * that and added to it. Where they tell it stands in upstream_models.def. Of which kind a server is,
 * is the business of upstream_sign.h. */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_MODELS_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_MODELS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "wire/dialect/model_setting.h"
#include "wire/dialect/upstream_path.h"

/* Of /props; texts escaped, views of the body, STR_NONE where missing. */
struct upstream_props {
    str chat_template, model_alias, model_path;
    int64_t n_slots; /* requests that it runs at once; 0: not said */
};

/* False when it is not the /props of llama.cpp. */
bool upstream_props_read(str body, struct upstream_props *ret);

/* What fits into a model. */
struct upstream_limits {
    int64_t window; /* tokens of its context; 0: not said */
    bool is_guess;  /* of the window: what the model could have, not what it was given */
    enum model_images images;
    bool takes_efforts; /* of reasoning: low, medium and high */
};

/* A model of /v1/models: its name, and the name of what is behind it, as a rule with a path or a
 * maker in front (`root` of vLLM and SGLang), or STR_NONE. Plain, in the arena. */
struct upstream_model {
    str id, root;
    struct upstream_limits limits;
    int64_t listed_window; /* as /v1/models alone has it; 0: not said there */
};

struct upstream_models {
    struct upstream_model *v;
    size_t n;
};

/* The first of a list of models, as many as are kept. False when out of memory; a body that is no
 * such list has none. */
enum { UPSTREAM_MAX_MODELS = 1024 };
bool upstream_models_read(str body, struct arena *a, struct upstream_models *ret);

/* The answer to another path adds what it tells of these models. model: of which one it was asked, or
 * STR_NONE. only: of the one model of a server that has one, whatever it is called. */
void upstream_models_add(enum upstream_path path, str body, str model,
                         struct upstream_models *models, struct upstream_limits *only);

/* Does a list that has `listed` have the model of this name? Ollama takes a name without a tag for that of the
 * latest. */
bool upstream_models_is_latest(str listed, str name);

/* The model of this name, plain, or its latest; NULL when it is not listed. */
struct upstream_model *upstream_models_find(const struct upstream_models *models, str name);

/* Which of Ollama's models is worth a request of its own: wanted, if it is listed; else the first
 * that runs, if running (an answer to its path, or "") says so; else the first. STR_NONE: there are
 * none. */
str upstream_models_choose(const struct upstream_models *models, str wanted, str running);

/* What an entry of such a list, a JSON object, says itself. */
struct upstream_limits upstream_models_entry(enum upstream_path path, str entry);

/* Has a list the same models, with the same windows in it? */
bool upstream_models_are_same(const struct upstream_models *a, const struct upstream_models *b);

#endif
