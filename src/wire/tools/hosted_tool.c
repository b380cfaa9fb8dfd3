/* hosted_tool.c -- the hosted tools by kind. */
#include "wire/tools/hosted_tool.h"

const struct hosted_tool *hosted_tool(enum hosted_kind kind)
{
    static const struct hosted_tool *const tools[HOSTED_KIND_COUNT] = {
#define HOSTED_TOOL(symbol, type, ...) [HOSTED_##symbol] = &hosted_##type,
#include "conv/hosted.def"
    };

    return tools[kind];
}

int hosted_note_place(const struct hosted_declared *d, str *ret, struct err *reterr)
{
    *ret = arena_dup(d->arena, str_from_c(path_name(d->at).text));
    return str_is_none(*ret) ? err_set_no_memory(reterr) : 0;
}
