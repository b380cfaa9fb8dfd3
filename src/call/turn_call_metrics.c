/* turn_call_metrics.c -- calls by kind, server and outcome, and how long they took. */
#include "call/turn_call_metrics.h"

#include "flight/worker.h"

/* A search for tools is none of the kinds that are counted. */
static bool kind_of(const struct turn_call *c, uint16_t *ret)
{
    *ret = c->kind == &turn_call_mcp                ? METRIC_TOOL_KIND_MCP
           : c->kind == &turn_call_code_interpreter ? METRIC_TOOL_KIND_CODE_INTERPRETER
                                                    : METRIC_TOOL_KIND_WEB_SEARCH;
    return metrics_are_on && c->kind != &turn_call_tool_search;
}

/* Names of servers that a request has brought are its client's words. */
static uint16_t server_of(const struct turn_call *c)
{
    if (c->tool == NULL)
        return METRIC_WORD_NONE;
    return metric_word(METRIC_DOMAIN_SERVER,
                       c->tool->remote != NULL ? STR("_remote") : c->tool->catalogue->label);
}

static uint16_t tool_of(const struct turn_call *c)
{
    if (c->tool == NULL || !c->of->flight->worker->config->metrics_tools)
        return METRIC_WORD_NONE;
    return metric_word(METRIC_DOMAIN_TOOL, c->tool->tool->name);
}

static void count_call(const struct turn_call *c, uint16_t kind, unsigned outcome)
{
    const struct metric_labels labels = {{kind, server_of(c), (uint16_t)outcome, tool_of(c)}};

    metrics_add(metrics_of(METRIC_TOOL_CALLS, &labels), 1);
}

static void count_time(const struct turn_call *c, uint16_t kind, unsigned outcome)
{
    const uint64_t passed_ms = loop_now_ms(c->of->flight->worker->loop) - c->start_ms;
    struct metric_labels labels = {{METRIC_TOOL_TYPE_EXTENSION, tool_of(c)}};

    if (kind != METRIC_TOOL_KIND_MCP)
        labels.v[1] =
            metric_word(METRIC_DOMAIN_TOOL, metric_closed_word(METRIC_DOMAIN_TOOL_KIND, kind));
    if (outcome != METRIC_TOOL_OUTCOME_COMPLETED)
        labels.v[2] = metric_word(METRIC_DOMAIN_CODE,
                                  metric_closed_word(METRIC_DOMAIN_TOOL_OUTCOME, outcome));
    metrics_observe(METRIC_TOOL_DURATION, metrics_of(METRIC_TOOL_DURATION, &labels),
                    1000 * passed_ms);
}

static void end_call(const struct turn_call *c, unsigned outcome)
{
    uint16_t kind;

    if (!kind_of(c, &kind))
        return;
    count_call(c, kind, outcome);
    count_time(c, kind, outcome);
}

static unsigned outcome_of(const struct turn_call_result *r)
{
    if (!r->is_failed)
        return METRIC_TOOL_OUTCOME_COMPLETED;
    switch (r->why) {
    case TURN_CALL_TIMEOUT:
        return METRIC_TOOL_OUTCOME_TIMEOUT;
    case TURN_CALL_LIMIT:
        return METRIC_TOOL_OUTCOME_LIMIT;
    case TURN_CALL_ARGUMENTS:
        return METRIC_TOOL_OUTCOME_INVALID_ARGUMENTS;
    case TURN_CALL_FAILED:
        break;
    }
    return METRIC_TOOL_OUTCOME_FAILED;
}

void turn_call_metrics_end(const struct turn_call *c)
{
    end_call(c, outcome_of(&c->result));
}

void turn_call_metrics_cancel(const struct turn_call *c)
{
    end_call(c, METRIC_TOOL_OUTCOME_CANCELLED);
}

void turn_call_metrics_refused(size_t n)
{
    const struct metric_labels labels = {
        {METRIC_TOOL_KIND_MCP, METRIC_WORD_NONE, METRIC_TOOL_OUTCOME_NOT_APPROVED}};

    if (n > 0)
        metrics_add(metrics_of(METRIC_TOOL_CALLS, &labels), n);
}
