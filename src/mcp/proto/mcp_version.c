/* mcp_version.c -- names of the protocol revisions. */
#include "mcp/proto/mcp_version.h"

#include "json/json_read.h"
#include "json/json_text.h"

static const str names[MCP_VERSION_COUNT] = {
    [MCP_VERSION_NONE] = STR_INIT(""),         [MCP_2024_11_05] = STR_INIT("2024-11-05"),
    [MCP_2025_03_26] = STR_INIT("2025-03-26"), [MCP_2025_06_18] = STR_INIT("2025-06-18"),
    [MCP_2025_11_25] = STR_INIT("2025-11-25"), [MCP_2026_07_28] = STR_INIT("2026-07-28"),
};

str mcp_version_name(enum mcp_version version)
{
    return names[version];
}

enum mcp_version mcp_version_find(str name)
{
    for (int i = MCP_VERSION_NONE + 1; i < MCP_VERSION_COUNT; i++) {
        if (json_text_eq(name, names[i]))
            return (enum mcp_version)i;
    }
    return MCP_VERSION_NONE;
}

enum mcp_version mcp_version_newest(str raw)
{
    enum mcp_version newest = MCP_VERSION_NONE;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return newest;
    while (jr_next_element(&j)) {
        enum mcp_version version = mcp_version_find(jr_string(&j));

        newest = version > newest ? version : newest;
    }
    return newest;
}
