/* mcp_place.c -- the keywords of JSON Schema that do not hold a schema. */
#include "mcp/proto/mcp_place.h"

#include <stddef.h>

static const struct {
    str keyword;
    enum mcp_place place;
} keywords[] = {
    {STR_INIT("properties"), MCP_PLACE_SCHEMAS},
    {STR_INIT("patternProperties"), MCP_PLACE_SCHEMAS},
    {STR_INIT("$defs"), MCP_PLACE_SCHEMAS},
    {STR_INIT("definitions"), MCP_PLACE_SCHEMAS},
    {STR_INIT("dependentSchemas"), MCP_PLACE_SCHEMAS},
    {STR_INIT("dependencies"), MCP_PLACE_SCHEMAS},
    {STR_INIT("const"), MCP_PLACE_DATA},
    {STR_INIT("default"), MCP_PLACE_DATA},
    {STR_INIT("enum"), MCP_PLACE_DATA},
    {STR_INIT("example"), MCP_PLACE_DATA},
    {STR_INIT("examples"), MCP_PLACE_DATA},
};

static enum mcp_place place_of_keyword(str key)
{
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (str_eq(key, keywords[i].keyword))
            return keywords[i].place;
    }
    return MCP_PLACE_SCHEMA;
}

enum mcp_place mcp_place_of_member(enum mcp_place place, str key)
{
    switch (place) {
    case MCP_PLACE_PROPERTY:
        return str_eq(key, STR("properties")) ? MCP_PLACE_PROPERTIES : place_of_keyword(key);
    case MCP_PLACE_PROPERTIES:
        return MCP_PLACE_PROPERTY;
    case MCP_PLACE_SCHEMA:
        return place_of_keyword(key);
    case MCP_PLACE_SCHEMAS:
        return MCP_PLACE_SCHEMA;
    default:
        return MCP_PLACE_DATA;
    }
}

/* Elements are not reached by names, and where no array may stand is no schema. */
enum mcp_place mcp_place_of_element(enum mcp_place place)
{
    return mcp_place_has_keywords(place) ? MCP_PLACE_SCHEMA : MCP_PLACE_DATA;
}
