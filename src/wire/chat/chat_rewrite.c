/* chat_rewrite.c -- one walk over the members finds the wish, a second leaves it out. */
#include "wire/chat/chat_rewrite.h"

#include <string.h>

#include "json/json_read.h"

static const str reasoning_name = STR_INIT("reasoning");

bool chat_may_hold_reasoning(str body)
{
    return str_find(body, STR("\"reasoning\"")) < body.len;
}

bool chat_holds_only_nulls(str object)
{
    bool only_nulls = jr_type_of(object) == JR_OBJECT;
    struct jr j;
    str name;

    jr_init(&j, object);
    if (!only_nulls || !jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &name))
        only_nulls = jr_type_of(jr_raw(&j)) == JR_NULL && only_nulls;
    return only_nulls;
}

/* Is there such a wish in a body that is JSON to its end? Of a member given twice
 * the last counts. */
static bool wishes_for_nothing(str body)
{
    str name, reasoning = STR_NONE;
    struct jr j;

    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, reasoning_name))
            reasoning = jr_raw(&j);
        else
            jr_skip(&j);
    }
    return jr_end(&j) && !str_is_none(reasoning) && chat_holds_only_nulls(reasoning);
}

static const char *skip_comma(const char *p, str body)
{
    const char *const end = body.p + body.len;

    while (p < end && strchr(" \t\r\n", *p) != NULL)
        p++;
    return p < end && *p == ',' ? p + 1 : p;
}

/* A member goes with the comma before it, the first one with the comma behind it. */
static void copy_others(str body, struct buf *out)
{
    const char *from = body.p, *kept_to = body.p + str_find_char(body, '{') + 1;
    bool is_first = true;
    struct jr j;
    str name;

    jr_init(&j, body);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        bool is_kept = !str_eq(name, reasoning_name);
        str value = jr_raw(&j);
        const char *value_end = value.p + value.len;

        if (is_kept) {
            kept_to = value_end;
            is_first = false;
            continue;
        }
        buf_append(out, str_from(from, (size_t)(kept_to - from)));
        from = kept_to = is_first ? skip_comma(value_end, body) : value_end;
    }
    buf_append(out, str_from(from, (size_t)(body.p + body.len - from)));
}

bool chat_drop_reasoning(str body, struct buf *out)
{
    if (!chat_may_hold_reasoning(body) || !wishes_for_nothing(body))
        return false;
    copy_others(body, out);
    return true;
}

bool chat_rewrite(struct name_list aliases, str body, struct buf *out)
{
    struct buf shorter = {.limit = 0};
    bool is_shorter = chat_drop_reasoning(body, &shorter);
    bool is_changed = model_alias_rewrite(aliases, is_shorter ? buf_str(&shorter) : body, out);

    if (is_shorter && !is_changed)
        buf_append(out, buf_str(&shorter));
    if (buf_failed(&shorter))
        out->failed = true; /* what came of half a body must not be sent */
    buf_fini(&shorter);
    return is_changed || is_shorter;
}
