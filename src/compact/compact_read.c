/* compact_read.c -- from the end back to the last whole context, then forward from there.
 *
 * What replaces an item is read where it is found on the way back, so that an item whose inside is
 * of no use counts as one that cannot be opened before it is known where the context begins. */
#include "compact/compact_read.h"

#include "compact/compact_tail.h"

#include "conv/fields.h"
#include "json/json_copy.h"
#include "json/json_walk.h"

/* The texts of CONTRACT 13.8, escaped. */
static const str summary_frame = STR_INIT(
    "[The conversation up to here was replaced by this summary, which you wrote. The user's messages "
    "above it are\\ntheirs. Go on from it without mentioning it.]\\n\\n");
static const str foreign_note = STR_INIT(
    "[An earlier part of this conversation was summarized by another service and cannot be read "
    "here.]");

/* What a compaction item has turned out to be. */
struct opening {
    bool is_open;
    bool is_window;
    bool is_end; /* of a chain: the response was asked for a summary */
    struct item_list before, after;
    struct item message;
};

struct reading {
    const struct compact_reading *how;
    struct input_options inside; /* how the lists of an item are read */
    const struct id_source *ids;
    struct arena *arena;
    struct err *reterr;
    const struct item **items; /* of the list, by their places */
    struct opening *openings;  /* one for each item */
    size_t n, n_before;
    struct item_list out;
    size_t n_history; /* so many of out are history */
};

static int add_copy(struct item_list *list, const struct item *from, struct arena *a,
                    struct err *reterr)
{
    struct item *it = item_list_add(list, a);

    if (it == NULL)
        return err_set_no_memory(reterr);
    *it = *from;
    it->next = NULL;
    return 0;
}

static void append_list(struct item_list *list, const struct item_list *more)
{
    struct item_list whole = *more;

    item_list_prepend(&whole, list);
    *list = whole;
}

/* ---- the lists inside */

/* These mean nothing there, whoever wrote them. */
static bool is_out_of_place(const struct item *it)
{
    return it->kind == ITEM_COMPACTION || it->kind == ITEM_TRIGGER || it->kind == ITEM_REFERENCE ||
           (it->is_result && it->is_origin);
}

/* A result stands behind its item, or, when that says nothing by itself, alone. */
static int take_inside(const struct reading *s, struct item *read, size_t index,
                       struct item_list *list)
{
    struct item *last = list->last;

    if (read->is_result && last != NULL && !last->is_result && str_eq(last->id, read->id)) {
        item_take_result(last, read);
        return 0;
    }
    if (is_out_of_place(read))
        return 0;
    read->index = index;
    read->is_kept = true;
    return add_copy(list, read, s->arena, s->reterr);
}

static int read_list(const struct reading *s, str array, size_t index, struct item_list *ret)
{
    struct json_walk w = json_walk_of(str_is_none(array) ? STR("[]") : array);

    *ret = (struct item_list){0};
    (void)json_walk_enter(&w, JR_ARRAY);
    while (json_walk_element(&w)) {
        struct item read = {.kind = ITEM_IGNORED};

        if (item_read(&w, NULL, &s->inside, s->ids, s->arena, &read, s->reterr) == -1 ||
            take_inside(s, &read, index, ret) == -1)
            return -1;
    }
    return 0;
}

/* ---- the message */

static int make_message(const struct reading *s, str start, str text, size_t index,
                        struct item *ret)
{
    struct buf whole = {.limit = 0};
    str copy;

    buf_append(&whole, start);
    json_copy_text(text, &whole);
    copy = buf_failed(&whole) ? STR_NONE : arena_dup(s->arena, buf_str(&whole));
    buf_fini(&whole);
    if (str_is_none(copy))
        return err_set_no_memory(s->reterr);
    *ret = (struct item){
        .kind = ITEM_MESSAGE, .role = s->how->has_role ? s->how->role : ROLE_USER, .index = index};
    return content_from_text(copy, s->arena, &ret->content, s->reterr);
}

static int make_summary(const struct reading *s, str summary, size_t index, struct item *ret)
{
    if (make_message(s, summary_frame, summary, index, ret) == -1)
        return -1;
    ret->is_own_summary = true;
    return 0;
}

/* ---- opening one */

/* What is wrong inside is ours to get wrong, and no mistake of the client's. */
static bool is_no_memory(const struct err *e)
{
    return err_http_status(e) >= 500;
}

static int read_inside(const struct reading *s, const struct compact_opened *o, size_t index,
                       struct opening *ret)
{
    struct opening opening = {.is_open = true, .is_window = o->is_window};

    if (read_list(s, o->before, index, &opening.before) == -1 ||
        read_list(s, o->after, index, &opening.after) == -1)
        return is_no_memory(s->reterr) ? -1 : 0;
    if (make_summary(s, o->summary, index, &opening.message) == -1)
        return -1;
    *ret = opening;
    return 0;
}

static int reject_foreign(const struct item *it, struct err *reterr)
{
    const struct path input_at = path_member(NULL, STR("input"));
    const struct path item_at = path_index(&input_at, it->index);
    const struct path at = path_member(&item_at, STR("encrypted_content"));
    const struct path_name name = path_name(&at);

    err_set_param(reterr, ERR_INVALID_VALUE, name.text,
                  "Invalid '%s': the compaction item cannot be opened here. It was made by another "
                  "service or for another client, is damaged, or its key is gone. Leave it out.",
                  name.text);
    return -1;
}

