/* chat_call.c -- the rules of CONTRACT 5.4 for finding the call of a piece. */
#include "wire/chunk/chat_call.h"

#include <assert.h>
#include <stdlib.h>

#include "json/json_copy.h"
#include "json/json_read.h"

/* More than any server accepts; what is longer is no name. */
enum { MAX_NAME_BYTES = 256 };

void chat_calls_fini(struct chat_calls *t)
{
    for (size_t i = 0; i < t->n; i++) {
        buf_fini(&t->calls[i].id);
        buf_fini(&t->calls[i].name);
        buf_fini(&t->calls[i].server_label);
    }
    free(t->calls);
    *t = (struct chat_calls){.calls = NULL};
}

static struct chat_call *by_id(const struct chat_calls *t, str id)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(buf_str(&t->calls[i].id), id))
            return &t->calls[i];
    }
    return NULL;
}

/* An index names the newest call that carries it. When the upstream uses one
 * index for several calls, the id tells them apart, and a new id is a new call. */
static struct chat_call *by_index(const struct chat_calls *t, int64_t index, str id)
{
    bool is_newest = true;

    for (size_t i = t->n; i-- > 0;) {
        struct chat_call *c = &t->calls[i];

        if (c->index != index)
            continue;
        if (str_eq(buf_str(&c->id), id) || (is_newest && (id.len == 0 || c->id.len == 0)))
            return c;
        is_newest = false;
    }
    return NULL;
}

static struct chat_call *find_call(const struct chat_calls *t, const struct chat_call_piece *piece)
{
    if (piece->index != CHAT_NO_INDEX)
        return by_index(t, piece->index, piece->id);
    if (piece->id.len > 0)
        return by_id(t, piece->id);
    return t->n > 0 && piece->name.len == 0 ? &t->calls[t->n - 1] : NULL;
}

static struct chat_call *add_call(struct chat_calls *t, const struct chat_call_piece *piece)
{
    struct chat_call *c;
    bool taken = piece->id.len > 0 && by_id(t, piece->id) != NULL;

    if (t->n == t->cap) {
        size_t cap = t->cap == 0 ? 4 : t->cap * 2;

        c = t->n == CHAT_MAX_CALLS ? NULL : realloc(t->calls, cap * sizeof(*c));
        if (c == NULL)
            return NULL;
        t->calls = c;
        t->cap = cap;
    }
    assert(t->calls != NULL);
    c = &t->calls[t->n++];
    *c = (struct chat_call){.index = piece->index, .id_taken = taken};
    return c;
}

static struct chat_call *take_call(struct chat_calls *t, const struct chat_call_piece *piece)
{
    struct chat_call *c = find_call(t, piece);
    bool is_piece;

    if (c == NULL)
        c = add_call(t, piece);
    if (c == NULL)
        return NULL;
    if (c->id.len == 0)
        buf_append(&c->id, piece->id);
    /* A repeated name is no piece of one, and after arguments nothing is. */
    is_piece = c->name.len == 0 || (!c->has_arguments && !str_eq(buf_str(&c->name), piece->name));
    if (is_piece && c->name.len + piece->name.len <= MAX_NAME_BYTES)
        buf_append(&c->name, piece->name);
    return buf_failed(&c->id) || buf_failed(&c->name) ? NULL : c;
}

static bool has(str s, char c)
{
    return str_find_char(s, c) < s.len;
}

/* Ids and names are repeated in events, where half a surrogate pair or a raw
 * U+2028 must not stand. *copy is used when the text may hold one. */
static str safe_text(str escaped, struct buf *copy)
{
    if (!has(escaped, '\\') && !has(escaped, '\xC2') && !has(escaped, '\xE2'))
        return escaped;
    json_copy_text(escaped, copy);
    return buf_str(copy);
}

struct chat_call *chat_calls_take(struct chat_calls *t, const struct chat_call_piece *piece)
{
    struct buf id = {.limit = 0}, name = {.limit = 0};
    const struct chat_call_piece safe = {.index = piece->index,
                                         .id = safe_text(piece->id, &id),
                                         .name = safe_text(piece->name, &name)};
    struct chat_call *c = buf_failed(&id) || buf_failed(&name) ? NULL : take_call(t, &safe);

    buf_fini(&id);
    buf_fini(&name);
    return c;
}

/* ---- arguments */

bool chat_call_piece_has_arguments(const struct chat_call_piece *piece)
{
    const enum jr_type type = jr_type_of(piece->arguments);

    return type == JR_OBJECT || type == JR_ARRAY ||
           (type == JR_STRING && piece->arguments.len > strlen("\"\""));
}

static void add_value(str raw, struct buf *out)
{
    struct buf compact = {.limit = 0};

    json_copy_value(raw, &compact);
    json_text_escape(buf_str(&compact), out);
    out->failed = out->failed || buf_failed(&compact);
    buf_fini(&compact);
}

void chat_call_add_arguments(struct chat_call *c, const struct chat_call_piece *piece,
                             struct buf *out)
{
    const str raw = piece->arguments;

    if (!chat_call_piece_has_arguments(piece))
        return;
    if (raw.p[0] == '"')
        json_text_splice(&c->splice, str_from(raw.p + 1, raw.len - 2), out);
    else if (!c->has_arguments)
        add_value(raw, out);
    c->has_arguments = true;
}
