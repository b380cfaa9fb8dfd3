/* upstream_window.c -- the operator's word, then what the upstream has told. */
#include "upstream/upstream_window.h"

#include "upstream/upstream_options.h"

static struct upstream_window window_of(const struct model_profile *p,
                                        const struct upstream_limits *told)
{
    struct upstream_window w = {.tokens = told->window,
                                .is_guess = told->is_guess,
                                .takes_images = told->images == MODEL_IMAGES_TAKEN,
                                .efforts = p->efforts};

    if (p->context_window > 0) {
        w.tokens = p->context_window;
        w.is_guess = false;
    }
    if (told->takes_efforts)
        w.efforts = STR("low|medium|high");
    if (p->images != MODEL_IMAGES_UNKNOWN)
        w.takes_images = p->images == MODEL_IMAGES_TAKEN;
    return w;
}

struct upstream_window upstream_window_of(const struct config *c,
                                          const struct upstream_facts *facts, str model)
{
    const struct model_profile p = upstream_named_profile(c, facts, model);

    return upstream_window_profiled(&p, facts, model);
}

struct upstream_window upstream_window_profiled(const struct model_profile *p,
                                                const struct upstream_facts *facts, str model)
{
    const struct upstream_limits told = upstream_facts_limits(facts, model);

    return window_of(p, &told);
}

/* Has this model said something else in the list when the upstream was asked? */
static bool is_news(const struct upstream_facts *facts, str model,
                    const struct upstream_limits *listed)
{
    const struct upstream_model *known =
        facts == NULL ? NULL : upstream_models_find(&facts->models, model);

    return listed->window > 0 && (known == NULL || known->listed_window != listed->window);
}

struct upstream_window upstream_window_listed(const struct config *c,
                                              const struct upstream_facts *facts, str model,
                                              const struct upstream_limits *listed)
{
    const struct model_profile p = upstream_named_profile(c, facts, model);

    return is_news(facts, model, listed) ? window_of(&p, listed)
                                         : upstream_window_profiled(&p, facts, model);
}
