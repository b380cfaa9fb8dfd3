/* past_rounds.c -- read the text, compare it with a run, put in what the run lacks. */
#include "wire/request/past_rounds.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/request/call_rounds.h"

/* ---- reading */

static int read_items(str array, const struct input_options *o, const struct id_source *ids,
                      struct arena *a, struct past_items *ret, struct err *reterr)
{
    struct past_items items = {.n = 0};
    struct json_walk w = json_walk_of(array);

    items.v = arena_array(a, jr_count(array), sizeof(*items.v));
    if (items.v == NULL)
        return err_set_no_memory(reterr);
    (void)json_walk_enter(&w, JR_ARRAY);
    while (json_walk_element(&w)) {
        struct item *it = arena_alloc(a, sizeof(*it));

        if (it == NULL)
            return err_set_no_memory(reterr);
        if (item_read(&w, NULL, o, ids, a, it, reterr) == -1)
            return -1;
        if (!it->is_result)
            items.v[items.n++].item = it;
        else if (items.n > 0 && str_eq(items.v[items.n - 1].item->id, it->id))
            item_take_result(items.v[items.n - 1].item, it);
    }
    for (size_t i = 0; i < items.n; i++) {
        struct past_item *p = &items.v[i];

        if (p->item->kind == ITEM_HOSTED_CALL &&
            !call_hash_arguments(p->item->arguments, &p->arguments))
            return err_set_no_memory(reterr);
    }
    *ret = items;
    return 0;
}

/* How many items there are up to the one of this id. */
static size_t count_covered(const struct past_items *items, str id)
{
    size_t i = 0;

    while (i < items->n && !str_eq(items->v[i].item->id, id))
        i++;
    return id.len > 0 && i < items->n ? i + 1 : 0;
}

int past_rounds_read(str text, const struct input_options *o, const struct id_source *ids,
                     struct arena *a, struct past_rounds *ret, struct err *reterr)
{
    struct input_options own = *o;

    own.own_items = true;
    own.ignore_unknown_items = true;
    own.reasoning_from_summary = true; /* a summary that the gateway sends is the reasoning */
    own.seal = NULL;                   /* its text is there */
    if (read_items(jr_member(text, STR("rounds")), &own, ids, a, &ret->rounds, reterr) == -1)
        return -1;
    ret->summary = jr_member_string(text, STR("summary"));
    ret->n_covered = count_covered(&ret->rounds, jr_member_string(text, STR("covers")));
    return read_items(jr_member(text, STR("last")), &own, ids, a, &ret->last, reterr);
}

/* ---- comparing */

static const struct past_item *find_hosted(const struct past_items *items, str id)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct past_item *p = &items->v[i];

        if (p->item->kind == ITEM_HOSTED_CALL && str_eq(p->item->id, id))
            return p;
    }
    return NULL;
}

const struct past_item *past_rounds_find(const struct past_rounds *p, str id)
{
    const struct past_item *found = find_hosted(&p->rounds, id);

    return found != NULL ? found : find_hosted(&p->last, id);
}

/* What a message or reasoning says; STR_NONE when out of memory. */
static str text_of(const struct item *it, struct arena *a)
{
    struct buf text = {.limit = 0};
    str copy = STR_NONE;

    if (it->kind == ITEM_MESSAGE || it->kind == ITEM_REASONING)
        content_write_text(&it->content, STR(""), &text);
    if (!buf_failed(&text))
        copy = json_text_copy(a, buf_str(&text));
    buf_fini(&text);
    return copy;
}

static int read_texts(struct past_items *items, struct arena *a)
{
    for (size_t i = 0; i < items->n; i++) {
        items->v[i].text = text_of(items->v[i].item, a);
        if (str_is_none(items->v[i].text))
            return -1;
    }
    return 0;
}

/* Clients that send no ids send the call as it was shown to them. */
static bool is_same_call(const struct item *it, const struct item *known)
{
    if (it->id.len > 0)
        return str_eq(it->id, known->id);
    return it->hosted_kind == known->hosted_kind && str_eq(it->server_label, known->server_label) &&
           str_eq(it->tool_name, known->tool_name) && str_eq(it->arguments, known->arguments);
}

/* Does it, whose text this is, say what is known? */
static bool is_same(const struct item *it, str text, const struct past_item *known)
{
    if (it->kind != known->item->kind ||
        (it->kind == ITEM_MESSAGE && it->role != known->item->role))
        return false;
    if (it->kind == ITEM_HOSTED_CALL)
        return is_same_call(it, known->item);
    if (it->kind != ITEM_MESSAGE && it->kind != ITEM_REASONING)
        return false;
    return (it->id.len > 0 && str_eq(it->id, known->item->id)) ||
           (text.len > 0 && str_eq(text, known->text));
}

/* The first of the items that it stands for, or NULL. */
static struct past_item *find_same(const struct past_items *items, const struct item *it, str text)
{
    for (size_t i = 0; i < items->n; i++) {
        if (items->v[i].stand_in == NULL && is_same(it, text, &items->v[i]))
            return &items->v[i];
    }
    return NULL;
}

/* Clients make one text of several. */
static void note_said(const struct past_items *items, str text)
{
    for (size_t i = 0; i < items->n; i++) {
        struct past_item *p = &items->v[i];

        if (p->item->kind == ITEM_MESSAGE && p->text.len > 0 && !p->is_said)
            p->is_said = str_find(text, p->text) < text.len;
    }
}

/* ---- a run */

struct run {
    struct past_rounds *rounds;
    struct item_list *list;
    struct item *behind; /* or NULL */
};

static struct item **run_begin(const struct run *r)
{
    return r->behind == NULL ? &r->list->first : &r->behind->next;
}

