/* store_report.c -- the figures of a store, as a table or as JSON. */
#include "cli/store_report.h"

#include <stdio.h>

#include "base/utc.h"
#include "json/json_write.h"

void store_report_size(uint64_t bytes, struct buf *out)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    char text[32];
    size_t unit = 0;

    while (n >= 1024 && unit + 1 < COUNT_OF(units)) {
        n /= 1024;
        unit++;
    }
    (void)snprintf(text, sizeof(text), "%.*f %s", unit == 0 ? 0 : 1, n, units[unit]);
    buf_c(out, text);
}

/* ---- stats */

static const struct {
    const char *label, *key;
    size_t offset; /* of an uint64_t */
    bool is_size;
} figures[] = {
    {"histories", "histories", offsetof(struct store_stats, n_histories), false},
    {"conversations", "conversations", offsetof(struct store_stats, n_conversations), false},
    {"responses", "responses", offsetof(struct store_stats, n_responses), false},
    {"queued", "queued", offsetof(struct store_stats, n_queued), false},
    {"running", "running", offsetof(struct store_stats, n_running), false},
    {"items", "items", offsetof(struct store_stats, n_items), false},
    {"owners", "owners", offsetof(struct store_stats, n_owners), false},
    {"keys", "idempotency_keys", offsetof(struct store_stats, n_keys), false},
    {"content", "bytes", offsetof(struct store_stats, bytes), true},
    {"events", "events_bytes", offsetof(struct store_stats, cuts_bytes), true},
    {"database", "file_bytes", offsetof(struct store_stats, file_bytes), true},
};

enum { N_FIGURES = COUNT_OF(figures), LABEL_COLUMNS = 15 };

static uint64_t figure_of(const struct store_stats *stats, size_t i)
{
    return *(const uint64_t *)(const void *)((const char *)stats + figures[i].offset);
}

static void write_label(const char *label, struct buf *out)
{
    buf_c(out, label);
    for (size_t i = strlen(label); i < LABEL_COLUMNS; i++)
        buf_char(out, ' ');
}

void store_report_table(const struct store_stats *stats, struct buf *out)
{
    for (size_t i = 0; i < N_FIGURES; i++) {
        write_label(figures[i].label, out);
        if (figures[i].is_size)
            store_report_size(figure_of(stats, i), out);
        else
            buf_uint(out, figure_of(stats, i));
        buf_char(out, '\n');
    }
    write_label("oldest use", out);
    if (stats->oldest_use == 0)
        buf_c(out, "-");
    else
        utc_write(stats->oldest_use, out);
    buf_char(out, '\n');
    write_label("schema version", out);
    buf_int(out, stats->schema_version);
    buf_char(out, '\n');
}

void store_report_json(const struct store_stats *stats, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    for (size_t i = 0; i < N_FIGURES; i++)
        jw_key_int(&w, figures[i].key, (int64_t)figure_of(stats, i));
    jw_key(&w, "oldest_use");
    if (stats->oldest_use == 0)
        jw_null(&w);
    else
        jw_int(&w, stats->oldest_use);
    jw_key_int(&w, "schema_version", stats->schema_version);
    jw_object_end(&w);
    buf_char(out, '\n');
}
