/* metrics_accept.c -- lists of what is wanted, with weights. */
#include "metrics/metrics_accept.h"

/* A weight in thousandths: "1", "0.75"; -1 when it is none. */
static int weight_of(str text)
{
    int weight, digit = 100;

    text = str_trim(text);
    if (text.len == 0 || text.len > 5 || (text.p[0] != '0' && text.p[0] != '1') ||
        (text.len > 1 && text.p[1] != '.'))
        return -1;
    weight = text.p[0] == '1' ? 1000 : 0;
    for (size_t i = 2; i < text.len; i++, digit /= 10) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return -1;
        weight += (text.p[i] - '0') * digit;
    }
    return weight <= 1000 ? weight : -1;
}

/* Takes an element off a list: its first word, and its weight, which is 1 unless it says otherwise. One
 * whose weight cannot be read weighs nothing. */
static str next_wanted(str *list, int *ret_weight)
{
    str element = str_cut(list, ',');
    str word = str_trim(str_cut(&element, ';'));

    *ret_weight = 1000;
    while (element.len > 0) {
        str value = str_cut(&element, ';');
        str name = str_trim(str_cut(&value, '='));

        if (str_eq_nocase(name, STR("q")))
            *ret_weight = weight_of(value);
    }
    if (*ret_weight < 0)
        *ret_weight = 0;
    return word;
}

/* Ranges with * mean text: who asks for anything is no scraper that prefers OpenMetrics. */
enum metrics_format metrics_accept(str accept)
{
    int open_metrics = 0, text = 0;

    while (accept.len > 0) {
        int weight;
        str type = next_wanted(&accept, &weight);

        if (str_eq_nocase(type, STR("application/openmetrics-text")))
            open_metrics = weight > open_metrics ? weight : open_metrics;
        else
            text = weight > text ? weight : text;
    }
    return open_metrics > 0 && open_metrics >= text ? METRICS_OPEN_METRICS : METRICS_TEXT;
}

bool metrics_accept_gzip(str accept_encoding)
{
    int gzip = -1, any = -1;

    while (accept_encoding.len > 0) {
        int weight;
        str coding = next_wanted(&accept_encoding, &weight);

        if (str_eq_nocase(coding, STR("gzip")) || str_eq_nocase(coding, STR("x-gzip")))
            gzip = weight;
        else if (str_eq(coding, STR("*")))
            any = weight;
    }
    return gzip > 0 || (gzip == -1 && any > 0);
}

str metrics_format_type(enum metrics_format format)
{
    return format == METRICS_OPEN_METRICS
               ? STR("application/openmetrics-text; version=1.0.0; charset=utf-8")
               : STR("text/plain; version=0.0.4; charset=utf-8");
}
