/* settings.c -- counted references. */
#include "flight/settings.h"

#include <stdlib.h>

struct settings *settings_new(void)
{
    struct settings *s = calloc(1, sizeof(*s));

    if (s != NULL)
        atomic_init(&s->n_references, 1);
    return s;
}

struct settings *settings_ref(struct settings *s)
{
    atomic_fetch_add(&s->n_references, 1);
    return s;
}

void settings_unref(struct settings *s)
{
    if (s == NULL || atomic_fetch_sub(&s->n_references, 1) != 1)
        return;
    upstream_table_unref(s->upstreams);
    config_fini(&s->config);
    arena_fini(&s->memory);
    free(s);
}
