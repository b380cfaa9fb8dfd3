/* page_element.c -- the table, and which end tags may be left out (WHATWG HTML 13.1.2.4). */
#include "search/page_element.h"

#include <stdlib.h>

#define BIT(group)    (1U << GROUP_##group)
#define TABLE_OR_CELL (BIT(TABLE) | BIT(CELL))
#define ALL_BUT_A     (~BIT(A))

static const struct page_element_ends plain_ends = {.closes_up_to = TABLE_OR_CELL},
                                      block_ends = {BIT(P), ALL_BUT_A, TABLE_OR_CELL};

/* The rules of groups that have their own. */
static const struct page_element_ends ends[N_GROUPS] = {
    [GROUP_A] = {BIT(A), TABLE_OR_CELL, TABLE_OR_CELL},
    [GROUP_ITEM] = {BIT(ITEM), BIT(LIST) | TABLE_OR_CELL, BIT(LIST) | TABLE_OR_CELL},
    [GROUP_TERM] = {BIT(TERM), BIT(TERMS) | TABLE_OR_CELL, BIT(TERMS) | TABLE_OR_CELL},
    [GROUP_CELL] = {BIT(CELL), BIT(ROW) | BIT(TABLE), BIT(TABLE)},
    [GROUP_ROW] = {BIT(ROW) | BIT(CELL), BIT(TABLE), BIT(TABLE)},
    [GROUP_ROWS] = {BIT(ROWS) | BIT(ROW) | BIT(CELL), BIT(TABLE), BIT(TABLE)},
    [GROUP_TABLE] = {BIT(P), ALL_BUT_A, 0},
};

static const struct page_element elements[] = {
#define VOID                        PAGE_VOID
#define LINE                        PAGE_LINE
#define BLANK                       PAGE_BLANK
#define GONE                        PAGE_GONE
#define RAW                         PAGE_RAW
#define ELEMENT(name, group, flags) {STR_INIT(name), GROUP_##group, flags},
#include "search/page_element.def"
#undef ELEMENT
};

static const struct page_element plain = {STR_INIT(""), GROUP_OTHER, 0};

static int compare_name(const void *key, const void *element)
{
    return str_order(*(const str *)key, ((const struct page_element *)element)->name);
}

const struct page_element *page_element(str name)
{
    const struct page_element *found =
        bsearch(&name, LIST_OF(elements), sizeof(*elements), compare_name);

    return found == NULL ? &plain : found;
}

const struct page_element_ends *page_element_ends(const struct page_element *e)
{
    if (ends[e->group].ends != 0)
        return &ends[e->group];
    return (e->flags & (PAGE_LINE | PAGE_BLANK)) != 0 ? &block_ends : &plain_ends;
}
