/* mcp_name.c -- three forms of a name, from the prettiest to the surest. */
#include "mcp/hub/mcp_name.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "conv/tool_name.h"
#include "ev/sha256.h"

enum { KEPT_CHARS = 52, HASH_DIGITS = 10 };

/* One '_' for a character, however many bytes it has. */
static void append_clean(str s, struct buf *out)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);

        buf_char(out, tool_name_is_char(s.p[0]) ? s.p[0] : '_');
        s = str_skip(s, n > 0 ? n : 1);
    }
}

static void append_whole(str label, str tool, struct buf *out)
{
    buf_append(out, STR("mcp__"));
    append_clean(label, out);
    buf_append(out, STR("__"));
    append_clean(tool, out);
}

static bool append_hash(str label, str tool, struct buf *out)
{
    unsigned char hash[SHA256_BYTES];
    struct buf both = {0};
    bool ok;

    buf_append(&both, label);
    buf_char(&both, '\0');
    buf_append(&both, tool);
    ok = !buf_failed(&both) && sha256(buf_str(&both), hash);
    buf_fini(&both);
    if (ok)
        buf_hex(out, hash, HASH_DIGITS / 2);
    return ok;
}

static str finish_name(struct buf *name, bool ok, struct arena *a)
{
    str copy = ok && !buf_failed(name) ? arena_dup(a, buf_str(name)) : STR_NONE;

    buf_fini(name);
    return copy;
}

str mcp_name_hashed(str label, str tool, struct arena *a)
{
    struct buf name = {0};

    append_whole(label, tool, &name);
    if (name.len > KEPT_CHARS)
        name.len = KEPT_CHARS;
    buf_append(&name, STR("__"));
    return finish_name(&name, append_hash(label, tool, &name), a);
}

str mcp_name(str label, str tool, struct arena *a)
{
    struct buf name = {0};

    if (!tool_name_is_clean(label) || !tool_name_is_clean(tool))
        return mcp_name_hashed(label, tool, a);
    append_whole(label, tool, &name);
    if (!tool_name_is_clean(buf_str(&name))) {
        buf_fini(&name);
        return mcp_name_hashed(label, tool, a);
    }
    return finish_name(&name, true, a);
}

/* ---- the names of a request */

void mcp_names_init(struct mcp_names *n, struct arena *a, const struct id_source *randomness,
                    bool bare)
{
    *n = (struct mcp_names){.arena = a, .bare = bare};
    str_map_init(&n->taken, randomness);
}

int mcp_names_reserve(struct mcp_names *n, str name)
{
    void **slot = str_map_slot(&n->taken, name, n->arena);

    if (slot == NULL)
        return -1;
    *slot = n; /* anything but NULL */
    return 0;
}

/* Gives a form to the tool if it is free. */
static int try_name(struct mcp_names *n, str name, str *ret_name)
{
    void **slot = str_is_none(name) ? NULL : str_map_slot(&n->taken, name, n->arena);

    if (slot == NULL)
        return -1;
    if (*slot == NULL) {
        *slot = n;
        *ret_name = name;
    }
    return 0;
}

int mcp_names_add(struct mcp_names *n, str label, str tool, str *ret_name)
{
    *ret_name = STR_NONE;
    if (n->bare && tool_name_is_clean(tool) &&
        try_name(n, arena_dup(n->arena, tool), ret_name) == -1)
        return -1;
    if (str_is_none(*ret_name) && try_name(n, mcp_name(label, tool, n->arena), ret_name) == -1)
        return -1;
    if (!str_is_none(*ret_name))
        return 0;
    return try_name(n, mcp_name_hashed(label, tool, n->arena), ret_name);
}
