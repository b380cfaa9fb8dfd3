/* store_item.c -- items: stored with what they came with, found, listed. */
#include "store/store_item.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "store/store_history.h"

bool id_is_possible(str id)
{
    return str_find_char(id, '\0') == id.len && utf8_is_valid(id);
}

uint64_t items_bytes(const struct store_items *items)
{
    uint64_t n = 0;

    for (size_t i = 0; i < items->n; i++)
        n += items->v[i].id.len + items->v[i].body.len;
    return n;
}

/* ---- finding one */

struct item_find {
    int64_t seq; /* 0: not found */
    int64_t history;
    bool is_hidden;
    struct arena *arena; /* NULL: only seq is wanted */
    struct store_item *item;
};

static int on_item(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct item_find *f = arg;

    f->seq = columns[0].i;
    f->history = columns[1].i;
    if (f->arena == NULL)
        return 0;
    f->item->is_output = columns[2].i != 0;
    f->item->body = arena_dup(f->arena, columns[3].s);
    if (!str_is_none(f->item->body))
        return 0;
    return err_set_no_memory(reterr);
}

static int find_item(struct store_session *s, str owner, str id, struct item_find *f,
                     struct err *reterr)
{
    const struct sql_value values[] = {{.s = id}, {.s = owner}, {.i = f->is_hidden}};

    if (id_is_possible(id) && session_run(s, SQL_ITEM_FIND, values, on_item, f, NULL, reterr) == -1)
        return -1;
    if (f->seq != 0)
        return 0;
    err_set(reterr, ERR_NOT_FOUND, "Item with id '%.*s' not found.", STR_ARG(id));
    return -1;
}

static int find_whole(struct store_session *s, str owner, str id, bool is_hidden, struct arena *a,
                      struct store_item *ret, struct err *reterr)
{
    struct store_item item = {.id = arena_dup(a, id), .is_hidden = is_hidden};
    struct item_find f = {.is_hidden = is_hidden, .arena = a, .item = &item};

    if (find_item(s, owner, id, &f, reterr) == -1)
        return -1;
    if (str_is_none(item.id))
        return err_set_no_memory(reterr);
    *ret = item;
    return 0;
}

int store_find_item(struct store_session *s, str owner, str id, struct arena *a,
                    struct store_item *ret, struct err *reterr)
{
    return find_whole(s, owner, id, false, a, ret, reterr);
}

int store_find_hidden(struct store_session *s, str owner, str id, struct arena *a,
                      struct store_item *ret, struct err *reterr)
{
    return find_whole(s, owner, id, true, a, ret, reterr);
}

/* ---- storing */

/* Finds the row of a reference: it may go, or another take its place, until its history is kept
 * from changing. */
static int resolve_reference(struct store_session *s, str owner, const struct store_item *item,
                             int64_t *ret_seq, struct err *reterr)
{
    struct item_find f = {.is_hidden = item->is_hidden};
    bool is_there;

    do {
        *ret_seq = f.seq;
        f.seq = 0;
        if (find_item(s, owner, item->id, &f, reterr) == -1 ||
            history_use(s, f.history, (struct amount){0}, &is_there, reterr) == -1)
            return -1;
    } while (f.seq != *ret_seq);
    return 0;
}

int items_resolve(struct store_session *s, str owner, const struct store_items *items,
                  int64_t **ret, struct err *reterr)
{
    int64_t *refs = calloc(items->n + 1, sizeof(*refs));

    *ret = refs;
    if (refs == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < items->n; i++) {
        const struct store_item *item = &items->v[i];

        if (!id_is_possible(item->id)) {
            err_set(reterr, ERR_INVALID_VALUE, "The id of an item contains a NUL character.");
            return -1;
        }
        if (item->is_reference && resolve_reference(s, owner, item, &refs[i], reterr) == -1)
            return -1;
    }
    return 0;
}

/* Looks whether the conversation holds the id already. Ids of output are new. */
static int is_held(struct store_session *s, const struct item_place *place,
                   const struct store_item *item, bool *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.i = place->history}, {.s = item->id}};
    struct found row = {.is_there = false};

    if (place->in_conversation && !item->is_output &&
        session_find(s, SQL_CONVERSATION_HOLDS, values, &row, reterr) == -1)
        return -1;
    *ret = row.is_there;
    return 0;
}

