/* mcp_place.h -- what a member of a JSON Schema is: a keyword, a name, or data.
 *
 * `x-mcp-header` is a keyword in a schema, but the name of a property below
 * `properties`, and just text below `const`. Whoever walks over a schema asks
 * for the place of each member by the place of the object it stands in. */
#ifndef ANTIPHON_MCP_PROTO_MCP_PLACE_H
#define ANTIPHON_MCP_PROTO_MCP_PLACE_H

#include "base/str.h"

enum mcp_place {
    MCP_PLACE_PROPERTY,   /* a schema reached by the names of properties alone; the root */
    MCP_PLACE_PROPERTIES, /* the map from names to those */
    MCP_PLACE_SCHEMA,     /* any other schema, or array of schemas */
    MCP_PLACE_SCHEMAS,    /* a map from names to others */
    MCP_PLACE_DATA,       /* no schema: nothing in it is a keyword */
};

/* The annotation that asks for a header (MCP 6.2). */
#define MCP_HEADER_KEYWORD STR("x-mcp-header")

static inline bool mcp_place_has_keywords(enum mcp_place place)
{
    return place == MCP_PLACE_PROPERTY || place == MCP_PLACE_SCHEMA;
}

/* The place of the value of member key of an object at this place. */
enum mcp_place mcp_place_of_member(enum mcp_place place, str key);

/* The place of the elements of an array at this place. */
enum mcp_place mcp_place_of_element(enum mcp_place place);

#endif
