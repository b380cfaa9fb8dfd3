#include "upstream/upstream_window.h"

#include "upstream/upstream_options.h"

struct upstream_window upstream_window_of(const struct config *c,
                                          const struct upstream_facts *facts, str model)
{
    const int64_t configured = upstream_named_profile(c, facts, model).context_window;

    if (configured > 0)
        return (struct upstream_window){.tokens = configured};
    for (size_t i = 0; facts != NULL && i < facts->models.n; i++) {
        if (str_eq(facts->models.v[i].id, model))
            return (struct upstream_window){.tokens = facts->models.v[i].context_window};
    }
    return (struct upstream_window){.tokens = facts != NULL ? facts->context_window : 0};
}
