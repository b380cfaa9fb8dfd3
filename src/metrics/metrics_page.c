/* metrics_page.c -- gather the series of a family from all threads, put them in order, add those with the
 * same labels, and write them: Prometheus text 0.0.4 and OpenMetrics 1.0.0. */
#include "metrics/metrics_page.h"

#include <stdlib.h>

#include "base/utf8.h"

/* A part of a series: what one thread has of it, or a number that a source has told. */
struct row {
    struct metric_labels labels;
    const metric_cell *cells;           /* NULL: value is all */
    const struct metric_series *series; /* may have exemplars; or NULL */
    int64_t value;
};

struct rows {
    struct row *v;
    size_t n, cap;
};

struct metrics_page {
    struct rows told[METRICS]; /* by sources */
    struct rows rows;          /* of the family at hand */
    enum metrics_format format;
    struct buf *out;
    bool has_failed;
};

static void add_row(struct metrics_page *p, struct rows *rows, const struct row *row)
{
    if (rows->n == rows->cap) {
        size_t cap = rows->cap == 0 ? 64 : 2 * rows->cap;
        struct row *v = realloc(rows->v, cap * sizeof(*v));

        if (v == NULL) {
            p->has_failed = true;
            return;
        }
        rows->v = v;
        rows->cap = cap;
    }
    rows->v[rows->n++] = *row;
}

void metrics_page_add(struct metrics_page *p, enum metric m, const struct metric_labels *labels,
                      int64_t n)
{
    add_row(p, &p->told[m], &(struct row){.labels = *labels, .value = n});
}

void metrics_page_add_at(struct metrics_page *p, enum metric m, unsigned index, int64_t n)
{
    const struct metric_labels labels = metric_closed_labels(m, index);

    metrics_page_add(p, m, &labels, n);
}

/* ---- gathering */

static str label_text(const struct metric_family *f, unsigned i, uint16_t id, char digits[8])
{
    enum metric_domain domain = metric_label_domain(f->labels[i]);
    size_t n = 8;

    if (metric_domain_words(domain) > 0)
        return metric_closed_word(domain, id);
    if (!metric_domain_is_number(domain))
        return metric_word_text(domain, id);
    do {
        digits[--n] = (char)('0' + id % 10);
        id /= 10;
    } while (id > 0 || (domain == METRIC_DOMAIN_STATUS && n > 5));
    return str_from(digits + n, 8 - n);
}

/* Is it of a model whose place another one has got? */
static bool is_gone(const struct metric_family *f, const struct metric_labels *labels)
{
    for (unsigned i = 0; i < METRIC_LABELS && f->labels[i] != ML_NONE; i++) {
        if (metric_label_domain(f->labels[i]) == METRIC_DOMAIN_MODEL &&
            metric_model_is_gone(labels->v[i]))
            return true;
    }
    return false;
}

static void gather_closed(struct metrics_page *p, enum metric m)
{
    const unsigned n = metric_closed_series(m);

    for (unsigned i = 0; i < n; i++) {
        struct row row = {.labels = metric_closed_labels(m, i)};

        add_row(p, &p->rows, &row); /* it is there, if nobody has counted */
        for (struct metrics_thread *t = metrics_threads(); t != NULL; t = t->next) {
            row.cells = &t->closed[metrics_first[m] + i * metrics_width[m]];
            add_row(p, &p->rows, &row);
        }
    }
}

static void gather_open(struct metrics_page *p, enum metric m)
{
    const struct metric_family *f = metric_family(m);

    for (struct metrics_thread *t = metrics_threads(); t != NULL; t = t->next) {
        const struct metric_series *s = atomic_load_explicit(&t->all[m], memory_order_acquire);

        for (; s != NULL; s = s->next) {
            if (!is_gone(f, &s->labels))
                add_row(p, &p->rows,
                        &(struct row){.labels = s->labels, .cells = s->cells, .series = s});
        }
    }
}

static int row_order(const void *a, const void *b, void *arg)
{
    const struct metric_labels *x = &((const struct row *)a)->labels;
    const struct metric_labels *y = &((const struct row *)b)->labels;
    const struct metric_family *f = arg;
    char of_x[8], of_y[8];

    for (unsigned i = 0; i < METRIC_LABELS && f->labels[i] != ML_NONE; i++) {
        int order;

        if (x->v[i] == y->v[i])
            continue;
        order = str_order(label_text(f, i, x->v[i], of_x), label_text(f, i, y->v[i], of_y));
        if (order != 0)
            return order;
    }
    return 0;
}

