/* mcp_name.c -- three forms of a name, from the prettiest to the surest. */
#include "mcp/mcp_name.h"

#include <assert.h>

#include "base/buf.h"
#include "base/utf8.h"

enum { KEPT_CHARS = 52, HASH_DIGITS = 10 };

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool can_be_shown(str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_char(name.p[i]))
            return false;
    }
    return name.len > 0 && name.len <= MCP_NAME_MAX;
}

/* One '_' for a character, however many bytes it has. */
static void append_clean(str s, struct buf *out)
{
    while (s.len > 0) {
        size_t n = utf8_char(s);

        buf_char(out, is_name_char(s.p[0]) ? s.p[0] : '_');
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

static bool append_hash(str label, str tool, mcp_sha256 *sha256, struct buf *out)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[MCP_SHA256_BYTES];
    struct buf both = {0};
    bool ok;

    buf_append(&both, label);
    buf_char(&both, '\0');
    buf_append(&both, tool);
    ok = !buf_failed(&both) && sha256(buf_str(&both), hash);
    buf_fini(&both);
    for (size_t i = 0; ok && i < HASH_DIGITS / 2; i++) {
        buf_char(out, digits[hash[i] >> 4]);
        buf_char(out, digits[hash[i] & 15]);
    }
    return ok;
}

static str finish(struct buf *name, bool ok, struct arena *a)
{
    str copy = ok && !buf_failed(name) ? arena_dup(a, buf_str(name)) : STR_NONE;

    buf_fini(name);
    return copy;
}

str mcp_name_hashed(str label, str tool, mcp_sha256 *sha256, struct arena *a)
{
    struct buf name = {0};

    append_whole(label, tool, &name);
    if (name.len > KEPT_CHARS)
        name.len = KEPT_CHARS;
    buf_append(&name, STR("__"));
    return finish(&name, append_hash(label, tool, sha256, &name), a);
}

str mcp_name(str label, str tool, mcp_sha256 *sha256, struct arena *a)
{
    struct buf name = {0};

    if (!can_be_shown(label) || !can_be_shown(tool))
        return mcp_name_hashed(label, tool, sha256, a);
    append_whole(label, tool, &name);
    if (!can_be_shown(buf_str(&name))) {
        buf_fini(&name);
        return mcp_name_hashed(label, tool, sha256, a);
    }
    return finish(&name, true, a);
}

/* ---- the names of a request */

/* What stands in the table for a client's name, which has no value. */
static char clients_own;

void mcp_names_init(struct mcp_names *n, struct arena *a, const struct id_source *randomness,
                    mcp_sha256 *sha256, bool bare)
{
    *n = (struct mcp_names){.arena = a, .sha256 = sha256, .bare = bare};
    str_map_init(&n->taken, randomness);
}

int mcp_names_reserve(struct mcp_names *n, str name)
{
    void **slot = str_map_slot(&n->taken, name, n->arena);

    if (slot == NULL)
        return -1;
    *slot = &clients_own;
    return 0;
}

/* Gives a form to the tool if it is free. */
static int try_name(struct mcp_names *n, str name, void *value, str *ret_name)
{
    void **slot = str_is_none(name) ? NULL : str_map_slot(&n->taken, name, n->arena);

    if (slot == NULL)
        return -1;
    if (*slot == NULL) {
        *slot = value;
        *ret_name = name;
    }
    return 0;
}

int mcp_names_add(struct mcp_names *n, str label, str tool, void *value, str *ret_name)
{
    *ret_name = STR_NONE;
    assert(value != NULL);
    if (n->bare && can_be_shown(tool) &&
        try_name(n, arena_dup(n->arena, tool), value, ret_name) == -1)
        return -1;
    if (str_is_none(*ret_name) &&
        try_name(n, mcp_name(label, tool, n->sha256, n->arena), value, ret_name) == -1)
        return -1;
    if (!str_is_none(*ret_name))
        return 0;
    return try_name(n, mcp_name_hashed(label, tool, n->sha256, n->arena), value, ret_name);
}

void *mcp_names_find(const struct mcp_names *n, str name)
{
    void *value = str_map_get(&n->taken, name);

    return value == &clients_own ? NULL : value;
}
