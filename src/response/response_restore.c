/* response_restore.c -- rows of a journal become a response again.
 *
 * A row is read twice. First its cuts tell which items are done in it: those are made of what stands
 * in `done`, and nothing else of the row is about them. Then the cuts are followed one by one, and
 * the items that stay open take their pieces.
 *
 * Rows come from a store: whatever is in them, every number is checked before it is used. */
#include "response/response_restore.h"

#include "json/json_read.h"
#include "response/response_internal.h"
#include "response/response_read.h"

struct row_reading {
    struct response_restore *restore;
    struct response *response;
    str done, pieces; /* what is left of them */
    size_t n_items;   /* at the end of the row */
    struct err *reterr;
};

static int refuse_row(const struct row_reading *g)
{
    err_set(g->reterr, ERR_STORE, "The kept events of the response do not fit together.");
    return -1;
}

/* ---- what stands in a row */

/* A line of JSON, which has no line ends in it. */
static str take_line(str *rest)
{
    return str_cut(rest, '\n');
}

static bool take_bytes(str *rest, size_t n, str *ret)
{
    if (n > rest->len)
        return false;
    *ret = str_from(rest->p, n);
    *rest = str_skip(*rest, n);
    return true;
}

/* Are these the elements of an array? */
static bool are_elements(str s)
{
    struct jr j;

    while (s.len > 0) {
        jr_init(&j, s);
        jr_skip(&j);
        s = str_skip(s, jr_offset(&j));
        if (!jr_ok(&j) || (s.len > 0 && (s.p[0] != ',' || s.len == 1)))
            return false;
        s = str_skip(s, 1);
    }
    return true;
}

/* ---- items */

static bool is_open(const struct output_item *item)
{
    return item->status == OUTPUT_IN_PROGRESS;
}

static struct output_item *read_item(const struct row_reading *g, str body)
{
    struct arena *a = &g->response->arena;
    struct output_item *item = arena_alloc(a, sizeof(*item));

    if (item == NULL) {
        err_set_no_memory(g->reterr);
        return NULL;
    }
    return output_item_read(body, a, item, g->reterr) == 0 ? item : NULL;
}

/* A place for one more behind those that there are. */
static int add_place(struct row_reading *g)
{
    struct response_restore *to = g->restore;
    const size_t cap = to->cap_items == 0 ? 16 : 2 * to->cap_items;

    if (g->n_items == to->cap_items) {
        struct output_item **items =
            arena_array(&g->response->arena, cap, sizeof(struct output_item *));

        if (items == NULL)
            return err_set_no_memory(g->reterr);
        if (g->n_items > 0)
            memcpy(items, to->items, g->n_items * sizeof(struct output_item *));
        to->items = items;
        to->cap_items = cap;
    }
    to->items[g->n_items++] = NULL;
    return 0;
}

/* Links the item in the place of the one of this index, or behind the last. */
static void link_item(struct response_restore *to, size_t index, struct output_item *item)
{
    struct response *r = &to->response;
    struct output_item **link = index == 0 ? &r->first : &to->items[index - 1]->next;

    item->index = (unsigned)index;
    item->next = *link == NULL ? NULL : (*link)->next;
    if (item->next == NULL)
        r->end = &item->next;
    *link = to->items[index] = item;
}

/* ---- first, what is done in the row */

/* An open item becomes what it is when it is done. */
static int close_item(const struct row_reading *g, size_t index, struct output_item *done)
{
    struct output_item *item = g->restore->items[index];

    if (!is_open(item) || item->kind != done->kind || !str_eq(id_str(&item->id), id_str(&done->id)))
        return refuse_row(g);
    link_item(g->restore, index, done);
    if (g->response->prose == item)
        g->response->prose = NULL;
    output_item_fini(item);
    return 0;
}

/* A done item that the row announces as well waits for that in its place. */
static int place_done(const struct row_reading *g, size_t index, struct output_item *done)
{
    struct output_item **place = &g->restore->items[index];

    if (is_open(done))
        return refuse_row(g);
    if (index < g->response->n_items)
        return close_item(g, index, done);
    if (*place != NULL)
        return refuse_row(g);
    *place = done;
    return 0;
}

static int take_done(struct row_reading *g, size_t index)
{
    struct output_item *done = read_item(g, take_line(&g->done));

    if (done == NULL)
        return -1;
    if (place_done(g, index, done) == 0)
        return 0;
    output_item_fini(done);
    return -1;
}

