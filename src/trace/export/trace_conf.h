/* trace_conf.h -- what variables OTEL_* and the configuration say about traces.
 *
 * The names and defaults are those of OpenTelemetry; trace_variable.def has them. Whether there are traces
 * at all the key `traces` decides, and where that says nothing, the variables: nobody who has asked for
 * none gets some. Variables are judged only when there are. */
#ifndef ANTIPHON_TRACE_EXPORT_TRACE_CONF_H
#define ANTIPHON_TRACE_EXPORT_TRACE_CONF_H

#include "config/config.h"
#include "config/config_problems.h"
#include "trace/span.h"
#include "trace/trace_list.h"
#include "trace/trace_sample.h"

struct trace_pairs {
    struct trace_pair list[TRACE_LIST_MAX];
    size_t n;
};

struct trace_conf {
    bool is_on;
    bool is_json, is_gzip;
    bool propagates; /* context goes to upstreams and MCP servers */
    bool captures;   /* what was said becomes an attribute */
    const char *endpoint;
    const char *ca_file, *client_cert, *client_key; /* or NULL */
    const char *service_name;
    struct trace_pairs headers, resource;
    struct trace_sampler sampler;
    struct span_limits limits;
    uint64_t timeout_ms; /* of one attempt to send */
    uint64_t max_queue, max_batch, schedule_delay_ms, export_timeout_ms;
    struct arena memory; /* of all texts */
};

/* Returns 0, or -1 with errors among the problems; finish it either way. env ends with NULL. */
int trace_conf_load(struct trace_conf *ret, const struct config *c, const char *const *env,
                    struct config_problems *problems);
void trace_conf_fini(struct trace_conf *conf);

#endif
