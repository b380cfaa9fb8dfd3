/* fuzz_trace_context.c -- a traceparent that is read is written as it was, as far as version 00 has it; a
 * tracestate that may be passed on keeps to its limits and fits a header; an answer of a receiver tells a
 * number, and no more than OTLP has. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "lib/fixture.h"
#include "trace/otlp.h"
#include "trace/trace_context.h"

enum { AT_TRACE = 3, AT_FLAGS = 53 };

static void check_parent(str text)
{
    struct trace_context c, again;
    char written[TRACEPARENT_CHARS + 1];

    if (!trace_context_read(text, &c))
        return;
    trace_context_write(&c, written);
    fuzz_promise(strlen(written) == TRACEPARENT_CHARS, "a traceparent has one length");
    fuzz_promise(memcmp(written + AT_TRACE, text.p + AT_TRACE, AT_FLAGS - AT_TRACE) == 0,
                 "ids are written as they were read");
    fuzz_promise(trace_context_read(str_from_c(written), &again) &&
                     memcmp(&c, &again, sizeof(c)) == 0,
                 "what is written is read alike");
}

static void check_state(str text)
{
    size_t n = 0;

    if (!trace_state_is_valid(text))
        return;
    fuzz_promise(text.len <= TRACESTATE_MAX_CHARS, "a state has 512 characters");
    fuzz_promise(str_is_one_line(text), "a state is a line");
    while (text.len > 0)
        n += str_trim(str_cut(&text, ',')).len > 0;
    fuzz_promise(n >= 1 && n <= TRACESTATE_MAX_MEMBERS, "a state has 32 members");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    const str text = str_from(copy, n);

    check_parent(text);
    check_state(text);
    fuzz_promise(otlp_protobuf_rejected(text) <= INT64_MAX, "a number of spans is no more");
    fuzz_promise(otlp_json_rejected(text) <= INT64_MAX, "a number of spans is no more");
    free(copy);
    return 0;
}
