/* compact_item.c -- one JSON object, written, sealed, opened, read. */
#include "compact/compact_item.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum {
    VERSION = 1,
    SEAL_BYTES = 256, /* more than what sealing adds to the text but for its base64 */
    MAX_INSIDE_BYTES = COMPACT_MAX_SEALED_BYTES / 4 * 3 - SEAL_BYTES,
};

/* ---- making one */

/* The items from the first on. */
static void write_list(struct jw *w, const char *key, const struct kept_items *items, size_t first)
{
    jw_key(w, key);
    jw_array(w);
    for (size_t i = first; i < items->n; i++)
        jw_raw(w, items->v[i].body);
    jw_array_end(w);
}

static void write_inside(const struct compact_item *item, size_t first, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    jw_key_int(w, "v", VERSION);
    jw_key_string(w, "k", item->is_window ? STR("w") : STR("s"));
    jw_key_string(w, "t", item->summary);
    if (item->is_window || item->before.n > 0)
        write_list(w, "b", &item->before, first);
    if (item->is_window)
        write_list(w, "a", &item->after, 0);
    jw_key_int(w, "n", item->n_tokens);
    jw_key_int(w, "at", item->at);
    jw_object_end(w);
}

/* How many of the oldest items have to go from a text of so many bytes. */
static size_t count_too_many(const struct compact_item *item, size_t n_bytes)
{
    size_t n = 0;

    for (; n_bytes > MAX_INSIDE_BYTES && n < item->before.n; n++)
        n_bytes -= item->before.v[n].body.len + (n + 1 < item->before.n); /* and a comma */
    return n;
}

static int reject_size(struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "The compacted context comes to more than %d bytes.",
            COMPACT_MAX_SEALED_BYTES);
    return -1;
}

static int seal_text(str inside, const struct text_seal *seal, struct arena *a, str *ret,
                     struct err *reterr)
{
    struct buf sealed = {.limit = 0};
    str copy = STR_NONE;

    if (seal->close(seal->arg, inside, &sealed) && !buf_failed(&sealed))
        copy = arena_dup(a, buf_str(&sealed));
    buf_fini(&sealed);
    if (str_is_none(copy))
        return err_set_no_memory(reterr);
    *ret = copy;
    return 0;
}

int compact_item_seal(const struct compact_item *item, const struct text_seal *seal,
                      struct arena *a, str *ret, struct err *reterr)
{
    struct buf inside = {.limit = 0};
    int rc;

    write_inside(item, 0, &inside);
    if (inside.len > MAX_INSIDE_BYTES && !buf_failed(&inside)) {
        const size_t n_gone = count_too_many(item, inside.len);

        buf_reset(&inside);
        write_inside(item, n_gone, &inside);
    }
    if (buf_failed(&inside))
        rc = err_set_no_memory(reterr);
    else if (inside.len > MAX_INSIDE_BYTES)
        rc = reject_size(reterr);
    else
        rc = seal_text(buf_str(&inside), seal, a, ret, reterr);
    buf_fini(&inside);
    return rc;
}

/* ---- reading one */

/* An array, or nothing at all. */
static bool take_list(str raw, str *ret)
{
    *ret = raw;
    return str_is_none(raw) || jr_type_of(raw) == JR_ARRAY;
}

/* False for what compact_item_seal() would not have written. */
static bool read_inside(str inside, struct compact_opened *ret)
{
    struct compact_opened o = {.is_window = false};
    str kind;

    if (inside.len > MAX_INSIDE_BYTES || !jr_is_valid(inside))
        return false;
    kind = jr_member_string(inside, STR("k"));
    o.summary = jr_member_string(inside, STR("t"));
    o.is_window = str_eq(kind, STR("w"));
    if (jr_member_int(inside, STR("v"), 0) != VERSION || str_is_none(o.summary) ||
        (!o.is_window && !str_eq(kind, STR("s"))))
        return false;
    if (!take_list(jr_member(inside, STR("b")), &o.before) ||
        !take_list(o.is_window ? jr_member(inside, STR("a")) : STR_NONE, &o.after))
        return false;
    *ret = o;
    return true;
}

bool compact_item_open(str sealed, const struct text_seal *seal, struct arena *a,
                       struct compact_opened *ret)
{
    str plain, inside;

    if (seal == NULL || sealed.len > COMPACT_MAX_SEALED_BYTES)
        return false;
    plain = json_text_dup(a, sealed);
    return !str_is_none(plain) && seal->open(seal->arg, plain, a, &inside) &&
           read_inside(inside, ret);
}
