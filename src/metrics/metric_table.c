/* metric_table.c -- metric.def and metric_label.def as tables. */
#include "metrics/metric_table.h"

enum { MICRO = 1000000 };

/* clang-format off */
/* Of each domain its words, behind an empty one, since there may be none. */
#define DOMAIN(symbol, kind)       }; static const str words_##symbol[] = {STR_INIT(""),
#define WORD(domain, symbol, text) STR_INIT(text),
static const str words_of_none[] = {
    STR_INIT(""),
#include "metrics/metric_label.def"
};
/* clang-format on */

#define IS_WORDS  false
#define IS_OPEN   false
#define IS_NUMBER true

static const struct {
    const str *words;
    unsigned n;
    bool is_number;
} domains[] = {
#define DOMAIN(symbol, kind) {words_##symbol + 1, COUNT_OF(words_##symbol) - 1, IS_##kind},
#include "metrics/metric_label.def"
    {words_of_none, 0, false},
};

struct label_row {
    str name;
    enum metric_domain domain;
};

static const struct label_row label_rows[] = {
    {STR_INIT(""), METRIC_DOMAINS},
#define LABEL(symbol, name, domain) {STR_INIT(name), METRIC_DOMAIN_##domain},
#include "metrics/metric_label.def"
};

#define BUCKETS(symbol, scale, ...) static const uint64_t bounds_##symbol[] = {__VA_ARGS__};
#include "metrics/metric.def"

#define COUNTER_WIDTH(bounds)   1
#define GAUGE_WIDTH(bounds)     1
#define HISTOGRAM_WIDTH(bounds) (COUNT_OF(bounds) + 2)
#define TRACED_WIDTH(bounds)    (COUNT_OF(bounds) + 2)
#define LABELS(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define UNLABELLED                                                                                 \
    {                                                                                              \
        ML_NONE                                                                                    \
    }

static const struct metric_family families[] = {
#define FAMILY(symbol, name, type, scale, buckets, labels, help)                                   \
    {STR_INIT(name),                                                                               \
     STR_INIT(help),                                                                               \
     METRIC_##type,                                                                                \
     scale,                                                                                        \
     bounds_##buckets,                                                                             \
     COUNT_OF(bounds_##buckets),                                                                   \
     type##_WIDTH(bounds_##buckets),                                                               \
     labels},
#include "metrics/metric.def"
};

const struct metric_family *metric_family(enum metric m)
{
    return &families[m];
}

str metric_label_name(enum metric_label label)
{
    return label_rows[label].name;
}

enum metric_domain metric_label_domain(enum metric_label label)
{
    return label_rows[label].domain;
}

unsigned metric_domain_words(enum metric_domain domain)
{
    return domains[domain].n;
}

str metric_closed_word(enum metric_domain domain, unsigned id)
{
    return id < domains[domain].n ? domains[domain].words[id] : STR("");
}

bool metric_domain_is_number(enum metric_domain domain)
{
    return domains[domain].is_number;
}

unsigned metric_closed_series(enum metric m)
{
    const uint8_t *labels = families[m].labels;
    unsigned n = 1;

    for (unsigned i = 0; i < METRIC_LABELS && labels[i] != ML_NONE; i++)
        n *= domains[label_rows[labels[i]].domain].n;
    return n;
}

struct metric_labels metric_closed_labels(enum metric m, unsigned index)
{
    const uint8_t *labels = families[m].labels;
    struct metric_labels found = {{0}};

    for (unsigned i = METRIC_LABELS; i-- > 0;) {
        unsigned n = labels[i] == ML_NONE ? 1 : domains[label_rows[labels[i]].domain].n;

        found.v[i] = (uint16_t)(index % n);
        index /= n;
    }
    return found;
}