static void gather_rows(struct metrics_page *p, enum metric m)
{
    p->rows.n = 0;
    if (metric_closed_series(m) > 0)
        gather_closed(p, m);
    else
        gather_open(p, m);
    for (size_t i = 0; i < p->told[m].n; i++)
        add_row(p, &p->rows, &p->told[m].v[i]);
    if (p->rows.n > 0)
        qsort_r(p->rows.v, p->rows.n, sizeof(*p->rows.v), row_order,
                (void *)(uintptr_t)metric_family(m));
}

/* ---- writing */

static bool is_open_metrics(const struct metrics_page *p)
{
    return p->format == METRICS_OPEN_METRICS;
}

void metrics_page_escape(str value, struct buf *out)
{
    if (!utf8_is_valid(value)) {
        struct buf repaired = {.limit = 0};

        utf8_repair(value, &repaired);
        metrics_page_escape(buf_str(&repaired), out);
        buf_fini(&repaired);
        return;
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.p[i] == '\n')
            buf_c(out, "\\n");
        else if (value.p[i] == '"' || value.p[i] == '\\')
            buf_append(out, str_from((const char[]){'\\', value.p[i]}, 2));
        else
            buf_char(out, value.p[i]);
    }
}

/* A number of millionths, or of whole ones, as a decimal number without zeros at its end. */
static void write_number(int64_t value, uint32_t scale, struct buf *out)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, rest = size % scale;

    if (value < 0)
        buf_char(out, '-');
    buf_uint(out, size / scale);
    if (rest == 0)
        return;
    buf_char(out, '.');
    while (rest > 0) {
        rest *= 10;
        // cppcheck-suppress zerodivcond; the scale of a family is 1 or more
        buf_char(out, (char)('0' + rest / scale));
        rest %= scale;
    }
}

/* The name of the family without what only its series have. Where another family has that name, a counter
 * stays whole: then OpenMetrics can have no counter of it. */
static str stem(const struct metrics_page *p, const struct metric_family *f)
{
    str name = f->name;

    if (!is_open_metrics(p) || f->type != METRIC_COUNTER)
        return name;
    name.len -= strlen("_total");
    for (unsigned m = 0; m < METRICS; m++) {
        if (str_eq(metric_family(m)->name, name))
            return f->name;
    }
    return name;
}

static const char *type_word(const struct metrics_page *p, const struct metric_family *f, str name)
{
    static const char *const words[] = {"counter", "gauge", "histogram", "histogram"};

    if (is_open_metrics(p) && f->type == METRIC_COUNTER && name.len == f->name.len)
        return "unknown";
    return words[f->type];
}

static void write_head(struct metrics_page *p, const struct metric_family *f)
{
    static const str units[] = {STR_INIT("_seconds"), STR_INIT("_bytes"), STR_INIT("_ratio")};
    str name = stem(p, f);

    buf_c(p->out, "# HELP ");
    buf_append(p->out, name);
    buf_char(p->out, ' ');
    buf_append(p->out, f->help);
    buf_c(p->out, "\n# TYPE ");
    buf_append(p->out, name);
    buf_char(p->out, ' ');
    buf_c(p->out, type_word(p, f, name));
    buf_char(p->out, '\n');
    for (size_t i = 0; is_open_metrics(p) && i < COUNT_OF(units); i++) {
        if (!str_ends_with(name, units[i]))
            continue;
        buf_c(p->out, "# UNIT ");
        buf_append(p->out, name);
        buf_char(p->out, ' ');
        buf_append(p->out, str_skip(units[i], 1));
        buf_char(p->out, '\n');
    }
}

/* Labels with their braces; bound is that of a bucket, or empty. */
static void write_labels(const struct metrics_page *p, const struct metric_family *f,
                         const struct metric_labels *labels, str bound)
{
    struct buf *out = p->out;
    char separator = '{', digits[8];

    for (unsigned i = 0; i < METRIC_LABELS && f->labels[i] != ML_NONE; i++) {
        str text = label_text(f, i, labels->v[i], digits);

        if (text.len == 0)
            continue;
        buf_char(out, separator);
        buf_append(out, metric_label_name(f->labels[i]));
        buf_c(out, "=\"");
        metrics_page_escape(text, out);
        buf_char(out, '"');
        separator = ',';
    }
    if (bound.len > 0) {
        buf_char(out, separator);
        buf_c(out, "le=\"");
        buf_append(out, bound);
        buf_char(out, '"');
        separator = ',';
    }
    if (separator == ',')
        buf_char(out, '}');
}

