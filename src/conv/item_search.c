/* item_search.c -- searches for tools, and the tools that they have found (CONTRACT 2.1).
 *
 * The tools of an output are the request's from then on (wire/tools/tool_set.h). The model reads
 * which they are, by the names under which it may call them; what they take stands in the list of
 * tools, and would only be there twice. */
#include "conv/item_internal.h"

#include "conv/tool_name.h"
#include "json/json_copy.h"
#include "json/json_read.h"

int item_read_search_call(const struct item_reading *r)
{
    r->item->name = STR("tool_search");
    r->item->is_search = true;
    return item_set_call_id(r) == -1 ? -1 : item_set_arguments(r);
}

/* ---- what was found */

/* The list of tools as it is written for the model. */
struct found {
    struct arena *arena;
    struct buf text; /* escaped */
    size_t n;
};

/* What a tool is known by: a server by its label, what has neither by its type. */
static str name_of(str tool)
{
    static const str members[] = {STR_INIT("name"), STR_INIT("server_label"), STR_INIT("type")};
    str name = STR_NONE;

    for (size_t i = 0; i < COUNT_OF(members) && name.len == 0; i++)
        name = jr_member_string(tool, members[i]);
    return name;
}

static void write_found_tool(struct found *f, str tool, str name_space)
{
    const str name = tool_name_for_upstream(f->arena, name_space, name_of(tool));
    const str description = jr_member_string(tool, STR("description"));

    if (str_is_none(name)) {
        f->text.failed = true;
        return;
    }
    buf_append(&f->text, f->n++ == 0 ? STR("Found, and can be called now:\\n") : STR("\\n"));
    buf_append(&f->text, name);
    if (description.len > 0) {
        buf_append(&f->text, STR(": "));
        json_copy_text(description, &f->text);
    }
}

static void write_found_list(struct found *f, str tools, str name_space)
{
    struct jr j;

    jr_init(&j, tools);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        const str tool = jr_raw(&j);
        const str inner = jr_type_of(tool) == JR_OBJECT ? jr_member(tool, STR("tools")) : STR_NONE;

        if (jr_type_of(tool) != JR_OBJECT)
            continue; /* it is refused with the tools of the request */
        if (str_is_none(name_space) && jr_type_of(inner) == JR_ARRAY)
            write_found_list(f, inner, name_of(tool));
        else
            write_found_tool(f, tool, name_space);
    }
}

static int set_found_text(const struct item_reading *r)
{
    struct found f = {.arena = r->arena};
    str text = STR_NONE;

    write_found_list(&f, r->f.tools, STR_NONE);
    if (f.n == 0)
        buf_append(&f.text, STR("No tools found."));
    if (!buf_failed(&f.text))
        text = arena_dup(r->arena, buf_str(&f.text));
    buf_fini(&f.text);
    return str_is_none(text) ? err_set_no_memory(r->reterr)
                             : content_from_text(text, r->arena, &r->item->content, r->reterr);
}

int item_read_search_output(const struct item_reading *r)
{
    r->item->name = STR("tool_search");
    r->item->is_search = true;
    r->item->has_no_call_id = r->f.call_id.len == 0;
    r->item->tools = r->f.tools;
    if (item_need(r, r->f.tools, STR("tools")) == -1 || item_set_call_id(r) == -1)
        return -1;
    return set_found_text(r);
}
