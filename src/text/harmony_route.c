/* harmony_route.c -- the recipient decides; without one, the channel does. */
#include "text/harmony_route.h"

static const struct harmony_route to_reasoning = {
    .target = HARMONY_TO_REASONING, .label = STR_INIT(""), .name = STR_INIT("")};

/* A call that names nothing cannot be made, and is nothing to show either. */
static struct harmony_route to(enum harmony_target target, str label, str name)
{
    bool is_nameless = name.len == 0 || (target == HARMONY_TO_MCP && label.len == 0);

    if (is_nameless)
        return to_reasoning;
    return (struct harmony_route){.target = target, .label = label, .name = name};
}

static struct harmony_route to_speech(enum harmony_channel channel)
{
    static const enum harmony_target targets[] = {
        [HARMONY_NO_CHANNEL] = HARMONY_TO_ANSWER,       [HARMONY_ANALYSIS] = HARMONY_TO_REASONING,
        [HARMONY_COMMENTARY] = HARMONY_TO_PREAMBLE,     [HARMONY_FINAL] = HARMONY_TO_ANSWER,
        [HARMONY_OTHER_CHANNEL] = HARMONY_TO_REASONING,
    };

    return (struct harmony_route){
        .target = targets[channel], .label = STR_INIT(""), .name = STR_INIT("")};
}

/* "A.B" as A and B, "A" as A and A. */
static struct harmony_route to_mcp(str recipient)
{
    size_t n = str_find_char(recipient, '.');

    if (n == recipient.len)
        return to(HARMONY_TO_MCP, recipient, recipient);
    return to(HARMONY_TO_MCP, str_from(recipient.p, n), str_skip(recipient, n + 1));
}

static str browser_action(str action)
{
    if (str_eq(action, STR("open")) || str_eq(action, STR("find")))
        return action;
    return STR("search");
}

/* Is the recipient a namespace, or something in it? Then *ret is what. */
static bool is_in(str recipient, str space, str *ret)
{
    if (!str_starts_with(recipient, space) ||
        (recipient.len > space.len && recipient.p[space.len] != '.'))
        return false;
    *ret = str_skip(recipient, space.len + 1);
    return true;
}

static struct harmony_route to_tool(str recipient, const struct harmony_route_tools *tools)
{
    str rest;

    if (str_starts_with(recipient, STR("functions.")))
        return to(HARMONY_TO_FUNCTION, STR(""), str_skip(recipient, 10));
    if (tools->is_function(tools->arg, recipient))
        return to(HARMONY_TO_FUNCTION, STR(""), recipient);
    if (str_eq(recipient, STR("python")))
        return tools->has_python ? to(HARMONY_TO_PYTHON, STR(""), recipient) : to_reasoning;
    if (is_in(recipient, STR("browser"), &rest))
        return tools->has_browser ? to(HARMONY_TO_BROWSER, STR(""), browser_action(rest))
                                  : to_reasoning;
    if (is_in(recipient, STR("container"), &rest))
        return to(HARMONY_TO_MCP, STR("container"), rest.len == 0 ? STR("exec") : rest);
    if (str_starts_with(recipient, STR("mcp.")))
        return to_mcp(str_skip(recipient, 4));
    return to_mcp(recipient);
}

struct harmony_route harmony_route(const struct harmony_header *header,
                                   const struct harmony_route_tools *tools)
{
    if (header->recipient.len > 0)
        return to_tool(header->recipient, tools);
    return to_speech(header->channel);
}
