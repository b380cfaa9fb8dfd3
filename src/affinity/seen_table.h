/* seen_table.h -- which upstreams have seen what, by its hash; the least recently used goes out.
 *
 * An entry has up to SEEN_PLACES upstreams, each with the time when it saw it last. Entries stand in
 * a ring by when they were used last. Memory comes with the first entry, is doubled up to what
 * max_entries take, and goes with the last entry; it is taken from the budget as new work. Growing
 * copies everything once, so of all calls only few are slow.
 *
 * A part of affinity.c. Pure; one thread at a time. */
#ifndef ANTIPHON_AFFINITY_SEEN_TABLE_H
#define ANTIPHON_AFFINITY_SEEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEN_PLACES = 4 };

struct seen {
    uint64_t hash;
    uint64_t at_ms[SEEN_PLACES];
    uint32_t older, newer; /* in the ring */
    uint32_t next;         /* in its bucket, or among the free */
    uint16_t upstream[SEEN_PLACES];
    uint16_t n; /* places in use */
};

/* Zeroed but for max_entries it is an empty one. */
struct seen_table {
    size_t max_entries; /* 0: it stays empty; set once */
    size_t n;           /* entries */

    /* What follows is seen_table.c's. */
    size_t capacity, n_made; /* entries that there is room for; that have ever been in use */
    uint32_t free;           /* the first entry that is free again; 0: none */
    struct seen *entries;    /* [0] is the head of the ring; the buckets stand behind them */
    uint32_t *buckets;
    size_t bucket_mask; /* their number is a power of two: less one */
};

/* Empties the table and frees its memory. */
void seen_table_fini(struct seen_table *t);

/* The bytes that it holds. */
size_t seen_table_bytes(const struct seen_table *t);

/* The entry of a hash, or NULL. */
const struct seen *seen_table_find(const struct seen_table *t, uint64_t hash);

/* The entry of a hash, or a new one without upstreams; it is the most recently used now. Where there is no room,
 * or no memory for more, the least recently used entry is lost. NULL when there is none to lose. An
 * entry dies with the next call that takes a table that is not const. */
struct seen *seen_table_use(struct seen_table *t, uint64_t hash);

/* Notes that an upstream has seen it: in its own place, a free one, or that of the longest ago. */
void seen_note(struct seen *s, uint16_t upstream, uint64_t now_ms);

/* The least recently used entry, or NULL; removed by seen_table_remove_oldest(), of which there is one. */
const struct seen *seen_table_oldest(const struct seen_table *t);
void seen_table_remove_oldest(struct seen_table *t);

/* Removes an upstream from all entries, and entries that have no other. Looks at each entry. */
void seen_table_forget(struct seen_table *t, uint16_t upstream);

#endif
