/* request_rounds.c -- one walk that asks the memory, then what it has found, the surest first. */
#include "wire/request/request_rounds.h"

#include "base/str_map.h"
#include "conv/reject.h"
#include "json/json_text.h"
#include "wire/request/call_rounds.h"
#include "wire/request/past_rounds.h"
#include "wire/request/request_fields.h"
#include "wire/request/request_names.h"

/* A call of the client that the memory knows. */
struct known_call {
    struct item *call, *behind; /* its run begins behind that one; NULL: with the list */
    struct call_context context;
    str marks;
    struct known_call *next;
};

struct recollection {
    struct responses_request *r;
    const struct rounds_source *source;
    const struct input_options *options;
    const struct id_source *ids;
    struct arena *arena;
    struct err *reterr;
    struct str_map responses; /* id -> struct past_rounds */
    struct str_map items;     /* plain ids of the request's hosted items */
    struct known_call *first, *last;
    struct call_place place; /* of the last known call */
    struct call_context context;
    bool has_disguised; /* calls of the client were found to be hosted ones */
};

static bool recall(const struct recollection *s, struct call_key key, str *ret)
{
    return s->source->find(s->source->arg, key, s->arena, ret);
}

/* ---- the rounds of a response */

/* Rounds that are forgotten are empty. NULL when out of memory, or of no use. */
static struct past_rounds *recall_rounds(struct recollection *s, str response_id)
{
    void **slot = str_map_slot(&s->responses, response_id, s->arena);
    struct past_rounds *rounds = slot == NULL ? NULL : *slot;
    str text;

    if (slot == NULL)
        (void)err_set_no_memory(s->reterr);
    if (slot == NULL || rounds != NULL)
        return rounds;
    rounds = arena_alloc(s->arena, sizeof(*rounds));
    if (rounds == NULL) {
        (void)err_set_no_memory(s->reterr);
        return NULL;
    }
    if (recall(s, call_rounds_of_response(response_id), &text) &&
        past_rounds_read(text, s->options, s->ids, s->arena, rounds, s->reterr) == -1)
        return NULL;
    *slot = rounds;
    return rounds;
}

/* ---- calls of the gateway's own that came along */

/* What clients see of code and searches says less than the model was told. A call that they have
 * changed is theirs. */
static int complete_call(const struct recollection *s, struct item *it,
                         const struct past_item *known)
{
    const bool is_shown_whole = it->hosted_kind == HOSTED_NONE && it->has_output;
    struct item whole = *known->item;
    uint64_t arguments;

    if (it->kind == ITEM_HOSTED_CALL && !call_hash_arguments(it->arguments, &arguments))
        return err_set_no_memory(s->reterr);
    if (it->kind == ITEM_HOSTED_CALL && arguments != known->arguments)
        return 0;
    if (is_shown_whole) {
        whole.content = it->content;
        whole.name = it->name;
    }
    whole.index = it->index;
    whole.next = it->next;
    *it = whole;
    return 0;
}

/* A search that the client sends says nothing to the model by itself. */
static bool is_of_gateway(const struct item *it)
{
    return it->id.len > 0 && (it->kind == ITEM_HOSTED_CALL || it->is_partial);
}

/* *ret: the hosted item of this id, or NULL. Returns 0, or -1 with the error set. */
static int find_hosted_item(struct recollection *s, str id, const struct past_item **ret)
{
    const struct past_rounds *rounds;
    str response_id;

    *ret = NULL;
    if (!recall(s, call_rounds_of_item(id), &response_id))
        return 0;
    rounds = recall_rounds(s, response_id);
    if (rounds == NULL)
        return -1;
    *ret = past_rounds_find(rounds, id);
    return 0;
}

static int recall_item(struct recollection *s, struct item *it)
{
    const struct past_item *known;

    if (find_hosted_item(s, it->id, &known) == -1)
        return -1;
    return known == NULL ? 0 : complete_call(s, it, known);
}

