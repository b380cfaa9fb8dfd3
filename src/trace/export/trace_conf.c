/* trace_conf.c -- a table of variables, and what may stand in each. */
#include "trace/export/trace_conf.h"

#include <stdio.h>
#include <unistd.h>

#include "base/num.h"
#include "base/url.h"
#include "config/config_key.h"

/* ---- variables */

enum variable {
#define VARIABLE(symbol, name, initial, help) VAR_##symbol,
#include "trace/export/trace_variable.def"
    VAR_COUNT
};

static const struct {
    str name, initial;
} variables[VAR_COUNT] = {
#define VARIABLE(symbol, name, initial, help) [VAR_##symbol] = {STR_INIT(name), STR_INIT(initial)},
#include "trace/export/trace_variable.def"
};

struct reading {
    struct trace_conf *conf;
    const char *const *env;
    struct config_problems *problems;
    str name[VAR_COUNT];  /* of the variable that says it */
    str value[VAR_COUNT]; /* of that, or the default; STR_NONE: neither */
    bool is_set[VAR_COUNT];
    bool is_signals[VAR_COUNT]; /* it is the one for traces alone */
};

#define SIGNAL_PREFIX "OTEL_EXPORTER_OTLP_"

/* OTEL_EXPORTER_OTLP_TRACES_X before OTEL_EXPORTER_OTLP_X. */
static void find_variable(struct reading *r, enum variable v)
{
    const str name = variables[v].name;
    str value = STR_NONE;
    char own[96];

    r->name[v] = name;
    if (str_starts_with(name, STR(SIGNAL_PREFIX))) {
        (void)snprintf(own, sizeof(own), SIGNAL_PREFIX "TRACES_%.*s",
                       STR_ARG(str_skip(name, strlen(SIGNAL_PREFIX))));
        value = config_env_get(r->env, str_from_c(own));
        if (!str_is_none(value)) {
            r->is_signals[v] = true;
            r->name[v] = arena_dup(&r->conf->memory, str_from_c(own));
        }
    }
    if (str_is_none(value))
        value = config_env_get(r->env, name);
    r->is_set[v] = !str_is_none(value);
    r->value[v] = r->is_set[v] ? str_trim(value) : variables[v].initial;
}

/* What the variable says is no use: `wanted` is what it should. Values of headers are never shown. */
static void refuse_value(struct reading *r, enum variable v, const char *wanted)
{
    config_error(r->problems, "%.*s: %s is not valid: %s", STR_ARG(r->name[v]),
                 config_quote(r->value[v]).text, wanted);
}

static bool says(const struct reading *r, enum variable v, const char *word)
{
    return str_eq_nocase(r->value[v], str_from_c(word));
}

static const char *keep_text(struct reading *r, str text)
{
    str copy = arena_dup(&r->conf->memory, text);

    if (str_is_none(copy))
        config_error(r->problems, "traces: out of memory");
    return str_is_none(copy) ? "" : copy.p;
}

static uint64_t read_number(struct reading *r, enum variable v, uint64_t least)
{
    enum { MOST = 1000000000 };
    uint64_t n = least;

    if (!num_uint(r->value[v], &n) || n < least || n > MOST)
        refuse_value(r, v,
                     least == 0 ? "write a number, without a unit"
                                : "write a number above 0, without a unit");
    return n;
}

/* ---- where they go */

/* Users and passwords would show up in process lists and logs: they have a variable of their own. */
static bool is_endpoint(str text)
{
    const struct url u = url_split(text);

    return url_is_http(&u) && url_host_is_clear(&u) && str_is_none(u.userinfo) &&
           str_is_none(u.fragment) && str_is_visible(text);
}

