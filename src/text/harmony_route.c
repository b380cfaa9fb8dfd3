/* harmony_route.c -- the recipient decides; without one, the channel does. */
#include "text/harmony_route.h"

static const struct harmony_route to_reasoning = {
    .target = HARMONY_TO_REASONING, .label = STR_INIT(""), .name = STR_INIT("")};

/* A call that names nothing cannot be made, and is nothing to show either. */
static struct harmony_route call_route(enum harmony_target target, str label, str name)
{
    bool is_nameless = name.len == 0 || (target == HARMONY_TO_MCP && label.len == 0);

    if (is_nameless)
        return to_reasoning;
    return (struct harmony_route){.target = target, .label = label, .name = name};
}

static struct harmony_route speech_route(enum harmony_channel channel)
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
static struct harmony_route mcp_route(str recipient)
{
    size_t n = str_find_char(recipient, '.');

    if (n == recipient.len)
        return call_route(HARMONY_TO_MCP, recipient, recipient);
    return call_route(HARMONY_TO_MCP, str_from(recipient.p, n), str_skip(recipient, n + 1));
}

static str browser_action(str action)
{
    if (str_eq(action, STR("open")) || str_eq(action, STR("find")))
        return action;
    return STR("search");
}

/* True when the recipient is the namespace or something in it; *ret is that something. */
static bool is_in_namespace(str recipient, str space, str *ret)
{
    if (!str_starts_with(recipient, space) ||
        (recipient.len > space.len && recipient.p[space.len] != '.'))
        return false;
    *ret = str_skip(recipient, space.len + 1);
    return true;
}

static struct harmony_route tool_route(str recipient, const struct harmony_route_tools *tools)
{
    str rest;

    if (str_starts_with(recipient, STR("functions.")))
        return call_route(HARMONY_TO_FUNCTION, STR(""), str_skip(recipient, 10));
    if (tools->is_function(tools->arg, recipient))
        return call_route(HARMONY_TO_FUNCTION, STR(""), recipient);
    if (str_eq(recipient, STR("python")))
        return tools->has_python ? call_route(HARMONY_TO_PYTHON, STR(""), recipient) : to_reasoning;
    if (is_in_namespace(recipient, STR("browser"), &rest))
        return tools->has_browser ? call_route(HARMONY_TO_BROWSER, STR(""), browser_action(rest))
                                  : to_reasoning;
    if (is_in_namespace(recipient, STR("container"), &rest))
        return call_route(HARMONY_TO_MCP, STR("container"), rest.len == 0 ? STR("exec") : rest);
    if (str_starts_with(recipient, STR("mcp.")))
        return mcp_route(str_skip(recipient, 4));
    return mcp_route(recipient);
}

struct harmony_route harmony_route(const struct harmony_header *header,
                                   const struct harmony_route_tools *tools)
{
    if (header->recipient.len > 0)
        return tool_route(header->recipient, tools);
    return speech_route(header->channel);
}