static bool is_of_item(enum event_type type)
{
    return (event_members(type) & EV_OUTPUT_INDEX) != 0;
}

static int look_for_done(struct row_reading *g, const struct event_cut *cut)
{
    if (!is_of_item(cut->type))
        return 0;
    if (cut->type == EVENT_ITEM_ADDED)
        return cut->item == g->n_items ? add_place(g) : refuse_row(g);
    if (cut->item >= g->n_items)
        return refuse_row(g);
    return cut->type == EVENT_ITEM_DONE ? take_done(g, cut->item) : 0;
}

/* ---- then, what the others have got */

/* A listing has no status, and is open until it is done. */
static struct output_item *take_announced(struct row_reading *g)
{
    struct output_item *item = read_item(g, take_line(&g->pieces));

    if (item != NULL)
        item->status = OUTPUT_IN_PROGRESS;
    return item;
}

static bool is_prose(const struct output_item *item)
{
    return item->kind == OUTPUT_MESSAGE || item->kind == OUTPUT_REASONING;
}

static int announce_item(struct row_reading *g, size_t index)
{
    struct response *r = g->response;
    struct output_item *item = g->restore->items[index];

    if (item == NULL)
        item = take_announced(g);
    if (item == NULL)
        return -1;
    link_item(g->restore, index, item);
    r->n_items++;
    if (!is_prose(item) || !is_open(item))
        return 0;
    if (r->prose != NULL)
        return refuse_row(g);
    r->prose = item;
    return 0;
}

static int open_part(struct row_reading *g, struct output_item *item, unsigned index)
{
    if (item->open != NULL || index != item->n_parts)
        return refuse_row(g);
    return output_part_read(take_line(&g->pieces), &g->response->arena, item, g->reterr) == NULL
               ? -1
               : 0;
}

/* The part that an event is about, if it is open. */
static struct output_part *find_part(const struct output_item *item, const struct event_cut *cut)
{
    return item->open != NULL && item->open->index == cut->part ? item->open : NULL;
}

/* Two kinds of parts have the same JSON, and differ in their events. */
static bool fits_part(struct output_part *p, const struct event_cut *cut)
{
    const size_t comma = p->logprobs.len > 0;

    if (p->kind == OUTPUT_PART_REASONING && cut->type == EVENT_OPEN_REASONING_DELTA)
        p->kind = OUTPUT_PART_OPEN_REASONING;
    return output_part_row(p->kind)->delta == cut->type && cut->from == p->text.len &&
           (cut->logprobs_len == 0 || cut->logprobs_from == p->logprobs.len + comma);
}

static int grow_part(struct row_reading *g, struct output_part *p, const struct event_cut *cut)
{
    str text, logprobs;

    if (p == NULL || !fits_part(p, cut) || !take_bytes(&g->pieces, cut->len, &text) ||
        !take_bytes(&g->pieces, cut->logprobs_len, &logprobs) || !jr_is_string_content(text) ||
        !are_elements(logprobs))
        return refuse_row(g);
    buf_append(&p->text, text);
    if (p->logprobs.len > 0 && logprobs.len > 0)
        buf_char(&p->logprobs, ',');
    buf_append(&p->logprobs, logprobs);
    return buf_failed(&p->text) || buf_failed(&p->logprobs) ? err_set_no_memory(g->reterr) : 0;
}

static int grow_call(struct row_reading *g, struct output_item *item, const struct event_cut *cut)
{
    str text;

    if (output_kind_row(item->kind)->delta != cut->type || cut->from != item->text.len ||
        !take_bytes(&g->pieces, cut->len, &text) || !jr_is_string_content(text))
        return refuse_row(g);
    buf_append(&item->text, text);
    item->n_said = item->text.len;
    return buf_failed(&item->text) ? err_set_no_memory(g->reterr) : 0;
}

static int grow_item(struct row_reading *g, struct output_item *item, const struct event_cut *cut)
{
    if ((event_members(cut->type) & (EV_CONTENT_INDEX | EV_SUMMARY_INDEX)) != 0)
        return grow_part(g, find_part(item, cut), cut);
    return grow_call(g, item, cut);
}

static int annotate_item(struct row_reading *g, const struct output_item *item,
                         const struct event_cut *cut)
{
    struct output_part *p = find_part(item, cut);

    if (p == NULL)
        return refuse_row(g);
    return output_part_annotate(p, take_line(&g->pieces), &g->response->arena, g->reterr);
}