static void read_endpoint(struct reading *r)
{
    str url = r->value[VAR_ENDPOINT];
    struct buf text = {.limit = 0};

    if (!is_endpoint(url)) {
        config_error(r->problems,
                     "%.*s is not valid: write http://HOST[:PORT][/PATH] or https://...; what the "
                     "receiver wants to know you by goes into OTEL_EXPORTER_OTLP_HEADERS",
                     STR_ARG(r->name[VAR_ENDPOINT]));
        return;
    }
    if (!r->is_signals[VAR_ENDPOINT]) {
        while (str_ends_with(url, STR("/")))
            url.len--;
    }
    buf_append(&text, url);
    if (!r->is_signals[VAR_ENDPOINT])
        buf_c(&text, "/v1/traces");
    r->conf->endpoint = keep_text(r, buf_str(&text));
    buf_fini(&text);
}

static void read_protocol(struct reading *r)
{
    r->conf->is_json = says(r, VAR_PROTOCOL, "http/json");
    if (says(r, VAR_PROTOCOL, "grpc"))
        refuse_value(
            r, VAR_PROTOCOL,
            "there is no gRPC here: write http/protobuf, and the receiver's port for HTTP, "
            "which is usually 4318");
    else if (!r->conf->is_json && !says(r, VAR_PROTOCOL, "http/protobuf"))
        refuse_value(r, VAR_PROTOCOL, "write http/protobuf or http/json");
}

static void read_compression(struct reading *r)
{
    r->conf->is_gzip = says(r, VAR_COMPRESSION, "gzip");
    if (!r->conf->is_gzip && !says(r, VAR_COMPRESSION, "none"))
        refuse_value(r, VAR_COMPRESSION, "write gzip or none");
}

static const char *read_file_name(struct reading *r, enum variable v)
{
    const char *path;

    if (!r->is_set[v])
        return NULL;
    path = keep_text(r, r->value[v]);
    if (access(path, R_OK) == -1)
        refuse_value(r, v, "there is no such file that the gateway may read");
    return path;
}

static bool is_header_text(str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < ' ' || text.p[i] > '~')
            return false;
    }
    return true;
}

/* A problem does not show the value: it holds keys. */
static void read_list(struct reading *r, enum variable v, struct trace_pairs *ret)
{
    const char *wrong = trace_list_read(r->value[v], &r->conf->memory, ret->list, &ret->n);

    if (wrong != NULL)
        config_error(r->problems, "%.*s %s", STR_ARG(r->name[v]), wrong);
}

static void read_headers(struct reading *r)
{
    struct trace_pairs *headers = &r->conf->headers;

    read_list(r, VAR_HEADERS, headers);
    for (size_t i = 0; i < headers->n; i++) {
        const str key = headers->list[i].key;

        if (!str_is_visible(key) || str_find_char(key, ':') < key.len ||
            !is_header_text(headers->list[i].value))
            config_error(r->problems,
                         "%.*s has something that no header can hold in its element %zu",
                         STR_ARG(r->name[VAR_HEADERS]), i + 1);
    }
}

/* ---- which spans, and what of them */

static void read_sampler(struct reading *r, const struct config *c)
{
    const str argument = r->is_set[VAR_SAMPLER_ARG] ? r->value[VAR_SAMPLER_ARG] : STR_NONE;
    const char *wrong;

    if (c->places[CONFIG_KEY_trace_sample].source != CONFIG_FROM_DEFAULT) {
        r->conf->sampler = (struct trace_sampler){.follows_parent = true, .share = 1};
        (void)trace_share_read(str_from_c(c->trace_sample), &r->conf->sampler.share);
        return;
    }
    wrong = trace_sampler_read(r->value[VAR_SAMPLER], argument, &r->conf->sampler);
    if (wrong != NULL)
        config_error(r->problems, "%s, not %s", wrong,
                     config_quote(str_is_none(argument) ? r->value[VAR_SAMPLER] : argument).text);
}

static void read_propagators(struct reading *r)
{
    str list = r->value[VAR_PROPAGATORS];
    bool is_none = false;

    while (list.len > 0) {
        const str word = str_trim(str_cut(&list, ','));

        if (str_eq_nocase(word, STR("tracecontext")))
            r->conf->propagates = true;
        else if (str_eq_nocase(word, STR("none")))
            is_none = true;
        else if (!str_eq_nocase(word, STR("baggage")))
            refuse_value(r, VAR_PROPAGATORS, "write tracecontext, baggage or none");
    }
    if (is_none)
        r->conf->propagates = false;
}