/* Mastra makes calls of its own of hosted items: a function_call `unknown_tool` whose call_id is
 * the item's id, and an output with the item's members in it. */
static int recall_disguised(struct recollection *s, struct item *it)
{
    const struct past_item *known;
    struct item whole;

    if (find_hosted_item(s, it->call_id, &known) == -1)
        return -1;
    if (known == NULL)
        return 0;
    whole = *known->item;
    whole.index = it->index;
    whole.next = it->next;
    if (it->kind == ITEM_OUTPUT)
        whole.kind = ITEM_IGNORED; /* the call has it */
    *it = whole;
    s->has_disguised = true;
    return 0;
}

/* ---- calls of the client */

static int recall_call(struct recollection *s, struct item *it, struct item *behind,
                       const struct call_place *place)
{
    struct known_call *call;
    struct call_key key;
    str marks;

    if (!recall(s, call_rounds_of_id(call_rounds_id(it)), &marks))
        return 0;
    if (!call_rounds_of_call(it, s->arena, &key))
        return err_set_no_memory(s->reterr);
    if (!recall(s, key, &marks))
        return 0;
    call = arena_alloc(s->arena, sizeof(*call));
    if (call == NULL || !call_context_move(&s->context, &s->place, place))
        return err_set_no_memory(s->reterr);
    s->place = *place;
    *call =
        (struct known_call){.call = it, .behind = behind, .context = s->context, .marks = marks};
    if (s->last == NULL)
        s->first = call;
    else
        s->last->next = call;
    s->last = call;
    return 0;
}

/* A history has all rounds of the responses in it, though not of what their clients sent. */
static int recall_items(struct recollection *s)
{
    struct call_place place = {.first = NULL};
    struct item *behind = NULL;

    for (struct item *it = s->r->items.first; it != NULL; it = it->next) {
        const bool is_own = !it->is_kept && is_of_gateway(it);
        const bool is_clients = !it->is_kept && (it->kind == ITEM_CALL || it->kind == ITEM_OUTPUT);

        if (is_own && recall_item(s, it) == -1)
            return -1;
        if (is_clients && recall_disguised(s, it) == -1)
            return -1;
        if (!it->is_kept && (it->kind == ITEM_CALL || it->kind == ITEM_APPROVAL_REQUEST) &&
            recall_call(s, it, behind, &place) == -1)
            return -1;
        if (it->is_kept || past_rounds_end_run(it))
            behind = it;
        call_place_pass(&place, it);
    }
    return 0;
}

/* ---- what is there, wherever it stands */

static int note_items(struct recollection *s)
{
    str_map_init(&s->items, s->ids);
    for (struct item *it = s->r->items.first; it != NULL; it = it->next) {
        void **slot;
        str id;

        if (it->kind != ITEM_HOSTED_CALL || it->id.len == 0)
            continue;
        id = json_text_dup(s->arena, it->id);
        slot = str_is_none(id) ? NULL : str_map_slot(&s->items, id, s->arena);
        if (slot == NULL)
            return err_set_no_memory(s->reterr);
        *slot = it;
    }
    return 0;
}

/* Ids that the gateway has made need no escapes. */
static void hold_items(const struct recollection *s, const struct past_items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        const struct item *it = items->v[i].item;

        items->v[i].is_held =
            it->kind == ITEM_HOSTED_CALL && str_map_get(&s->items, it->id) != NULL;
    }
}

/* A client that sends no ids sends the compaction item without its own. */
static bool has_summary(const struct recollection *s, str id)
{
    for (const struct item *it = s->r->items.first; it != NULL; it = it->next) {
        if (it->is_own_summary && (it->id.len == 0 || str_eq(it->id, id)))
            return true;
    }
    return false;
}

/* What a summary stands for is in it. */
static void hold_covered(const struct recollection *s, struct past_rounds *rounds)
{
    if (rounds->n_covered == 0 || !has_summary(s, rounds->summary))
        return;
    for (size_t i = 0; i < rounds->n_covered; i++)
        rounds->rounds.v[i].is_held = true;
}

