/* api_key_names.c -- keys put together by their owners, in one pass. */
#include "access/api_key_names.h"

#include "access/api_key_internal.h"
#include "base/str_map.h"
#include "ev/loop.h"

static void add_key(struct api_key_name *name, struct api_key_shown *shown, const struct api_key *k)
{
    *shown = (struct api_key_shown){
        .mark = k->caller.mark, .expires_s = k->expires_s, .is_admin = k->is_admin};
    if (name->first == NULL)
        name->first = shown;
    else
        name->last->next = shown;
    name->last = shown;
}

int api_key_names(const struct api_keys *keys, struct arena *memory, struct api_key_name **ret,
                  size_t *ret_n)
{
    const struct id_source randomness = {random_fill, NULL};
    struct api_key_name *names = arena_array(memory, keys->n, sizeof(*names));
    struct api_key_shown *shown = arena_array(memory, keys->n, sizeof(*shown));
    struct str_map by_owner;
    size_t n = 0;

    if (names == NULL || shown == NULL)
        return -1;
    str_map_init(&by_owner, &randomness);
    for (size_t i = 0; i < keys->n; i++) {
        const struct api_key *k = &keys->list[i];
        void **slot = str_map_slot(&by_owner, k->caller.owner, memory);

        if (slot == NULL)
            return -1;
        if (*slot == NULL) {
            names[n].caller = k->caller;
            *slot = &names[n++];
        }
        add_key(*slot, &shown[i], k);
    }
    *ret = names;
    *ret_n = n;
    return 0;
}
