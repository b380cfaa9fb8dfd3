/* store_export.c -- figures, and everything that can be found, one after the other. */
#include <stdlib.h>

#include <string.h>

#include "store/sql_schema.h"
#include "store/store_item.h"

int store_stats(struct store_session *s, struct store_stats *ret, struct err *reterr)
{
    struct found row, version;
    uint64_t file_bytes;

    if (session_find(s, SQL_STATS, NULL, &row, reterr) == -1 ||
        session_find(s, SQL_SCHEMA_GET, NULL, &version, reterr) == -1 ||
        s->driver->size(s->db, &file_bytes, reterr) == -1)
        return -1;
    *ret = (struct store_stats){.n_histories = (uint64_t)row.v[0],
                                .n_conversations = (uint64_t)row.v[1],
                                .n_responses = (uint64_t)row.v[2],
                                .n_items = (uint64_t)row.v[3],
                                .n_owners = (uint64_t)row.v[4],
                                .n_queued = (uint64_t)row.v[7],
                                .n_running = (uint64_t)row.v[8],
                                .n_keys = (uint64_t)row.v[9],
                                .bytes = (uint64_t)row.v[5],
                                .cuts_bytes = (uint64_t)row.v[10],
                                .file_bytes = file_bytes,
                                .oldest_use = row.v[6],
                                .schema_version = (int)version.v[0]};
    return 0;
}

int store_vacuum(struct store_session *s, struct err *reterr)
{
    return s->driver->script(s->db, s->driver->vacuum, reterr);
}

int store_schema(struct store_session *s, struct store_schema *ret, struct err *reterr)
{
    return sql_schema_look(s->db, ret, reterr);
}

int store_copy(struct store_session *s, const char *path, struct err *reterr)
{
    if (s->driver->copy != NULL)
        return s->driver->copy(s->db, path, SQL_COPY_IS_NEW, reterr);
    err_set(reterr, ERR_INVALID_VALUE,
            "pg_dump copies a PostgreSQL database; this command copies files of SQLite");
    return -1;
}

/* ---- export */

struct next {
    struct arena *arena;
    int64_t seq; /* 0: there is none */
    str owner, id;
};

static int on_next(void *arg, const struct sql_value *columns, struct err *reterr)
{
    struct next *n = arg;

    n->seq = columns[0].i;
    n->owner = arena_dup(n->arena, columns[1].s);
    n->id = arena_dup(n->arena, columns[2].s);
    if (!str_is_none(n->owner) && !str_is_none(n->id))
        return 0;
    return err_set_no_memory(reterr);
}

/* The next to be exported; an arena for each keeps the memory small. */
struct exported {
    struct store_session *s;
    const struct store_exporter *to;
    struct arena arena;
    struct next next;
    struct store_response response; /* or a conversation with its items */
    struct store_conversation conversation;
    struct store_items items;
};

struct kind {
    enum sql_statement next;
    int (*load)(struct exported *e, struct err *reterr);
    int (*report)(const struct exported *e);
};

static const struct store_page everything = {.limit = INT32_MAX, .ascending = true};

static int load_response(struct exported *e, struct err *reterr)
{
    struct store_response *r = &e->response;
    struct store_list input;
    struct store_items items;

    if (store_get_response(e->s, e->next.owner, e->next.id, &e->arena, r, reterr) == -1 ||
        store_list_input_items(e->s, e->next.owner, e->next.id, &everything, &e->arena, &input,
                               reterr) == -1)
        return -1;
    items.n = input.items.n + r->items.n;
    items.v = arena_array(&e->arena, items.n + 1, sizeof(*items.v));
    if (items.v == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < items.n; i++)
        items.v[i] = i < input.items.n ? input.items.v[i] : r->items.v[i - input.items.n];
    r->items = items;
    return 0;
}

static int report_response(const struct exported *e)
{
    return e->to->on_response(e->to->arg, e->next.owner, &e->response);
}

static int load_conversation(struct exported *e, struct err *reterr)
{
    struct store_list list;

    if (store_get_conversation(e->s, e->next.owner, e->next.id, &e->arena, &e->conversation,
                               reterr) == -1 ||
        store_list_items(e->s, e->next.owner, e->next.id, &everything, &e->arena, &list, reterr) ==
            -1)
        return -1;
    e->items = list.items;
    return 0;
}

static int report_conversation(const struct exported *e)
{
    return e->to->on_conversation(e->to->arg, e->next.owner, &e->conversation, &e->items);
}

/* Loads the next in one state of the database, so that each is whole while others write. */
static int load_next(struct exported *e, const struct kind *kind, int64_t after, struct err *reterr)
{
    struct tx tx;
    int rc;

    e->next = (struct next){.arena = &e->arena};
    if (tx_begin(&tx, e->s, STORE_READ, reterr) == -1)
        return -1;
    rc = session_run(e->s, kind->next, &(struct sql_value){.i = after}, on_next, &e->next, NULL,
                     reterr);
    if (rc == 0 && e->next.seq != 0)
        rc = kind->load(e, reterr);
    return tx_end(&tx, rc, reterr);
}

/* Exports the next, which is reported outside of the transaction: whoever takes it may be slow, and a
 * server ends transactions that do nothing. */
static int export_next(struct exported *e, const struct kind *kind, int64_t after,
                       struct err *reterr)
{
    if (load_next(e, kind, after, reterr) == -1)
        return -1;
    if (e->next.seq == 0 || kind->report(e) == 0)
        return 0;
    err_set(reterr, ERR_INTERNAL, "The export was stopped.");
    return -1;
}

static int export_all(struct exported *e, const struct kind *kind, struct err *reterr)
{
    int64_t after = 0;
    int rc;

    do {
        rc = export_next(e, kind, after, reterr);
        after = e->next.seq;
        arena_fini(&e->arena);
    } while (rc == 0 && after != 0);
    return rc;
}

int store_export(struct store_session *s, const struct store_exporter *to, struct err *reterr)
{
    static const struct kind responses = {SQL_EXPORT_RESPONSE, load_response, report_response};
    static const struct kind conversations = {SQL_EXPORT_CONVERSATION, load_conversation,
                                              report_conversation};
    struct exported e = {.s = s, .to = to};

    if (export_all(&e, &responses, reterr) == -1)
        return -1;
    return export_all(&e, &conversations, reterr);
}
