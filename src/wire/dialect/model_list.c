/* model_list.c -- look a model up in a list; give it the name that was asked for. */
#include "wire/dialect/model_list.h"

#include "json/json_read.h"
#include "json/json_text.h"

/* The element whose id is model, and the raw id in it. Of two the first counts. */
static bool find_entry(str list, str model, str *ret_entry, str *ret_id)
{
    str data = jr_is_valid(list) ? jr_member(list, STR("data")) : STR_NONE;
    struct jr j;

    if (jr_type_of(data) != JR_ARRAY)
        return false;
    jr_init(&j, data);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str entry = jr_raw(&j), id = jr_member(entry, STR("id"));

        if (jr_type_of(id) == JR_STRING && json_text_eq(str_from(id.p + 1, id.len - 2), model)) {
            *ret_entry = entry;
            *ret_id = id;
            return true;
        }
    }
    return false;
}

bool model_list_find(str list, str model, str shown, struct buf *out)
{
    str entry, id;

    if (!find_entry(str_trim(list), model, &entry, &id))
        return false;
    if (str_eq(model, shown)) {
        buf_append(out, entry);
        return true;
    }
    buf_append(out, str_from(entry.p, (size_t)(id.p - entry.p)));
    buf_char(out, '"');
    json_text_escape(shown, out);
    buf_char(out, '"');
    buf_append(out, str_skip(entry, (size_t)(id.p - entry.p) + id.len));
    return true;
}
