/* fuzz_metrics.c -- any Accept has one format, which another element that weighs nothing does not change;
 * any value of a label stays on its line between its quotes, and a valid one is read back as it was. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "metrics/metrics_page.h"

static void check_accept(str accept)
{
    const enum metrics_format format = metrics_accept(accept);
    struct buf more = {.limit = 0};

    (void)metrics_accept_gzip(accept);
    fuzz_promise(format == METRICS_OPEN_METRICS || format == METRICS_TEXT, "there are two");
    fuzz_promise(format == METRICS_TEXT || str_has_nocase(accept, STR("openmetrics")),
                 "OpenMetrics is asked for by name");
    buf_append(&more, STR("application/openmetrics-text;q=0, a/b;q=0, "));
    buf_append(&more, accept);
    fuzz_promise(metrics_accept(buf_str(&more)) == format, "what weighs nothing changes nothing");
    buf_reset(&more);
    buf_append(&more, STR("application/openmetrics-text,"));
    buf_append(&more, accept);
    fuzz_promise(metrics_accept(buf_str(&more)) == METRICS_OPEN_METRICS, "a weight of 1 decides");
    buf_fini(&more);
}

/* The value between quotes, as a scraper reads it. */
static void unescape(str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        fuzz_promise(text.p[i] != '\n' && text.p[i] != '"', "a value stays where it is");
        if (text.p[i] != '\\') {
            buf_char(out, text.p[i]);
            continue;
        }
        fuzz_promise(++i < text.len, "no backslash stands before the quote");
        fuzz_promise(text.p[i] == 'n' || text.p[i] == '\\' || text.p[i] == '"',
                     "an escape is known");
        buf_char(out, text.p[i] == 'n' ? '\n' : text.p[i]);
    }
}

static void check_value(str value)
{
    struct buf escaped = {.limit = 0}, back = {.limit = 0};

    metrics_page_escape(value, &escaped);
    fuzz_promise(utf8_is_valid(buf_str(&escaped)), "a page is UTF-8");
    unescape(buf_str(&escaped), &back);
    fuzz_promise(!utf8_is_valid(value) || str_eq(buf_str(&back), value), "a value is read back");
    buf_fini(&escaped);
    buf_fini(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));

    check_accept(str_from(copy, n));
    check_value(str_from(copy, n));
    free(copy);
    return 0;
}
