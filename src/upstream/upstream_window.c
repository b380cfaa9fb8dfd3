/* upstream_window.c -- the operator's word, then what the upstream has told. */
#include "upstream/upstream_window.h"

#include "upstream/upstream_options.h"

struct upstream_window upstream_window_of(const struct config *c,
                                          const struct upstream_facts *facts, str model)
{
    const struct model_profile p = upstream_named_profile(c, facts, model);
    const struct upstream_limits told = upstream_facts_limits(facts, model);
    struct upstream_window w = {.tokens = told.window,
                                .is_guess = told.is_guess,
                                .takes_images = told.images == MODEL_IMAGES_TAKEN};

    if (p.context_window > 0) {
        w.tokens = p.context_window;
        w.is_guess = false;
    }
    if (p.images != MODEL_IMAGES_UNKNOWN)
        w.takes_images = p.images == MODEL_IMAGES_TAKEN;
    return w;
}
