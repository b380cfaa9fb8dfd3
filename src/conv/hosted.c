/* hosted.c -- the names in hosted.def. */
#include "conv/hosted.h"

#include "json/json_text.h"

static const struct hosted_names {
    str type, item_type;
} names[HOSTED_KIND_COUNT] = {
#define HOSTED_TOOL(symbol, type, ...)                                                             \
    [HOSTED_##symbol] = {STR_INIT(#type), STR_INIT(#type "_call")},
#include "conv/hosted.def"
};

str hosted_type(enum hosted_kind kind)
{
    return names[kind].type;
}

enum hosted_kind hosted_of_type(str type)
{
    enum hosted_kind kind = HOSTED_KIND_COUNT - 1;

    while (kind != HOSTED_NONE && !str_eq(type, names[kind].type))
        kind--;
    return kind;
}

enum hosted_kind hosted_of_item(str item_type)
{
    enum hosted_kind kind = HOSTED_KIND_COUNT - 1;

    while (kind != HOSTED_NONE && !json_text_eq(item_type, names[kind].item_type))
        kind--;
    return kind;
}
