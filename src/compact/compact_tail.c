/* compact_tail.c -- where the tail begins, and how its outputs share the room there is.
 *
 * A call and its output belong together, wherever they stand: they are found by their ids. */
#include "compact/compact_tail.h"

#include "base/str_map.h"
#include "compact/compact_form.h"
#include "compact/compact_text.h"
#include "conv/reject.h"
#include "json/json_text.h"

int64_t compact_item_tokens(const struct item *it)
{
    return compact_tokens(it->name.len + it->arguments.len + compact_content_bytes(&it->content));
}

/* ---- the context */

/* Where a context has this id, which is escaped; NULL when out of memory. */
static void **find_slot(struct str_map *map, str id, struct arena *a)
{
    str plain = json_text_dup(a, id);

    return str_is_none(plain) ? NULL : str_map_slot(map, plain, a);
}

/* Walks back, so that the output that answers a call is known before it. */
static int find_answers(struct compact_context *c, const struct id_source *ids, struct arena *a,
                        struct err *reterr)
{
    struct str_map outputs; /* call ids -> the place of the output in answers */

    str_map_init(&outputs, ids);
    for (size_t i = c->n; i-- > 0;) {
        const struct item *it = c->v[i];
        void **slot;

        c->answers[i] = c->n;
        if (it->kind != ITEM_OUTPUT && it->kind != ITEM_CALL)
            continue;
        slot = find_slot(&outputs, it->call_id, a);
        if (slot == NULL)
            return err_set_no_memory(reterr);
        if (it->kind == ITEM_CALL && *slot != NULL)
            c->answers[i] = (size_t)((const size_t *)*slot - c->answers);
        *slot = it->kind == ITEM_OUTPUT ? &c->answers[i] : NULL;
    }
    return 0;
}

int compact_context_init(struct compact_context *c, const struct item_list *items,
                         const struct id_source *ids, struct arena *a, struct err *reterr)
{
    *c = (struct compact_context){.v = arena_array(a, items->n + 1, sizeof(struct item *)),
                                  .answers = arena_array(a, items->n + 1, sizeof(*c->answers))};
    if (c->v == NULL || c->answers == NULL)
        return err_set_no_memory(reterr);
    for (const struct item *it = items->first; it != NULL; it = it->next)
        c->v[c->n++] = it;
    return find_answers(c, ids, a, reterr);
}

/* ---- where it begins */

bool compact_is_users(const struct item *it)
{
    return it->kind == ITEM_MESSAGE && it->role == ROLE_USER && !it->is_own_summary &&
           !str_is_none(it->raw);
}

static bool is_call(const struct item *it)
{
    return it->kind == ITEM_CALL || it->kind == ITEM_HOSTED_CALL;
}

/* May it stand between the beginning of a round and the call behind it? Where a round ends, the
 * gateway has put an item that was read from nothing. */
static bool is_of_round(const struct item *it)
{
    if (it->kind == ITEM_REASONING)
        return !str_is_none(it->raw);
    if (it->kind == ITEM_MESSAGE)
        return it->role == ROLE_ASSISTANT && !it->is_own_summary;
    return it->kind == ITEM_CALL || (it->kind == ITEM_HOSTED_CALL && !it->ends_round) ||
           it->kind == ITEM_APPROVAL_REQUEST || it->kind == ITEM_IGNORED;
}

static size_t find_round(const struct compact_context *c)
{
    size_t i = c->n;

    while (i > 0 && !is_call(c->v[i - 1]) && !compact_is_users(c->v[i - 1]))
        i--;
    if (i == 0 || !is_call(c->v[i - 1]))
        return c->n;
    for (i--; i > 0 && is_of_round(c->v[i - 1]);)
        i--;
    return i;
}

struct compact_tail compact_tail_find(const struct compact_context *c, int64_t threshold)
{
    struct compact_tail tail = {.start = c->n, .is_whole = true};
    int64_t tokens = 0;
    size_t i = c->n;

    while (i > 0 && !compact_is_users(c->v[i - 1]))
        tokens += compact_item_tokens(c->v[--i]);
    if (i > 0 && tokens + compact_item_tokens(c->v[i - 1]) <= threshold / 2) {
        tail.start = i - 1;
        return tail;
    }
    return (struct compact_tail){.start = find_round(c)};
}

