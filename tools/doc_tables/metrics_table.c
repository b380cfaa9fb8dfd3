/* metrics_table.c -- metric.def: the families, their labels, and the buckets of histograms. */
#include "metrics/metric_table.h"
#include "table.h"

static const char *const types[] = {"counter", "gauge", "histogram", "histogram"};

static const char *const buckets[] = {
#define FAMILY(symbol, name, type, scale, buckets, labels, help) #buckets,
#include "metrics/metric.def"
};

static void write_words(enum metric_domain domain, struct buf *out)
{
    const unsigned n = metric_domain_words(domain);

    for (unsigned i = 0; i < n && domain != METRIC_DOMAIN_EVENT; i++) {
        buf_char(out, ' ');
        buf_append(out, metric_closed_word(domain, i));
    }
}

static void write_labels(const struct metric_family *f, struct buf *out)
{
    for (unsigned i = 0; i < METRIC_LABELS && f->labels[i] != ML_NONE; i++) {
        buf_c(out, i == 0 ? "`" : "; `");
        buf_append(out, metric_label_name(f->labels[i]));
        buf_char(out, '`');
        write_words(metric_label_domain(f->labels[i]), out);
    }
}

static void write_type(enum metric m, struct buf *out)
{
    const struct metric_family *f = metric_family(m);

    buf_c(out, types[f->type]);
    if (f->width == 1)
        return;
    buf_char(out, ' ');
    buf_c(out, buckets[m]);
    buf_c(out, f->type == METRIC_TRACED ? ", exemplars" : "");
}

void table_metrics(struct buf *out)
{
    buf_c(out, "| Family | Type | Labels | What it is |\n|---|---|---|---|\n");
    for (unsigned m = 0; m < METRICS; m++) {
        const struct metric_family *f = metric_family(m);

        buf_c(out, "| `");
        buf_append(out, f->name);
        buf_c(out, "` | ");
        write_type(m, out);
        buf_c(out, " | ");
        write_labels(f, out);
        buf_c(out, " | ");
        buf_append(out, f->help);
        buf_c(out, " |\n");
    }
}

static void write_bound(uint64_t bound, uint32_t scale, struct buf *out)
{
    uint64_t rest = bound % scale;

    buf_char(out, ' ');
    buf_uint(out, bound / scale);
    if (rest > 0)
        buf_char(out, '.');
    for (uint32_t digit = scale / 10; rest > 0; digit /= 10) {
        buf_uint(out, rest / digit);
        rest %= digit;
    }
}

void table_metric_buckets(struct buf *out)
{
    buf_c(out, "| Name | Upper bounds |\n|---|---|\n");
    for (unsigned m = 0; m < METRICS; m++) {
        const struct metric_family *f = metric_family(m);
        unsigned before = 0;

        while (before < m && metric_family(before)->bounds != f->bounds)
            before++;
        if (f->width == 1 || before < m)
            continue;
        buf_c(out, "| ");
        buf_c(out, buckets[m]);
        buf_c(out, " |");
        for (unsigned i = 0; i < f->n_bounds; i++)
            write_bound(f->bounds[i], f->scale, out);
        buf_c(out, " |\n");
    }
}