bool past_rounds_end_run(const struct item *it)
{
    return it == NULL || it->kind == ITEM_OUTPUT || it->kind == ITEM_APPROVAL_RESPONSE ||
           it->is_declined || it->is_own_summary ||
           (it->kind == ITEM_MESSAGE && it->role != ROLE_ASSISTANT);
}

/* Of calls that the client answers, by an output or an approval. */
static bool is_same_clients_call(const struct item *it, const struct item *known)
{
    if (it->kind != known->kind)
        return false;
    return it->kind == ITEM_CALL ? str_eq(it->call_id, known->call_id)
                                 : it->kind == ITEM_APPROVAL_REQUEST && str_eq(it->id, known->id);
}

static bool is_own_call(const struct past_rounds *p, const struct item *it)
{
    size_t i = 0;

    while (i < p->last.n && !is_same_clients_call(it, p->last.v[i].item))
        i++;
    return i < p->last.n;
}

/* What another response has called is not of this run, nor what stands on its other side. */
static bool is_other_call(const struct past_rounds *p, const struct item *it)
{
    return (it->kind == ITEM_CALL || it->kind == ITEM_APPROVAL_REQUEST) && !is_own_call(p, it);
}

static void skip_other_calls(struct run *r, const struct item *call)
{
    for (struct item *it = *run_begin(r); it != call && !past_rounds_end_run(it); it = it->next) {
        if (is_other_call(r->rounds, it))
            r->behind = it;
    }
}

static bool is_end(const struct run *r, const struct item *it)
{
    return past_rounds_end_run(it) || is_other_call(r->rounds, it);
}

/* Words that the client has changed are the client's. */
static void take_stand_in(struct past_item *p, struct item *it, str text)
{
    p->stand_in = it;
    if (it->kind == ITEM_MESSAGE && !str_eq(text, p->text))
        p->item->content = it->content;
}

/* What is said in the last round stays. */
static int match_item(const struct run *r, struct item *it)
{
    struct arena scratch = {0};
    str text = text_of(it, &scratch);
    struct past_item *found = NULL;
    int rc = str_is_none(text) ? -1 : 0;

    if (rc == 0)
        found = find_same(&r->rounds->rounds, it, text);
    if (rc == 0 && found == NULL && it->kind == ITEM_HOSTED_CALL)
        found = find_same(&r->rounds->last, it, text);
    if (found != NULL)
        take_stand_in(found, it, text);
    else if (rc == 0 && it->kind == ITEM_MESSAGE)
        note_said(&r->rounds->rounds, text);
    arena_fini(&scratch);
    return rc;
}

/* Which items of the run stand for which of the rounds. Each text is read once: it may be long, and
 * there may be many. */
static int match_run(const struct run *r)
{
    struct arena texts = {0};
    int rc = read_texts(&r->rounds->rounds, &texts);

    for (struct item *it = *run_begin(r); rc == 0 && !is_end(r, it); it = it->next)
        rc = match_item(r, it);
    arena_fini(&texts);
    return rc;
}

/* What came without its id is there, but not as the upstream wrote it. */
static bool lacks_calls(const struct past_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct past_item *p = &items->v[i];

        if (p->item->kind == ITEM_HOSTED_CALL && !p->is_held &&
            (p->stand_in == NULL || p->stand_in->id.len == 0))
            return true;
    }
    return false;
}

/* What stands for something that is put back says nothing any more; what is part of another text
 * is not put back. */
static void settle_items(const struct past_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        struct past_item *p = &items->v[i];

        if (p->stand_in != NULL)
            p->stand_in->kind = ITEM_IGNORED;
        p->is_held = p->stand_in == NULL && (p->is_held || p->is_said);
    }
}

/* ---- putting back */

static struct item **insert(struct item **link, struct item *it)
{
    it->next = *link;
    *link = it;
    return &it->next;
}

static struct item **link_of(struct item **link, const struct item *it)
{
    while (*link != it && *link != NULL)
        link = &(*link)->next;
    return link;
}

/* The call of the run that is this one of the last round, or NULL. */
static struct item *find_call(const struct run *r, const struct item *known)
{
    for (struct item *it = *run_begin(r); !is_end(r, it); it = it->next) {
        if (is_same_clients_call(it, known))
            return it;
    }
    return NULL;
}

/* In the order of the model among the calls of the client. */
static void insert_last(const struct run *r, const struct item *call)
{
    const struct past_items *items = &r->rounds->last;
    struct item **link = link_of(run_begin(r), call);

    for (size_t i = 0; i < items->n; i++) {
        struct item *known = items->v[i].item, *it = find_call(r, known);

        if (it != NULL)
            link = &it->next;
        else if (known->kind == ITEM_HOSTED_CALL && !items->v[i].is_held)
            link = insert(link, known);
    }
}

static void insert_rounds(const struct run *r)
{
    const struct past_items *items = &r->rounds->rounds;
    struct item **link = run_begin(r);

    for (size_t i = 0; i < items->n; i++) {
        if (!items->v[i].is_held)
            link = insert(link, items->v[i].item);
    }
}

int past_rounds_put_back(struct past_rounds *p, struct item_list *list, struct item *behind,
                         const struct item *call, bool *ret, struct err *reterr)
{
    struct run r = {.rounds = p, .list = list, .behind = behind};

    p->is_back = true;
    skip_other_calls(&r, call);
    if (match_run(&r) == -1)
        return err_set_no_memory(reterr);
    *ret = lacks_calls(&p->rounds) || lacks_calls(&p->last);
    if (!*ret)
        return 0;
    settle_items(&p->rounds);
    settle_items(&p->last);
    insert_last(&r, call);
    insert_rounds(&r);
    return 0;
}
