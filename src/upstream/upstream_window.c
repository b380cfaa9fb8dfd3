#include "upstream/upstream_window.h"

struct upstream_window upstream_window_of(const struct config *c,
                                          const struct upstream_facts *facts, str model)
{
    (void)c;
    for (size_t i = 0; facts != NULL && i < facts->models.n; i++) {
        if (str_eq(facts->models.v[i].id, model))
            return (struct upstream_window){.tokens = facts->models.v[i].context_window};
    }
    return (struct upstream_window){.tokens = facts != NULL ? facts->context_window : 0};
}