static int open_item(struct reading *s, size_t i)
{
    const struct item *it = s->items[i];
    struct opening *opening = &s->openings[i];
    struct compact_opened o;

    if (compact_item_open(it->sealed, s->how->seal, s->arena, &o)) {
        if (read_inside(s, &o, it->index, opening) == -1)
            return -1;
        opening->message.id = it->id;
        opening->is_end = opening->is_open && !o.is_window && it->is_kept && i < s->n_before;
    } else if (s->arena->has_failed) {
        return err_set_no_memory(s->reterr); /* no summary is lost by that */
    }
    if (opening->is_open)
        return 0;
    if (s->how->foreign == COMPACT_FOREIGN_REJECT && i >= s->n_before)
        return reject_foreign(it, s->reterr);
    if (s->how->foreign == COMPACT_FOREIGN_DROP)
        return 0;
    return make_message(s, foreign_note, STR(""), it->index, &opening->message);
}

/* Opens the items back to the last that is a whole context; what stands before it is not looked at. */
static int open_items(struct reading *s)
{
    for (size_t i = s->n; i-- > 0;) {
        if (s->items[i]->kind != ITEM_COMPACTION)
            continue;
        if (open_item(s, i) == -1)
            return -1;
        if (s->openings[i].is_window)
            break;
    }
    return 0;
}

/* ---- what they stand for */

/* Of what stands before it the tools stay, also those that a search has found there. */
static void keep_tools(struct reading *s)
{
    struct item_list tools = {0};
    size_t n_history = 0, n = 0;

    for (struct item *it = s->out.first, *next; it != NULL; it = next) {
        const struct item_list one = {it, it, 1};
        const bool is_history = n++ < s->n_history;

        next = it->next;
        if (!item_brings_tools(it))
            continue;
        if (it->kind == ITEM_OUTPUT)
            it->kind = ITEM_ADDITIONAL_TOOLS;
        it->next = NULL;
        append_list(&tools, &one);
        n_history += is_history;
    }
    s->out = tools;
    s->n_history = n_history;
}

/* The client of a chain sends only what is new: it goes on from what the endpoint would have
 * answered (CONTRACT 13.2). */
static int keep_messages(struct reading *s)
{
    struct compact_kept kept;

    if (compact_keep_messages(&s->out, s->how->keep_tokens, s->ids, s->arena, &kept, s->reterr) ==
        -1)
        return -1;
    keep_tools(s);
    for (size_t i = 0; i < kept.before.n; i++) {
        struct item it = {.kind = ITEM_IGNORED};
        struct json_walk w = json_walk_of(kept.before.v[i].body);

        if (item_read(&w, NULL, &s->inside, s->ids, s->arena, &it, s->reterr) == -1)
            return -1;
        it.is_kept = true;
        if (add_copy(&s->out, &it, s->arena, s->reterr) == -1)
            return -1;
    }
    return 0;
}

static bool has_user_message(const struct item_list *items)
{
    const struct item *it = items->first;

    while (it != NULL && !compact_is_users(it))
        it = it->next;
    return it != NULL;
}

/* The user's messages stand before a summary, unless the client has dropped them as the Agents SDK
 * does with all that stands there. */
static int add_opened(struct reading *s, const struct opening *o)
{
    if (o->is_window)
        keep_tools(s);
    if (o->is_end && keep_messages(s) == -1)
        return -1;
    if (o->is_window || !has_user_message(&s->out))
        append_list(&s->out, &o->before);
    if (o->message.content.first != NULL &&
        add_copy(&s->out, &o->message, s->arena, s->reterr) == -1)
        return -1;
    append_list(&s->out, &o->after);
    return 0;
}

/* An item before the last whole context was not opened, and goes with all that stands there. */
static int add_items(struct reading *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct item *it = s->items[i];

        if (it->kind == ITEM_COMPACTION ? add_opened(s, &s->openings[i]) == -1
                                        : add_copy(&s->out, it, s->arena, s->reterr) == -1)
            return -1;
        if (i + 1 == s->n_before)
            s->n_history = s->out.n;
    }
    return 0;
}

/* ---- all of it */

static bool has_compaction(const struct item_list *items)
{
    const struct item *it = items->first;

    while (it != NULL && it->kind != ITEM_COMPACTION)
        it = it->next;
    return it != NULL;
}

static int list_items(struct reading *s, const struct item_list *items)
{
    s->items = arena_array(s->arena, items->n, sizeof(struct item *));
    s->openings = arena_array(s->arena, items->n, sizeof(*s->openings));
    if (s->items == NULL || s->openings == NULL)
        return err_set_no_memory(s->reterr);
    for (const struct item *it = items->first; it != NULL; it = it->next)
        s->items[s->n++] = it;
    return 0;
}

int compact_read_back(struct item_list *items, size_t *n_before, const struct compact_reading *how,
                      const struct input_options *o, const struct id_source *ids, struct arena *a,
                      struct err *reterr)
{
    struct err unused = {.code = ERR_INTERNAL};
    struct reading s = {.how = how,
                        .inside = *o,
                        .ids = ids,
                        .arena = a,
                        .reterr = reterr == NULL ? &unused : reterr,
                        .n_before = *n_before};

    if (!has_compaction(items))
        return 0;
    s.inside.ignore_unknown_items = true;
    s.inside.own_items = true;
    s.inside.reasoning_from_summary = true;
    if (list_items(&s, items) == -1 || open_items(&s) == -1 || add_items(&s) == -1)
        return -1;
    *items = s.out;
    *n_before = s.n_history;
    return 0;
}

bool compact_has_summary(const struct item_list *items)
{
    const struct item *it = items->first;

    while (it != NULL && !it->is_own_summary)
        it = it->next;
    return it != NULL;
}
