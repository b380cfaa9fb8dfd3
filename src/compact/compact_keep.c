/* compact_keep.c -- one walk from the newest item to the oldest, as long as there are tokens. */
#include "compact/compact_keep.h"

#include "base/str_map.h"
#include "compact/compact_form.h"
#include "compact/compact_tail.h"
#include "compact/compact_text.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* A text is not cut to less than that. */
enum { LEAST_TOKENS = 50 };

struct keeping {
    const struct id_source *ids;
    struct arena *arena;
    struct err *reterr;
    int64_t tokens;      /* that are left */
    bool is_newest;      /* of the messages of the user none was looked at */
    bool is_all;         /* none was dropped or cut */
    struct kept_item *v; /* the newest first */
    size_t n, n_user;
};

/* ---- messages of the user */

/* A text that is cut or dropped leaves nothing for those before it. */
static void keep_text(struct keeping *s, str escaped, struct jw *w)
{
    struct buf plain = {.limit = 0}, cut = {.limit = 0};
    int64_t size;

    json_text_decode(escaped, &plain);
    size = compact_tokens(plain.len);
    if (s->tokens >= LEAST_TOKENS || size <= s->tokens) {
        if (size > s->tokens)
            compact_cut_bytes(buf_str(&plain), (size_t)s->tokens * COMPACT_BYTES_A_TOKEN, &cut);
        jw_object(w);
        jw_key_string(w, "type", STR("input_text"));
        jw_key_string(w, "text", size > s->tokens ? buf_str(&cut) : buf_str(&plain));
        jw_object_end(w);
    }
    s->is_all = s->is_all && size <= s->tokens;
    s->tokens = size <= s->tokens ? s->tokens - size : 0;
    w->out->failed = w->out->failed || buf_failed(&plain) || buf_failed(&cut);
    buf_fini(&plain);
    buf_fini(&cut);
}

/* Only in the newest message an image is worth what it costs. */
static void keep_media(const struct keeping *s, str part, str type, struct jw *w)
{
    struct buf word = {.limit = 0};

    if (s->is_newest) {
        json_copy_element(w, part);
        return;
    }
    compact_write_placeholder(type, jr_member_string(part, STR("filename")), &word);
    jw_object(w);
    jw_key_string(w, "type", STR("input_text"));
    jw_key_string(w, "text", buf_str(&word));
    jw_object_end(w);
    w->out->failed = w->out->failed || buf_failed(&word);
    buf_fini(&word);
}

static void keep_part(struct keeping *s, str part, struct jw *w)
{
    str type = jr_member_string(part, STR("type"));
    str text = jr_member_string(part, STR("text"));

    if (!str_is_none(type) && json_text_eq(type, STR("refusal")))
        text = jr_member_string(part, STR("refusal"));
    if (str_is_none(text))
        keep_media(s, part, type, w);
    else if (s->tokens > 0)
        keep_text(s, text, w);
    else
        s->is_all = false;
}

/* The parts as elements of an array. */
static void keep_parts(struct keeping *s, str content, struct buf *out)
{
    struct jw w = jw_to(out);
    struct jr j;

    jr_init(&j, content);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j))
        keep_part(s, jr_raw(&j), &w);
}

static void write_message(const struct kept_item *form, str parts, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "id", form->id);
    jw_key_string(&w, "type", STR("message"));
    jw_key_string(&w, "role", STR("user"));
    jw_key_string(&w, "status", STR("completed"));
    jw_key(&w, "content");
    jw_array(&w);
    buf_append(out, parts);
    jw_array_end(&w);
    jw_object_end(&w);
}

static int take_message(struct keeping *s, const struct kept_item *form, str parts)
{
    struct buf body = {.limit = 0};
    str text = STR_NONE;

    write_message(form, parts, &body);
    if (!buf_failed(&body))
        text = arena_dup(s->arena, buf_str(&body));
    buf_fini(&body);
    if (str_is_none(text))
        return err_set_no_memory(s->reterr);
    s->v[s->n++] = (struct kept_item){.id = form->id, .body = text};
    s->n_user++;
    return 0;
}

static int keep_message(struct keeping *s, const struct item *it)
{
    struct kept_item form;
    struct buf parts = {.limit = 0};
    int rc = 0;

    if (s->tokens <= 0 && !s->is_newest) {
        s->is_all = false;
        return 0;
    }
    if (compact_form_make(it->raw, s->ids, s->arena, &form, s->reterr) == -1)
        return -1;
    keep_parts(s, jr_member(form.body, STR("content")), &parts);
    if (buf_failed(&parts))
        rc = err_set_no_memory(s->reterr);
    else if (parts.len > 0)
        rc = take_message(s, &form, buf_str(&parts));
    buf_fini(&parts);
    s->is_newest = false;
    return rc;
}

/* ---- the rest of a window */

/* Requests for approval that are not answered, or whose answer stands in the tail. */
struct approvals {
    struct str_map answers; /* ids -> not NULL: answered before the tail */
};

