/* trace_sample.c -- samplers of OpenTelemetry.
 *
 * A share is decided by the last eight bytes of the id, as other SDKs do: so all services that take the
 * same share take the same traces. */
#include "trace/trace_sample.h"

#include "json/json_read.h"

static const struct {
    str name;
    bool follows_parent, has_argument;
    double share;
} samplers[] = {
    {STR_INIT("always_on"), false, false, 1},
    {STR_INIT("always_off"), false, false, 0},
    {STR_INIT("traceidratio"), false, true, 1},
    {STR_INIT("parentbased_always_on"), true, false, 1},
    {STR_INIT("parentbased_always_off"), true, false, 0},
    {STR_INIT("parentbased_traceidratio"), true, true, 1},
};

bool trace_share_read(str text, double *ret)
{
    double d;

    if (jr_type_of(text) != JR_NUMBER || !jr_is_valid(text))
        return false;
    d = jr_number_value(text);
    if (!(d >= 0 && d <= 1))
        return false;
    *ret = d;
    return true;
}

const char *trace_sampler_read(str name, str argument, struct trace_sampler *ret)
{
    for (size_t i = 0; i < COUNT_OF(samplers); i++) {
        if (!str_eq_nocase(name, samplers[i].name))
            continue;
        *ret = (struct trace_sampler){samplers[i].follows_parent, samplers[i].share};
        if (!samplers[i].has_argument || str_is_none(argument))
            return NULL;
        return trace_share_read(argument, &ret->share)
                   ? NULL
                   : "OTEL_TRACES_SAMPLER_ARG has to be a number from 0 to 1, such as 0.1";
    }
    return "OTEL_TRACES_SAMPLER has to be always_on, always_off, traceidratio, or one of these with "
           "parentbased_ before it";
}

static bool is_in_share(double share, const unsigned char trace_id[TRACE_ID_BYTES])
{
    const double whole = 9223372036854775808.0; /* 2^63 */
    uint64_t n = 0;

    if (share >= 1)
        return true;
    for (size_t i = TRACE_ID_BYTES / 2; i < TRACE_ID_BYTES; i++)
        n = n << 8 | trace_id[i];
    return n >> 1 < (uint64_t)(share * whole);
}

bool trace_sampler_takes(const struct trace_sampler *s, const struct trace_context *parent,
                         const unsigned char trace_id[TRACE_ID_BYTES])
{
    if (parent != NULL && s->follows_parent)
        return parent->is_sampled;
    return is_in_share(s->share, trace_id);
}