static int add_item(struct store_session *s, const struct item_place *place,
                    const struct store_item *item, int64_t ref, struct err *reterr)
{
    enum { HELD = 2 };
    bool held, is_needed;

    if (is_held(s, place, item, &held, reterr) == -1)
        return -1;
    if (held && place->response == 0)
        return history_shrink(s, place->history,
                              (struct amount){.bytes = item->id.len + item->body.len}, &is_needed,
                              reterr);
    return session_do(s, SQL_ITEM_ADD,
                      (const struct sql_value[]){{.s = item->id},
                                                 {.i = place->history},
                                                 {.i = place->response},
                                                 {.i = item->is_output},
                                                 {.i = item->is_hidden},
                                                 {.i = held ? HELD : place->in_conversation},
                                                 {.i = ref},
                                                 {.s = item->is_reference ? STR_NONE : item->body}},
                      reterr);
}

int items_add(struct store_session *s, const struct item_place *place,
              const struct store_items *items, const int64_t *refs, struct err *reterr)
{
    for (size_t i = 0; i < items->n; i++) {
        if (add_item(s, place, &items->v[i], refs[i], reterr) == -1)
            return -1;
    }
    return 0;
}

/* ---- reading rows */

static bool rows_grow(struct item_rows *rows)
{
    enum { FIRST = 8 };
    size_t cap = rows->cap == 0 ? FIRST : 2 * rows->cap;
    struct store_item *v;

    if (rows->items.n < rows->cap)
        return true;
    v = arena_array(rows->arena, cap, sizeof(*v));
    if (v == NULL)
        return false;
    if (rows->items.n > 0)
        memcpy(v, rows->items.v, rows->items.n * sizeof(*v));
    rows->items.v = v;
    rows->cap = cap;
    return true;
}

int item_rows_add(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct item_rows *rows = arg;
    struct store_item item = {.id = arena_dup(rows->arena, columns[0].s),
                              .is_output = columns[1].i != 0,
                              .is_hidden = columns[2].i != 0,
                              .body = arena_dup(rows->arena, columns[3].s)};

    if (str_is_none(item.id) || str_is_none(item.body) || !rows_grow(rows))
        return err_set_no_memory(reterr);
    rows->items.v[rows->items.n++] = item;
    return 0;
}

/* ---- lists */

/* The row behind which the page starts. An id may occur twice; the place is
 * chosen so that a client that follows the pages comes to an end. */
static int place_find(struct store_session *s, const struct list_kind *kind, int64_t of,
                      const struct store_page *page, int64_t *ret, struct err *reterr)
{
    const struct sql_value values[] = {{.i = of}, {.s = page->after}};
    struct found place = {.is_there = false};

    *ret = page->ascending ? 0 : INT64_MAX;
    if (str_is_none(page->after))
        return 0;
    if (id_is_possible(page->after) && session_find(s, kind->place, values, &place, reterr) == -1)
        return -1;
    *ret = place.v[page->ascending ? 1 : 0];
    if (*ret != 0)
        return 0;
    err_set(reterr, ERR_NOT_FOUND, "Item with id '%.*s' not found.", STR_ARG(page->after));
    return -1;
}

int items_list(struct store_session *s, const struct list_kind *kind, int64_t of,
               const struct store_page *page, struct arena *a, struct store_list *ret,
               struct err *reterr)
{
    struct item_rows rows = {.arena = a};
    int64_t limit = page->limit < INT32_MAX ? (int64_t)page->limit : INT32_MAX;
    int64_t place;

    if (place_find(s, kind, of, page, &place, reterr) == -1)
        return -1;
    if (session_run(s, page->ascending ? kind->ascending : kind->descending,
                    (const struct sql_value[]){{.i = of}, {.i = place}, {.i = limit + 1}},
                    item_rows_add, &rows, NULL, reterr) == -1)
        return -1;
    ret->has_more = rows.items.n > page->limit;
    if (ret->has_more)
        rows.items.n = page->limit;
    ret->items = rows.items;
    return 0;
}
