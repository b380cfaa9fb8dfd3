/* past_rounds.c -- read the text, compare it with a run, put in what the run lacks. */
#include "wire/past_rounds.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* ---- reading */

static int read_items(str array, const struct input_options *o, const struct id_source *ids,
                      struct arena *a, struct past_items *ret, struct err *reterr)
{
    struct past_items items = {.n = 0};
    struct jr j;

    items.v = arena_array(a, jr_count(array), sizeof(*items.v));
    if (items.v == NULL)
        return reject_memory(reterr);
    jr_init(&j, array);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        struct item *it = arena_alloc(a, sizeof(*it));

        if (it == NULL)
            return reject_memory(reterr);
        if (item_read(&j, NULL, o, ids, a, it, reterr) == -1)
            return -1;
        if (!it->is_result)
            items.v[items.n++].item = it;
        else if (items.n > 0 && str_eq(items.v[items.n - 1].item->id, it->id))
            item_take_result(items.v[items.n - 1].item, it);
    }
    *ret = items;
    return 0;
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
    return read_items(jr_member(text, STR("last")), &own, ids, a, &ret->last, reterr);
}

/* ---- comparing */

static const struct item *find_hosted(const struct past_items *items, str id)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct item *it = items->v[i].item;

        if (it->kind == ITEM_HOSTED_CALL && str_eq(it->id, id))
            return it;
    }
    return NULL;
}

const struct item *past_rounds_find(const struct past_rounds *p, str id)
{
    const struct item *found = find_hosted(&p->rounds, id);

    return found != NULL ? found : find_hosted(&p->last, id);
}

/* The characters of a content. STR_NONE when out of memory. */
static str text_of(const struct content *c, struct arena *a)
{
    struct buf text = {.limit = 0};
    str copy = STR_NONE;

    content_write_text(c, STR(""), &text);
    if (!buf_failed(&text))
        copy = json_text_copy(a, buf_str(&text));
    buf_fini(&text);
    return copy;
}

/* 1, 0, or -1 when out of memory. */
static int have_same_text(const struct item *it, const struct item *other)
{
    struct arena scratch = {0};
    str one = text_of(&it->content, &scratch), two = text_of(&other->content, &scratch);
    int same = one.len > 0 && str_eq(one, two);

    if (str_is_none(one) || str_is_none(two))
        same = -1;
    arena_fini(&scratch);
    return same;
}

/* Clients that send no ids send the call as it was shown to them. */
static bool is_same_call(const struct item *it, const struct item *known)
{
    if (it->id.len > 0)
        return str_eq(it->id, known->id);
    return it->own_tool == known->own_tool && str_eq(it->server_label, known->server_label) &&
           str_eq(it->tool_name, known->tool_name) && str_eq(it->arguments, known->arguments);
}

/* 1 when it says what known says; 0, or -1 when out of memory. */
static int is_same(const struct item *it, const struct item *known)
{
    if (it->kind != known->kind || (it->kind == ITEM_MESSAGE && it->role != known->role))
        return 0;
    if (it->kind == ITEM_HOSTED_CALL)
        return is_same_call(it, known);
    if (it->kind != ITEM_MESSAGE && it->kind != ITEM_REASONING)
        return 0;
    if (it->id.len > 0 && str_eq(it->id, known->id))
        return 1;
    return have_same_text(it, known);
}

/* The first of the items that it stands for. Returns -1 when out of memory. */
static int find_same(const struct past_items *items, const struct item *it, struct past_item **ret)
{
    for (size_t i = 0; i < items->n && *ret == NULL; i++) {
        int same = items->v[i].stand_in != NULL ? 0 : is_same(it, items->v[i].item);

        if (same == -1)
            return -1;
        if (same == 1)
            *ret = &items->v[i];
    }
    return 0;
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

/* What another response has called is not of this run, nor what stands before it. */
static void skip_other_calls(struct run *r, const struct item *call)
{
    for (struct item *it = *run_begin(r); it != call && !past_rounds_end_run(it); it = it->next) {
        if (it->kind == ITEM_CALL && !is_own_call(r->rounds, it))
            r->behind = it;
    }
}

/* Which items of the run stand for which of the rounds; what is said in the last one stays. */
static int match_run(const struct run *r)
{
    for (struct item *it = *run_begin(r); !past_rounds_end_run(it); it = it->next) {
        struct past_item *found = NULL;

        if (find_same(&r->rounds->rounds, it, &found) == -1)
            return -1;
        if (found == NULL && it->kind == ITEM_HOSTED_CALL &&
            find_same(&r->rounds->last, it, &found) == -1)
            return -1;
        if (found != NULL)
            found->stand_in = it;
    }
    return 0;
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

/* What stands for something that is put back says nothing any more. */
static void silence_stand_ins(const struct past_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        if (items->v[i].stand_in == NULL)
            continue;
        items->v[i].stand_in->kind = ITEM_IGNORED;
        items->v[i].is_held = false;
    }
}

/* Is its text part of one that the client has written of several? */
static int is_said_in_run(const struct run *r, const struct item *said)
{
    struct arena scratch = {0};
    str text = text_of(&said->content, &scratch);
    int rc = str_is_none(text) ? -1 : 0;

    for (const struct item *it = *run_begin(r); rc == 0 && text.len > 0 && !past_rounds_end_run(it);
         it = it->next) {
        str whole = it->kind == ITEM_MESSAGE ? text_of(&it->content, &scratch) : STR("");

        if (str_is_none(whole))
            rc = -1;
        else if (whole.len > 0 && str_find(whole, text) < whole.len)
            rc = 1;
    }
    arena_fini(&scratch);
    return rc;
}

static int hold_what_is_said(struct run *r)
{
    struct past_items *items = &r->rounds->rounds;

    for (size_t i = 0; i < items->n; i++) {
        int said = 0;

        if (items->v[i].item->kind == ITEM_MESSAGE && items->v[i].stand_in == NULL)
            said = is_said_in_run(r, items->v[i].item);
        if (said == -1)
            return -1;
        items->v[i].is_held = items->v[i].is_held || said == 1;
    }
    return 0;
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
    while (*link != it)
        link = &(*link)->next;
    return link;
}

/* The call of the run that is this one of the last round, or NULL. */
static struct item *find_call(const struct run *r, const struct item *known)
{
    for (struct item *it = *run_begin(r); !past_rounds_end_run(it); it = it->next) {
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
        return reject_memory(reterr);
    *ret = lacks_calls(&p->rounds) || lacks_calls(&p->last);
    if (!*ret)
        return 0;
    silence_stand_ins(&p->rounds);
    silence_stand_ins(&p->last);
    if (hold_what_is_said(&r) == -1)
        return reject_memory(reterr);
    insert_last(&r, call);
    insert_rounds(&r);
    return 0;
}
