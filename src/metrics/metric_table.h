/* metric_table.h -- the families of metrics, their labels, and the values that a label can have. Constant
 * but for metric_word.h; any thread. */
#ifndef ANTIPHON_METRICS_METRIC_TABLE_H
#define ANTIPHON_METRICS_METRIC_TABLE_H

#include <stdint.h>

#include "base/str.h"

enum metric {
#define FAMILY(symbol, name, type, scale, buckets, labels, help) METRIC_##symbol,
#include "metrics/metric.def"
    METRICS,
};

enum metric_domain {
#define DOMAIN(symbol, kind) METRIC_DOMAIN_##symbol,
#include "metrics/metric_label.def"
    METRIC_DOMAINS,
};

enum metric_label {
    ML_NONE,
#define LABEL(symbol, name, domain) ML_##symbol,
#include "metrics/metric_label.def"
};

/* The ids of closed words: of each domain one enum that begins at 0. */
/* clang-format off */
#define DOMAIN(symbol, kind)       }; enum { METRIC_BEFORE_##symbol = -1,
#define WORD(domain, symbol, text) METRIC_##domain##_##symbol,
enum {
    METRIC_BEFORE_ALL = -1,
#include "metrics/metric_label.def"
};
/* clang-format on */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_TRACED };

/* Most labels of a family. */
enum { METRIC_LABELS = 6 };

/* Values for a family's labels, as ids in its order. 0 of an open domain: the label is absent. */
struct metric_labels {
    uint16_t v[METRIC_LABELS];
};

struct metric_family {
    str name, help;
    enum metric_type type;
    uint32_t scale;         /* so many of what is counted are 1 of the name's unit */
    const uint64_t *bounds; /* of a histogram's buckets, ascending */
    uint16_t n_bounds;
    uint16_t
        width; /* cells of a series: 1; of a histogram one for each bucket, the last for what is
                       beyond all bounds, and the sum */
    uint8_t labels[METRIC_LABELS]; /* enum metric_label; ML_NONE behind the last */
};

const struct metric_family *metric_family(enum metric m);
str metric_label_name(enum metric_label label);
enum metric_domain metric_label_domain(enum metric_label label);

/* The number of words of a closed domain; 0 for the others. */
unsigned metric_domain_words(enum metric_domain domain);

/* The number of series when all labels are closed, 1 without labels; 0: there are others. The index of a
 * series among them counts the last label fastest. */
unsigned metric_closed_series(enum metric m);
struct metric_labels metric_closed_labels(enum metric m, unsigned index);

/* The text of a closed word. */
str metric_closed_word(enum metric_domain domain, unsigned id);
bool metric_domain_is_number(enum metric_domain domain);

#endif