static void read_capture(struct reading *r)
{
    static const str on[] = {STR_INIT("SPAN_ONLY"), STR_INIT("true")};
    static const str off[] = {STR_INIT("NO_CONTENT"), STR_INIT("false")};

    r->conf->captures = str_is_one_of_nocase(r->value[VAR_CAPTURE], LIST_OF(on));
    if (!r->conf->captures && !str_is_one_of_nocase(r->value[VAR_CAPTURE], LIST_OF(off)))
        refuse_value(r, VAR_CAPTURE, "write NO_CONTENT or SPAN_ONLY; there are no events");
}

static void read_batches(struct reading *r)
{
    struct trace_conf *conf = r->conf;

    conf->timeout_ms = read_number(r, VAR_TIMEOUT, 1);
    conf->max_queue = read_number(r, VAR_MAX_QUEUE, 1);
    conf->max_batch = read_number(r, VAR_MAX_BATCH, 1);
    conf->schedule_delay_ms = read_number(r, VAR_DELAY, 1);
    conf->export_timeout_ms = read_number(r, VAR_EXPORT_TIMEOUT, 1);
    if (conf->max_batch > conf->max_queue && r->is_set[VAR_MAX_BATCH])
        refuse_value(r, VAR_MAX_BATCH, "no more can be sent than OTEL_BSP_MAX_QUEUE_SIZE");
    else if (conf->max_batch > conf->max_queue)
        conf->max_batch = conf->max_queue;
    conf->limits.attributes = read_number(r, VAR_ATTRIBUTE_COUNT, 1);
    conf->limits.value_bytes = read_number(r, VAR_VALUE_LENGTH, 1);
}

/* ---- is there anything to do? */

/* A key that is written wins; else the variables decide, and without any there are no traces. */
static bool is_wanted(struct reading *r, const struct config *c)
{
    static const str exporters[] = {STR_INIT("otlp"), STR_INIT("none"), STR_INIT("")};
    const bool is_written = c->places[CONFIG_KEY_traces].source != CONFIG_FROM_DEFAULT;

    if (says(r, VAR_DISABLED, "true") || says(r, VAR_EXPORTER, "none"))
        return false;
    if (is_written && c->traces == CONFIG_TRACES_OFF)
        return false;
    if (!str_is_one_of_nocase(r->value[VAR_EXPORTER], LIST_OF(exporters)))
        refuse_value(r, VAR_EXPORTER, "write otlp or none");
    return is_written || r->is_set[VAR_EXPORTER] || r->is_set[VAR_ENDPOINT];
}

int trace_conf_load(struct trace_conf *ret, const struct config *c, const char *const *env,
                    struct config_problems *problems)
{
    const size_t n_before = problems->n_errors;
    struct reading r = {.conf = ret, .env = env, .problems = problems};

    *ret = (struct trace_conf){.is_on = false};
    for (unsigned v = 0; v < VAR_COUNT; v++)
        find_variable(&r, (enum variable)v);
    ret->is_on = is_wanted(&r, c);
    if (!ret->is_on)
        return problems->n_errors == n_before ? 0 : -1;
    read_endpoint(&r);
    read_protocol(&r);
    read_compression(&r);
    read_headers(&r);
    read_list(&r, VAR_RESOURCE, &ret->resource);
    ret->service_name =
        r.is_set[VAR_SERVICE_NAME] ? keep_text(&r, r.value[VAR_SERVICE_NAME]) : NULL;
    ret->ca_file = read_file_name(&r, VAR_CERTIFICATE);
    ret->client_cert = read_file_name(&r, VAR_CLIENT_CERTIFICATE);
    ret->client_key = read_file_name(&r, VAR_CLIENT_KEY);
    read_batches(&r);
    read_sampler(&r, c);
    read_propagators(&r);
    read_capture(&r);
    return problems->n_errors == n_before ? 0 : -1;
}

void trace_conf_fini(struct trace_conf *conf)
{
    arena_fini(&conf->memory);
}