size_t compact_tail_messages(const struct compact_context *c, const struct compact_tail *tail)
{
    bool is_joined = false; /* to a message of the assistant */
    size_t count = 0;

    for (size_t i = tail->start; i < c->n; i++) {
        const struct item *it = c->v[i];
        const bool is_assistant =
            is_call(it) || (it->kind == ITEM_MESSAGE && it->role == ROLE_ASSISTANT);

        if (is_assistant && !is_joined)
            count++;
        if (it->kind == ITEM_OUTPUT || it->kind == ITEM_HOSTED_CALL ||
            (it->kind == ITEM_MESSAGE && !is_assistant))
            count++;
        if (is_assistant || it->kind == ITEM_OUTPUT || it->kind == ITEM_MESSAGE)
            is_joined = is_assistant && !it->ends_round;
    }
    return count;
}

/* ---- what its outputs may have */

static bool has_output(const struct item *it)
{
    return it->kind == ITEM_OUTPUT || (it->kind == ITEM_HOSTED_CALL && it->has_output);
}

/* So often at most; it is hardly ever more than three times. */
enum { MAX_SHARING = 16 };

/* The most bytes that an output may have so that all together have no more than there are. */
static size_t find_share(const struct compact_context *c, size_t start, size_t n_bytes)
{
    size_t share = 0;

    for (int i = 0; i < MAX_SHARING; i++) { /* what some do not need the others have */
        size_t rest = n_bytes, n_large = 0;

        for (size_t k = start; k < c->n; k++) {
            const size_t size = has_output(c->v[k]) ? compact_content_bytes(&c->v[k]->content) : 0;

            if (size > share)
                n_large++;
            else
                rest -= size;
        }
        if (n_large == 0 || rest / n_large <= share)
            break;
        share = rest / n_large;
    }
    return share;
}

/* ---- the stored form */

struct writing {
    const struct id_source *ids;
    struct arena *arena;
    struct err *reterr;
    size_t share; /* of an output, in bytes */
    struct kept_items *out;
};

static bool is_too_large(const struct writing *s, const struct item *it)
{
    return has_output(it) && compact_content_bytes(&it->content) > s->share;
}

static struct kept_item *add_form(const struct writing *s, str raw)
{
    struct kept_item *kept = &s->out->v[s->out->n];

    if (compact_form_make(raw, s->ids, s->arena, kept, s->reterr) == -1)
        return NULL;
    s->out->n++;
    return kept;
}

static int cut_form(const struct writing *s, const struct item *it, struct kept_item *kept)
{
    return compact_form_cut(kept, &it->content, s->share, s->arena, kept, s->reterr);
}

/* What the model was told stands behind what clients are shown of it, which then needs no output. */
static int write_result(const struct writing *s, const struct item *it, struct kept_item *shown)
{
    struct kept_item *result = add_form(s, it->raw_result);
    const bool is_origin = result != NULL && str_is_none(jr_member(result->body, STR("name")));

    if (result == NULL)
        return -1;
    if (is_origin)
        return is_too_large(s, it) ? cut_form(s, it, shown) : 0;
    if (compact_form_bare(shown, s->arena, shown, s->reterr) == -1)
        return -1;
    return is_too_large(s, it) ? cut_form(s, it, result) : 0;
}

/* What was read from nothing, and what is nothing to the model, stays out. */
static int write_item(const struct writing *s, const struct item *it)
{
    struct kept_item *shown;

    if (str_is_none(it->raw) || it->kind == ITEM_IGNORED || it->kind == ITEM_ADDITIONAL_TOOLS)
        return 0;
    shown = add_form(s, it->raw);
    if (shown == NULL)
        return -1;
    if (!str_is_none(it->raw_result))
        return write_result(s, it, shown);
    return is_too_large(s, it) ? cut_form(s, it, shown) : 0;
}

/* A call whose output stands in the tail goes with it, and one that still waits for its output. */
static bool is_taken(const struct compact_context *c, const struct compact_tail *tail, size_t i)
{
    if (i >= tail->start)
        return true;
    if (c->v[i]->kind != ITEM_CALL || c->answers[i] < tail->start)
        return false;
    return c->answers[i] < c->n || !c->v[i]->is_cut_off;
}

int compact_tail_write(const struct compact_context *c, const struct compact_tail *tail,
                       int64_t threshold, const struct id_source *ids, struct arena *a,
                       struct kept_items *ret, struct err *reterr)
{
    const size_t n_bytes = (size_t)(threshold / 4) * COMPACT_BYTES_A_TOKEN;
    const struct writing s = {
        .ids = ids,
        .arena = a,
        .reterr = reterr,
        .share = tail->is_whole ? SIZE_MAX : find_share(c, tail->start, n_bytes),
        .out = ret,
    };

    *ret = (struct kept_items){.v = arena_array(a, 2 * c->n + 1, sizeof(*ret->v))};
    if (ret->v == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < c->n; i++) {
        if (is_taken(c, tail, i) && write_item(&s, c->v[i]) == -1)
            return -1;
    }
    return 0;
}