/* The call's arguments are all there. Only a call that the gateway runs stays open then. */
static int complete_call(const struct row_reading *g, struct output_item *item)
{
    item->is_whole = true;
    return output_is_hosted_call(item->kind) ? 0 : refuse_row(g);
}

static bool is_end_of(const struct output_item *item, enum event_type type)
{
    const struct output_hosted_row *row = output_hosted_row(item->kind);

    return type == row->completed || type == row->failed;
}

/* Most events say nothing that their item does not show. */
static int apply_to_item(struct row_reading *g, struct output_item *item,
                         const struct event_cut *cut)
{
    const unsigned members = event_members(cut->type);

    if ((members & EV_DELTA) != 0)
        return grow_item(g, item, cut);
    if ((members & EV_ANNOTATION) != 0)
        return annotate_item(g, item, cut);
    if ((members & (EV_ARGUMENTS | EV_INPUT | EV_CODE)) != 0)
        return complete_call(g, item);
    if (cut->type == EVENT_PART_ADDED || cut->type == EVENT_SUMMARY_PART_ADDED)
        return open_part(g, item, cut->part);
    if (cut->type == EVENT_PART_DONE || cut->type == EVENT_SUMMARY_PART_DONE)
        item->open = NULL;
    return is_end_of(item, cut->type) ? refuse_row(g) : 0;
}

static int apply_to_response(const struct row_reading *g, enum event_type type)
{
    if (type == EVENT_IN_PROGRESS)
        g->response->status = RESPONSE_IN_PROGRESS;
    return type == EVENT_CREATED || type == EVENT_QUEUED || type == EVENT_IN_PROGRESS ||
                   type == EVENT_KEEPALIVE
               ? 0
               : refuse_row(g);
}

static int apply_cut(struct row_reading *g, const struct event_cut *cut)
{
    struct output_item *item;

    if (!is_of_item(cut->type))
        return apply_to_response(g, cut->type);
    if (cut->type == EVENT_ITEM_ADDED)
        return announce_item(g, cut->item);
    item = g->restore->items[cut->item];
    return is_open(item) ? apply_to_item(g, item, cut) : 0;
}

/* ---- the row */

static int for_each_cut(struct row_reading *g, struct cuts_reader *reader,
                        int (*act)(struct row_reading *g, const struct event_cut *cut))
{
    const str cuts = buf_str(&g->response->cuts.bytes);
    struct event_cut cut;

    while (cuts_next(reader, cuts, &cut)) {
        if (act(g, &cut) == -1)
            return -1;
    }
    return 0;
}

static int read_row(struct row_reading *g)
{
    struct cuts_reader first = g->restore->reader;

    if (for_each_cut(g, &first, look_for_done) == -1 ||
        for_each_cut(g, &g->restore->reader, apply_cut) == -1)
        return -1;
    g->response->next_sequence_number = g->restore->reader.n;
    return g->done.len == 0 && g->pieces.len == 0 ? 0 : refuse_row(g);
}

/* Items that waited for their announcement are not among the response's. */
static void drop_places(const struct row_reading *g)
{
    for (size_t i = g->response->n_items; i < g->n_items; i++) {
        if (g->restore->items[i] != NULL)
            output_item_fini(g->restore->items[i]);
    }
}

int response_restore_row(struct response_restore *restore, str cuts, str done, str pieces,
                         struct err *reterr)
{
    struct response *r = &restore->response;
    struct row_reading g = {.restore = restore,
                            .response = r,
                            .done = done,
                            .pieces = pieces,
                            .n_items = r->n_items,
                            .reterr = reterr};

    if (!cuts_append(&r->cuts, cuts))
        return buf_failed(&r->cuts.bytes) ? err_set_no_memory(reterr) : refuse_row(&g);
    if (read_row(&g) == 0)
        return 0;
    drop_places(&g);
    return -1;
}

/* ---- the beginning */

int response_restore_begin(const struct response_conf *conf, str head, str tail,
                           struct response_restore *ret, struct err *reterr)
{
    struct response_conf own = *conf;

    own.keeps_cuts = true;
    *ret = (struct response_restore){.cap_items = 0};
    return response_read(&own, head, tail, NULL, 0, &ret->response, reterr);
}