static void write_sample(const struct metrics_page *p, const struct metric_family *f,
                         const char *suffix, const struct metric_labels *labels, str bound,
                         int64_t value, uint32_t scale)
{
    buf_append(p->out, f->name);
    buf_c(p->out, suffix);
    write_labels(p, f, labels, bound);
    buf_char(p->out, ' ');
    write_number(value, scale, p->out);
}

/* The rows of one series are added up. */
static int64_t cell_sum(const struct row *rows, size_t n, unsigned cell)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += (uint64_t)rows[i].value;
        if (rows[i].cells != NULL)
            sum += atomic_load_explicit(&rows[i].cells[cell], memory_order_relaxed);
    }
    return (int64_t)sum;
}

static void write_exemplar(const struct metrics_page *p, const struct metric_family *f,
                           const struct row *rows, size_t n, unsigned bucket)
{
    struct metric_exemplar e;

    if (f->type != METRIC_TRACED || !is_open_metrics(p))
        return;
    for (size_t i = 0; i < n; i++) {
        unsigned char id[16];

        if (rows[i].series == NULL || !metric_series_exemplar(rows[i].series, bucket, &e))
            continue;
        for (unsigned k = 0; k < 8; k++) {
            id[k] = (unsigned char)(e.trace.high >> (56 - 8 * k));
            id[8 + k] = (unsigned char)(e.trace.low >> (56 - 8 * k));
        }
        buf_c(p->out, " # {trace_id=\"");
        buf_hex(p->out, id, sizeof(id));
        buf_c(p->out, "\"} ");
        write_number((int64_t)e.value, f->scale, p->out);
        return;
    }
}

/* An upper bound as text: OpenMetrics wants a number with a point. */
static void write_bound(const struct metrics_page *p, const struct metric_family *f, unsigned i,
                        struct buf *out)
{
    buf_reset(out);
    if (i == f->n_bounds) {
        buf_c(out, "+Inf");
        return;
    }
    write_number((int64_t)f->bounds[i], f->scale, out);
    if (is_open_metrics(p) && f->bounds[i] % f->scale == 0)
        buf_c(out, ".0");
}

static void write_histogram(struct metrics_page *p, const struct metric_family *f,
                            const struct row *rows, size_t n)
{
    struct buf bound = {.limit = 0};
    int64_t count = 0;

    for (unsigned i = 0; i <= f->n_bounds; i++) {
        count += cell_sum(rows, n, i);
        write_bound(p, f, i, &bound);
        write_sample(p, f, "_bucket", &rows->labels, buf_str(&bound), count, 1);
        write_exemplar(p, f, rows, n, i);
        buf_char(p->out, '\n');
    }
    write_sample(p, f, "_sum", &rows->labels, STR(""), cell_sum(rows, n, f->width - 1U), f->scale);
    buf_char(p->out, '\n');
    write_sample(p, f, "_count", &rows->labels, STR(""), count, 1);
    buf_char(p->out, '\n');
    p->has_failed = p->has_failed || buf_failed(&bound);
    buf_fini(&bound);
}

static void write_family(struct metrics_page *p, enum metric m)
{
    const struct metric_family *f = metric_family(m);
    const struct rows *rows = &p->rows;

    gather_rows(p, m);
    write_head(p, f);
    for (size_t i = 0, n; i < rows->n; i += n) {
        const struct row *first = &rows->v[i];

        for (n = 1; i + n < rows->n && row_order(first, first + n, (void *)(uintptr_t)f) == 0;)
            n++;
        if (f->width > 1) {
            write_histogram(p, f, first, n);
            continue;
        }
        write_sample(p, f, "", &first->labels, STR(""), cell_sum(first, n, 0), f->scale);
        buf_char(p->out, '\n');
    }
}

static int name_order(const void *a, const void *b)
{
    return str_order(metric_family(*(const enum metric *)a)->name,
                     metric_family(*(const enum metric *)b)->name);
}

int metrics_page_write(enum metrics_format format, const struct metrics_source *sources,
                       size_t n_sources, struct buf *out)
{
    struct metrics_page p = {.format = format, .out = out};
    enum metric by_name[METRICS];

    for (unsigned m = 0; m < METRICS; m++)
        by_name[m] = m;
    qsort(by_name, METRICS, sizeof(by_name[0]), name_order);
    for (size_t i = 0; i < n_sources; i++)
        sources[i].tell(sources[i].arg, &p);
    for (unsigned m = 0; m < METRICS; m++)
        write_family(&p, by_name[m]);
    if (format == METRICS_OPEN_METRICS)
        buf_c(out, "# EOF\n");
    for (unsigned m = 0; m < METRICS; m++)
        free(p.told[m].v);
    free(p.rows.v);
    return p.has_failed || buf_failed(out) ? -1 : 0;
}
