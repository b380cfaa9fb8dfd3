/* item_search.c -- searches for tools, and the tools that they have found (CONTRACT 2.1).
 *
 * The tools of an output are the request's from then on (wire/tools/tool_set.h). The model reads
 * which they are, by the names under which it may call them; what they take stands in the list of
 * tools, and would only be there twice. */
#include "conv/item_internal.h"

#include "conv/tool_name.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* A search of the client has an id that its output names; the gateway's own has none. */
static bool is_of_client(const struct item_reading *r)
{
    return r->f.call_id.len > 0 || str_eq(r->f.execution, STR("\"client\""));
}

int item_read_search_call(const struct item_reading *r)
{
    r->item->name = hosted_type(HOSTED_TOOL_SEARCH);
    if (is_of_client(r))
        r->item->kind = ITEM_CALL;
    else if (item_hosted_call_ended(r))
        r->item->hosted_kind = HOSTED_TOOL_SEARCH;
    return item_set_call_id(r) == -1 ? -1 : item_set_arguments(r);
}

/* ---- what was found */

/* The list of tools as it is written for the model. */
struct found {
    const struct item_tool_names *names;
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

static str type_of(str tool)
{
    const str type = jr_member_string(tool, STR("type"));

    return str_is_none(type) ? STR("") : type;
}

static void write_found_line(struct found *f, str name, str description)
{
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

static void write_found_tool(struct found *f, str tool, str name_space)
{
    write_found_line(f, tool_name_for_upstream(f->arena, name_space, name_of(tool)),
                     jr_member_string(tool, STR("description")));
}

str item_server_tool_name(str label, str name, struct arena *a)
{
    struct buf both = {0};
    str server = STR_NONE;

    buf_append(&both, STR("mcp__"));
    buf_append(&both, label);
    if (!buf_failed(&both))
        server = arena_dup(a, buf_str(&both));
    buf_fini(&both);
    return str_is_none(server) ? STR_NONE : tool_name_for_upstream(a, server, name);
}

/* Of a server the tools that were found, which others know better. */
static void write_found_server(struct found *f, str server)
{
    const str label = jr_member_string(server, STR("server_label"));
    struct jr j;

    jr_init(&j, jr_member(server, STR("allowed_tools")));
    if (!jr_enter(&j, JR_ARRAY)) {
        write_found_tool(f, server, STR_NONE);
        return;
    }
    while (jr_next_element(&j)) {
        const str tool = jr_string(&j);
        str name = STR_NONE, description = STR_NONE;

        if (f->names != NULL)
            f->names->find(f->names->arg, label, tool, &name, &description);
        write_found_line(f, str_is_none(name) ? item_server_tool_name(label, tool, f->arena) : name,
                         description);
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
        else if (json_text_eq(type_of(tool), STR("mcp")))
            write_found_server(f, tool);
        else
            write_found_tool(f, tool, name_space);
    }
}

str item_found_text(str tools, const struct item_tool_names *names, struct arena *a)
{
    struct found f = {.names = names, .arena = a};
    str text = STR_NONE;

    write_found_list(&f, tools, STR_NONE);
    if (f.n == 0)
        buf_append(&f.text, STR("No tools found."));
    if (!buf_failed(&f.text))
        text = arena_dup(a, buf_str(&f.text));
    buf_fini(&f.text);
    return text;
}

static int set_found_text(const struct item_reading *r)
{
    const str text = item_found_text(r->f.tools, NULL, r->arena);

    return str_is_none(text) ? err_set_no_memory(r->reterr)
                             : content_from_text(text, r->arena, &r->item->content, r->reterr);
}

int item_read_search_output(const struct item_reading *r)
{
    r->item->tools = r->f.tools;
    if (item_need(r, r->f.tools, STR("tools")) == -1)
        return -1;
    if (!is_of_client(r)) {
        r->item->kind = ITEM_FOUND_TOOLS;
        return set_found_text(r);
    }
    r->item->name = hosted_type(HOSTED_TOOL_SEARCH);
    r->item->is_search = true;
    return item_set_call_id(r) == -1 ? -1 : set_found_text(r);
}
