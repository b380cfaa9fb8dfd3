/* event_difference.c -- takes away what may differ and compares the rest. */
#include "lib/event_difference.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/event_check.h"

static void forget(json_t *value);

static bool is_name_of_something(const char *key)
{
    static const char *const keys[] = {"id", "item_id", "call_id", "container_id"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return false;
}

/* Of a response object only what its rounds made of it counts. */
static void forget_request(json_t *response)
{
    static const char *const kept[] = {"object", "status", "error", "incomplete_details",
                                       "output", "usage"};
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(response, next, key, value)
    {
        bool counts = false;

        for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
            counts = counts || strcmp(key, kept[i]) == 0;
        if (!counts)
            json_object_set_new(response, key, json_null());
    }
}

static void forget_in_object(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_string(value) && is_name_of_something(key))
            json_object_set_new(object, key, json_null());
        else
            forget(value);
    }
}

static void forget(json_t *value)
{
    json_t *element;
    size_t i;

    if (strcmp("response", json_is_object(value) && json_object_get(value, "object") != NULL
                               ? json_string_value(json_object_get(value, "object"))
                               : "") == 0)
        forget_request(value);
    if (json_is_object(value))
        forget_in_object(value);
    json_array_foreach(value, i, element) forget(element);
}

static char *describe(size_t i, json_t *got, json_t *expected)
{
    char *a = got == NULL ? NULL : json_dumps(got, JSON_COMPACT | JSON_SORT_KEYS);
    char *b = expected == NULL ? NULL : json_dumps(expected, JSON_COMPACT | JSON_SORT_KEYS);
    size_t n = 128 + (a == NULL ? 0 : strlen(a)) + (b == NULL ? 0 : strlen(b));
    char *words = malloc(n);

    if (words != NULL)
        snprintf(words, n, "event %zu\n  expected %s\n  got      %s", i,
                 b == NULL ? "no more events" : b, a == NULL ? "no more events" : a);
    free(a);
    free(b);
    return words;
}

char *event_difference(str got, str expected)
{
    json_t *a = event_list(got), *b = event_list(expected);
    char *words = NULL;

    forget(a);
    forget(b);
    for (size_t i = 0; words == NULL && i < json_array_size(a) + json_array_size(b); i++) {
        json_t *of_a = json_array_get(a, i), *of_b = json_array_get(b, i);

        if (of_a == NULL && of_b == NULL)
            break;
        if (of_a == NULL || of_b == NULL || !json_equal(of_a, of_b))
            words = describe(i, of_a, of_b);
    }
    json_decref(a);
    json_decref(b);
    return words;
}
