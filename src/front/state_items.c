/* state_items.c -- the items of a conversation. */
#include "conv/fields.h"
#include "conv/kept_item.h"
#include "flight/worker.h"
#include "front/state_calls.h"
#include "front/state_conversations.h"
#include "front/state_list.h"
#include "turn/stored_item.h"
#include "upstream/upstream_options.h"

enum { MAX_ITEMS = 20 }; /* in one request */

/* ---- reading */

static int check_count(str items, struct err *reterr)
{
    struct jr j;
    size_t n = 0;

    jr_init(&j, items);
    (void)jr_enter(&j, JR_ARRAY);
    for (; jr_next_element(&j); n++)
        jr_skip(&j);
    if (n <= MAX_ITEMS)
        return 0;
    err_set_param(reterr, ERR_ARRAY_TOO_LONG, "items",
                  "Invalid 'items': array too long. Expected an array with maximum length %d, but "
                  "got an array with length %zu instead.",
                  MAX_ITEMS, n);
    return -1;
}

/* Items as the store takes them. */
static int convert(struct state_request *q, const struct kept_items *kept, struct err *reterr)
{
    q->items.v = arena_array(&q->arena, kept->n, sizeof(*q->items.v));
    q->is_partial = arena_array(&q->arena, kept->n, sizeof(*q->is_partial));
    if ((q->items.v == NULL || q->is_partial == NULL) && kept->n > 0)
        return err_set_no_memory(reterr);
    for (; q->items.n < kept->n; q->items.n++) {
        const struct kept_item *k = &kept->v[q->items.n];

        q->is_partial[q->items.n] = k->is_partial;
        q->items.v[q->items.n] =
            (struct store_item){.id = k->id, .body = k->body, .is_reference = k->is_reference};
    }
    return 0;
}

int state_items_read(struct state_request *q, str items, struct err *reterr)
{
    const struct responses_request_options o = upstream_request_options(q->worker->config, NULL);
    const struct path items_at = path_member(NULL, STR("items"));
    struct kept_items kept;

    if (check_count(items, reterr) == -1 ||
        kept_items_read(items, &items_at, &o.input, &q->worker->ids, &q->arena, &kept, reterr) ==
            -1)
        return -1;
    return convert(q, &kept, reterr);
}

static int read_add(struct state_request *q, str body, struct err *reterr)
{
    static const struct field table[] = {{STR_INIT("items"), FIELD_ARRAY, 0}};
    const struct path items_at = path_member(NULL, STR("items"));
    str items = STR_NONE;

    if (state_include_check(&q->query, reterr) == -1 ||
        fields_read_body(body, FIELDS(table), &items, NULL, reterr) == -1)
        return -1;
    if (str_is_none(items))
        return reject_missing(&items_at, reterr);
    return state_items_read(q, items, reterr);
}

static int read_list(struct state_request *q, str body, struct err *reterr)
{
    (void)body;
    return state_page_read(&q->query, &q->page, reterr);
}

static int read_get(struct state_request *q, str body, struct err *reterr)
{
    (void)body;
    return state_include_check(&q->query, reterr);
}

/* ---- working */

static int reject_reference(const struct store_item *item, size_t i, struct err *reterr)
{
    const struct path items_at = path_member(NULL, STR("items"));
    const struct path at = path_index(&items_at, i);

    err_set_param(reterr, ERR_NOT_FOUND, path_name(&at).text, "Item with id '%.*s' not found.",
                  STR_ARG(item->id));
    return -1;
}

/* A call's result comes behind it. scratch: for what is looked at, and not kept. */
static int complete(struct store_session *s, struct state_request *q, size_t i,
                    struct arena *scratch, struct store_items *all, struct err *reterr)
{
    struct request_history_item found = {.body = STR_NONE};
    struct store_item *item = &all->v[all->n++];

    *item = q->items.v[i];
    if ((q->is_partial[i] || item->is_reference) &&
        stored_item_find(s, q->owner, item->id, scratch, &found, reterr) == -1)
        return -1;
    if (item->is_reference && str_is_none(found.body))
        return reject_reference(item, i, reterr);
    if (!str_is_none(found.body))
        *item = (struct store_item){.id = item->id, .is_reference = true};
    if (str_is_none(found.result))
        return 0;
    return stored_item_refer_to_result(&found, &q->arena, &all->v[all->n++], reterr);
}

int state_items_complete(struct store_session *s, struct state_request *q, struct store_items *ret,
                         struct err *reterr)
{
    struct store_items all = {.v = arena_array(&q->arena, 2 * q->items.n, sizeof(*all.v))};

    if (all.v == NULL && q->items.n > 0)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < q->items.n; i++) {
        struct arena scratch = {.limit = 0};
        int rc = complete(s, q, i, &scratch, &all, reterr);

        arena_fini(&scratch);
        if (rc == -1)
            return -1;
    }
    *ret = all;
    return 0;
}

static int list_items(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_list found;

    if (store_list_items(s, q->owner, q->ids[0], &q->page, &q->arena, &found, reterr) == -1)
        return -1;
    state_list_write(&found, &q->out);
    return 0;
}

static bool is_repeated(const struct store_items *items, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (str_eq(items->v[k].id, items->v[i].id))
            return true;
    }
    return false;
}

/* Items as the conversation holds them: also those that the client has only referred to, and those that
 * were there before. */
static int load_added(struct store_session *s, struct state_request *q, struct store_items *ret,
                      struct err *reterr)
{
    ret->v = arena_array(&q->arena, q->items.n, sizeof(*ret->v));
    if (ret->v == NULL && q->items.n > 0)
        return err_set_no_memory(reterr);
    ret->n = 0;
    for (size_t i = 0; i < q->items.n; i++) {
        if (!is_repeated(&q->items, i) &&
            store_get_item(s, q->owner, q->ids[0], q->items.v[i].id, &q->arena, &ret->v[ret->n++],
                           reterr) == -1)
            return -1;
    }
    return 0;
}

static int add_items(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_list added = {.has_more = false};
    struct store_items all;

    if (state_items_complete(s, q, &all, reterr) == -1 ||
        store_add_items(s, q->owner, q->ids[0], &all, reterr) == -1 ||
        load_added(s, q, &added.items, reterr) == -1)
        return -1;
    state_list_write(&added, &q->out);
    return 0;
}

static int get_item(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_item item;

    if (store_get_item(s, q->owner, q->ids[0], q->ids[1], &q->arena, &item, reterr) == -1)
        return -1;
    buf_append(&q->out, item.body);
    return 0;
}

static int delete_item(struct store_session *s, struct state_request *q, struct err *reterr)
{
    str result_id = item_result_id(q->ids[1], &q->arena);

    if (str_is_none(result_id))
        return err_set_no_memory(reterr);
    if (store_delete_item(s, q->owner, q->ids[0], q->ids[1], reterr) == -1 ||
        store_delete_hidden(s, q->owner, q->ids[0], result_id, reterr) == -1)
        return -1;
    return state_conversation_show(s, q, reterr);
}

const struct state_call state_items_list = {STORE_READ, false, read_list, list_items, NULL};
const struct state_call state_items_add = {STORE_WRITE, true, read_add, add_items, NULL};
const struct state_call state_item_get = {STORE_READ, false, read_get, get_item, NULL};
const struct state_call state_item_delete = {STORE_WRITE, false, NULL, delete_item, NULL};
