/* unfinished.c -- a response is restored, ended and written. */
#include "background/unfinished.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "response/head_ended.h"
#include "response/response_restore.h"

/* ---- loading */

/* Rows of all pages. What the arena is given is never given back, so it grows by doubling. */
struct all_rows {
    struct store_event_row *v;
    size_t n, size;
};

static bool grow_rows(struct all_rows *all, size_t n, struct arena *a)
{
    const size_t size = 2 * n;
    struct store_event_row *v = arena_array(a, size, sizeof(*v));

    if (v == NULL)
        return false;
    if (all->n > 0)
        memcpy(v, all->v, all->n * sizeof(*v));
    all->v = v;
    all->size = size;
    return true;
}

static int add_rows(struct all_rows *all, const struct store_events *page, struct arena *a,
                    struct err *reterr)
{
    const size_t n = all->n + page->n_rows;

    if (n > all->size && !grow_rows(all, n, a))
        return err_set_no_memory(reterr);
    if (page->n_rows > 0)
        memcpy(all->v + all->n, page->rows, page->n_rows * sizeof(*all->v));
    all->n = n;
    return 0;
}

int unfinished_load(struct store_session *s, str owner, str id, struct arena *a,
                    struct store_events *ret, struct err *reterr)
{
    struct all_rows all = {.n = 0};
    struct store_events page;

    if (store_get_events(s, owner, id, 0, a, ret, reterr) == -1 ||
        add_rows(&all, ret, a, reterr) == -1)
        return -1;
    page = *ret;
    while (!store_status_is_terminal(page.status) && page.has_more && page.n_rows > 0) {
        if (store_get_events(s, owner, id, page.rows[page.n_rows - 1].first + 1, a, &page,
                             reterr) == -1 ||
            add_rows(&all, &page, a, reterr) == -1)
            return -1;
    }
    ret->status = page.status;
    ret->rows = all.v;
    ret->n_rows = all.n;
    ret->has_more = false;
    return 0;
}

/* ---- restoring */

static int restore_rows(const struct unfinished *u, struct response_restore *to, struct err *reterr)
{
    for (size_t i = 0; i < u->n_rows; i++) {
        const struct store_event_row *row = &u->rows[i];

        if (response_restore_row(to, row->cuts, row->done, row->pieces, reterr) == -1)
            return -1;
    }
    return 0;
}

/* False when nothing is restored, and there is nothing to free. */
static bool restore_response(const struct response_conf *conf, const struct unfinished *u,
                             struct response_restore *to, struct err *reterr)
{
    if (response_restore_begin(conf, u->head, u->tail, to, reterr) == -1)
        return false;
    if (restore_rows(u, to, reterr) == 0)
        return true;
    response_fini(&to->response);
    return false;
}

/* ---- ending */

static void end_response(struct response *r, const struct unfinished *u, const struct err *why)
{
    if (u->n_rows == 0) {
        response_queue(r, NULL); /* every stream begins with these, and it has had none */
        response_start(r, NULL);
    }
    if (why->code == ERR_RESPONSE_CANCELLED)
        response_cancel(r, NULL);
    else
        response_fail(r, why, NULL);
}

/* ---- writing */

/* A copy of what was written, and the buf is empty again. */
static str take_text(struct buf *text, struct arena *a)
{
    const str copy = buf_failed(text) ? STR_NONE : arena_dup(a, buf_str(text));

    buf_reset(text);
    return copy;
}

static bool write_item(const struct output_item *item, struct arena *a, struct buf *text,
                       struct store_item *ret)
{
    output_item_write(item, text);
    *ret = (struct store_item){
        .id = arena_dup(a, id_str(&item->id)), .body = take_text(text, a), .is_output = true};
    return !str_is_none(ret->id) && !str_is_none(ret->body);
}

static bool write_items(const struct response *r, struct arena *a, struct buf *text,
                        struct store_items *ret)
{
    ret->v = arena_array(a, r->n_items + 1, sizeof(*ret->v));
    if (ret->v == NULL)
        return false;
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (!item->is_hidden && !write_item(item, a, text, &ret->v[ret->n++]))
            return false;
    }
    return true;
}

static bool write_object(const struct response *r, struct arena *a, struct store_response *ret)
{
    struct buf text = {.limit = 0};
    bool is_written;

    response_object_head(r, &text);
    ret->head = take_text(&text, a);
    response_object_tail(r, &text);
    ret->tail = take_text(&text, a);
    is_written =
        !str_is_none(ret->head) && !str_is_none(ret->tail) && write_items(r, a, &text, &ret->items);
    buf_fini(&text);
    return is_written;
}

static str write_cuts(const struct response *r, struct arena *a)
{
    struct buf packed = {.limit = 0};
    struct cuts cuts;
    str copy = STR_NONE;

    response_whole_cuts(r, &cuts);
    cuts_pack(buf_str(&cuts.bytes), &packed);
    if (!buf_failed(&cuts.bytes) && !buf_failed(&packed))
        copy = arena_dup(a, buf_str(&packed));
    cuts_fini(&cuts);
    buf_fini(&packed);
    return copy;
}

static int write_restored(struct response *r, struct arena *a, struct store_response *ret,
                          struct err *reterr)
{
    ret->status = r->status == RESPONSE_CANCELLED ? STORE_CANCELLED : STORE_FAILED;
    ret->cuts = write_cuts(r, a);
    return write_object(r, a, ret) ? 0 : err_set_no_memory(reterr);
}

/* ---- ending without the events */

/* What another version of the gateway has written, above all. */
static int write_unrestored(const struct unfinished *u, const struct err *why, struct arena *a,
                            struct store_response *ret, struct err *reterr)
{
    struct buf head = {.limit = 0};
    int rc = head_ended_write(u->head, why, &head, reterr);

    if (rc == 0) {
        ret->status = why->code == ERR_RESPONSE_CANCELLED ? STORE_CANCELLED : STORE_FAILED;
        ret->cuts = STR_NONE;
        ret->head = take_text(&head, a);
        ret->tail = arena_dup(a, u->tail);
    }
    buf_fini(&head);
    if (rc == 0 && (str_is_none(ret->head) || str_is_none(ret->tail)))
        return err_set_no_memory(reterr);
    return rc;
}

int unfinished_end(const struct unfinished *u, const struct err *why, const struct config *config,
                   struct arena *a, struct store_response *ret, struct err *reterr)
{
    const struct response_conf conf = {
        .error_event = config->error_event, .keeps_cuts = true, .is_background = true};
    struct response_restore restore;
    int rc;

    *ret = (struct store_response){.parent_id = STR_NONE,
                                   .conversation_id = STR_NONE,
                                   .lock = STR_NONE,
                                   .idempotency_lock = STR_NONE};
    if (!restore_response(&conf, u, &restore, reterr))
        return write_unrestored(u, why, a, ret, reterr);
    end_response(&restore.response, u, why);
    rc = write_restored(&restore.response, a, ret, reterr);
    response_fini(&restore.response);
    return rc;
}