static bool is_answer(const struct item *it)
{
    return it->kind == ITEM_APPROVAL_RESPONSE || it->is_declined;
}

/* The request that the item has answered or run, or STR_NONE. */
static str answered_id(const struct item *it)
{
    return is_answer(it) ? it->id : it->approval_request_id;
}

static int note_answers(struct approvals *s, const struct compact_context *c, size_t end,
                        const struct id_source *ids, struct arena *a, struct err *reterr)
{
    str_map_init(&s->answers, ids);
    for (size_t i = 0; i < end; i++) {
        const str id = json_text_dup(a, answered_id(c->v[i]));
        void **slot;

        if (id.len == 0)
            continue;
        slot = str_map_slot(&s->answers, id, a);
        if (slot == NULL)
            return err_set_no_memory(reterr);
        *slot = s;
    }
    return 0;
}

static bool is_pending(const struct keeping *k, const struct approvals *s, const struct item *it)
{
    str id = json_text_dup(k->arena, it->id);

    return str_is_none(id) || str_map_get(&s->answers, id) == NULL;
}

static bool is_lasting(const struct keeping *k, const struct approvals *s, const struct item *it)
{
    if (str_is_none(it->raw) || it->is_own_summary)
        return false;
    if (it->kind == ITEM_MESSAGE)
        return it->role == ROLE_SYSTEM;
    if (it->kind == ITEM_APPROVAL_REQUEST)
        return is_pending(k, s, it);
    return it->kind == ITEM_TOOL_LIST;
}

static int keep_form(struct keeping *s, const struct item *it)
{
    if (compact_form_make(it->raw, s->ids, s->arena, &s->v[s->n], s->reterr) == -1)
        return -1;
    s->n++;
    return 0;
}

/* ---- all of it */

/* The newest stood first. */
static void turn_around(struct keeping *s, struct compact_kept *ret)
{
    for (size_t i = 0; i < s->n / 2; i++) {
        const struct kept_item first = s->v[i];

        s->v[i] = s->v[s->n - 1 - i];
        s->v[s->n - 1 - i] = first;
    }
    ret->before = (struct kept_items){.v = s->v, .n = s->n};
    ret->n_user = s->n_user;
    ret->has_all = s->is_all;
}

/* The items before end; approvals NULL: of the user's messages alone. */
static int keep_before(struct keeping *s, const struct compact_context *c, size_t end,
                       const struct approvals *approvals)
{
    s->v = arena_array(s->arena, end + 1, sizeof(*s->v));
    if (s->v == NULL)
        return err_set_no_memory(s->reterr);
    for (size_t i = end; i-- > 0;) {
        const struct item *it = c->v[i];

        if (compact_is_users(it)
                ? keep_message(s, it) == -1
                : approvals != NULL && is_lasting(s, approvals, it) && keep_form(s, it) == -1)
            return -1;
    }
    return 0;
}

int compact_keep_messages(const struct item_list *items, int64_t tokens,
                          const struct id_source *ids, struct arena *a, struct compact_kept *ret,
                          struct err *reterr)
{
    struct keeping s = {.ids = ids,
                        .arena = a,
                        .reterr = reterr,
                        .tokens = tokens,
                        .is_newest = true,
                        .is_all = true};
    struct compact_context c;

    *ret = (struct compact_kept){.n_user = 0};
    if (compact_context_init(&c, items, ids, a, reterr) == -1 ||
        keep_before(&s, &c, c.n, NULL) == -1)
        return -1;
    turn_around(&s, ret);
    return 0;
}

/* The newest message has its images where it stands: in the tail, if it is there. */
int compact_keep_window(const struct item_list *items, int64_t tokens, int64_t threshold,
                        const struct id_source *ids, struct arena *a, struct compact_kept *ret,
                        struct err *reterr)
{
    struct keeping s = {.ids = ids, .arena = a, .reterr = reterr, .tokens = tokens, .is_all = true};
    struct approvals approvals;
    struct compact_context c;
    struct compact_tail tail;

    *ret = (struct compact_kept){.n_user = 0};
    if (compact_context_init(&c, items, ids, a, reterr) == -1)
        return -1;
    tail = compact_tail_find(&c, threshold);
    s.is_newest = !tail.is_whole;
    if (note_answers(&approvals, &c, tail.start, ids, a, reterr) == -1 ||
        keep_before(&s, &c, tail.start, &approvals) == -1 ||
        compact_tail_write(&c, &tail, threshold, ids, a, &ret->after, reterr) == -1)
        return -1;
    ret->n_tail = compact_tail_messages(&c, &tail);
    turn_around(&s, ret);
    return 0;
}

int64_t compact_items_tokens(const struct item_list *items)
{
    int64_t tokens = 0;

    for (const struct item *it = items->first; it != NULL; it = it->next)
        tokens += compact_item_tokens(it);
    return tokens;
}
