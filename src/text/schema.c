/* schema.c -- JSON schemas, one level at a time. */
#include "text/schema.h"

#include <stddef.h>

static const struct {
    str name;
    size_t offset;
} keywords[] = {
    {STR_INIT("type"), offsetof(struct schema, type)},
    {STR_INIT("oneOf"), offsetof(struct schema, one_of)},
    {STR_INIT("properties"), offsetof(struct schema, properties)},
    {STR_INIT("required"), offsetof(struct schema, required)},
    {STR_INIT("items"), offsetof(struct schema, items)},
    {STR_INIT("enum"), offsetof(struct schema, members)},
    {STR_INIT("examples"), offsetof(struct schema, examples)},
    {STR_INIT("title"), offsetof(struct schema, title)},
    {STR_INIT("description"), offsetof(struct schema, description)},
    {STR_INIT("default"), offsetof(struct schema, initial)},
    {STR_INIT("nullable"), offsetof(struct schema, nullable)},
};

enum { N_KEYWORDS = COUNT_OF(keywords) };

static str *find_keyword(struct schema *s, str name)
{
    for (size_t i = 0; i < N_KEYWORDS; i++) {
        if (str_eq(name, keywords[i].name))
            return (str *)(void *)((char *)s + keywords[i].offset);
    }
    return NULL;
}

struct schema schema_read(struct jr *j)
{
    struct schema s = {0};
    str name;

    if (!jr_enter(j, JR_OBJECT))
        return s;
    while (jr_next_member(j, &name)) {
        str *member = find_keyword(&s, name);

        if (member == NULL)
            jr_skip(j);
        else
            *member = jr_raw(j);
    }
    return s;
}

bool schema_is_union(const struct schema *s)
{
    struct jr j;

    if (jr_type_of(s->one_of) != JR_ARRAY)
        return false;
    jr_init(&j, s->one_of);
    return jr_enter(&j, JR_ARRAY) && jr_next_element(&j);
}