/* ---- which response a call belongs to */

/* How much of what is around a call has to be as it was, the surest first. */
enum likeness { LIKE_ALL, LIKE_BEFORE, LIKE_FIRST, N_LIKENESSES };

static bool is_like(const struct call_context *c, const struct call_context *known,
                    enum likeness likeness)
{
    return (likeness == LIKE_FIRST || c->before == known->before) &&
           (likeness == LIKE_BEFORE || c->first == known->first);
}

/* *ret: those of the newest response that may be it, or NULL. */
static int choose_rounds(struct recollection *s, const struct known_call *c, enum likeness likeness,
                         struct past_rounds **ret)
{
    for (size_t i = call_marks_count(c->marks); i > 0 && *ret == NULL; i--) {
        const struct call_mark mark = call_mark_at(c->marks, i - 1);
        struct past_rounds *rounds;
        str id = arena_dup(s->arena, id_str(&mark.response));

        if (!is_like(&c->context, &mark.context, likeness))
            continue;
        rounds = str_is_none(id) ? NULL : recall_rounds(s, id);
        if (rounds == NULL)
            return str_is_none(id) ? err_set_no_memory(s->reterr) : -1;
        *ret = rounds;
    }
    return 0;
}

static int put_back_before(struct recollection *s, struct known_call *c, enum likeness likeness)
{
    struct past_rounds *rounds = NULL;
    bool was_missing;

    if (choose_rounds(s, c, likeness, &rounds) == -1)
        return -1;
    if (rounds == NULL)
        return 0;
    c->marks = STR_NONE; /* its own are found */
    if (rounds->is_back)
        return 0; /* for a call that was made together with this one */
    hold_items(s, &rounds->rounds);
    hold_items(s, &rounds->last);
    hold_covered(s, rounds);
    if (past_rounds_put_back(rounds, &s->r->items, c->behind, c->call, &was_missing, s->reterr) ==
        -1)
        return -1;
    s->r->n_put_back += was_missing;
    return 0;
}

static int put_back_all(struct recollection *s)
{
    for (enum likeness likeness = LIKE_ALL; likeness < N_LIKENESSES; likeness++) {
        for (struct known_call *c = s->first; c != NULL; c = c->next) {
            if (put_back_before(s, c, likeness) == -1)
                return -1;
        }
    }
    return 0;
}

/* The last item of the history, or NULL. */
static const struct item *last_before(const struct responses_request *r)
{
    const struct item *it = r->n_before == 0 ? NULL : r->items.first;

    for (size_t i = 1; i < r->n_before; i++)
        it = it->next;
    return it;
}

/* Items have been put between others. */
static void count_items(struct responses_request *r, const struct item *last_of_history)
{
    r->items.n = 0;
    for (struct item *it = r->items.first; it != NULL; it = it->next) {
        r->items.last = it;
        r->items.n++;
        if (it == last_of_history)
            r->n_before = r->items.n;
    }
}

int request_put_back(struct responses_request *r, const struct rounds_source *source,
                     const struct input_options *o, const struct id_source *ids, struct arena *a,
                     struct err *reterr)
{
    struct recollection s = {
        .r = r, .source = source, .options = o, .ids = ids, .arena = a, .reterr = reterr};
    const struct item *last_of_history = last_before(r);

    r->n_put_back = 0;
    str_map_init(&s.responses, ids);
    if (recall_items(&s) == -1 ||
        (s.first != NULL && (note_items(&s) == -1 || put_back_all(&s) == -1)))
        return -1;
    if (r->n_put_back == 0 && !s.has_disguised) {
        request_name_own_calls(r);
        return 0;
    }
    count_items(r, last_of_history);
    return request_look_up(r, ids, a, reterr); /* what was approved may have been run */
}
