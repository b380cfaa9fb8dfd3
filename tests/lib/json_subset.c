/* json_subset.c -- one walk over what was expected. */
#include "lib/json_subset.h"

static bool object_holds(json_t *got, json_t *expected)
{
    const char *key;
    json_t *value;

    json_object_foreach(expected, key, value)
    {
        if (!json_holds(json_object_get(got, key), value))
            return false;
    }
    return json_is_object(got);
}

static bool array_holds(json_t *got, json_t *expected)
{
    size_t i;
    json_t *value;

    if (!json_is_array(got) || json_array_size(got) != json_array_size(expected))
        return false;
    json_array_foreach(expected, i, value)
    {
        if (!json_holds(json_array_get(got, i), value))
            return false;
    }
    return true;
}

bool json_holds(json_t *got, json_t *expected)
{
    if (json_is_object(expected))
        return object_holds(got, expected);
    if (json_is_array(expected))
        return array_holds(got, expected);
    return json_equal(got, expected);
}
