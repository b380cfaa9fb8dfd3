/* harmony_builtin.c -- from the arguments of a function to those of a tool of the model. */
#include "wire/harmony/harmony_builtin.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

bool harmony_builtin_serves(struct harmony_builtins b, enum hosted_kind kind)
{
    return (kind == HOSTED_CODE_INTERPRETER && b.has_python) ||
           (kind == HOSTED_WEB_SEARCH && b.has_browser);
}

/* Arguments are what a model wrote: the object in them, or STR_NONE. */
static str find_object(str arguments)
{
    str value = str_trim(arguments);

    return jr_type_of(value) == JR_OBJECT && jr_is_valid(value) ? value : STR_NONE;
}

enum builtin_tool harmony_builtin_called(enum hosted_kind kind, str arguments)
{
    str action;

    if (kind == HOSTED_CODE_INTERPRETER)
        return BUILTIN_PYTHON;
    action = jr_member_string(find_object(arguments), STR("action"));
    if (json_text_eq(action, STR("open_page")))
        return BUILTIN_BROWSER_OPEN;
    return json_text_eq(action, STR("find_in_page")) ? BUILTIN_BROWSER_FIND
                                                     : BUILTIN_BROWSER_SEARCH;
}

struct harmony_name harmony_builtin_name(enum builtin_tool tool)
{
    static const struct harmony_name names[BUILTIN_TOOL_COUNT] = {
        [BUILTIN_NONE] = {STR_INIT(""), STR_INIT("")},
#define HOSTED_BUILTIN(symbol, hosted, server, name)                                               \
    [BUILTIN_##symbol] = {STR_INIT(server), STR_INIT(name)},
#include "conv/hosted.def"
    };

    return names[tool];
}

/* Models that fill in all that a function takes give some of it no value. */
static bool has_value(str raw)
{
    return !str_is_none(raw) && jr_type_of(raw) != JR_NULL && !str_eq(raw, STR("\"\""));
}

static void write_browser(enum builtin_tool tool, str arguments, struct buf *out)
{
    static const struct {
        const char *name, *as;
        bool is_of[BUILTIN_BROWSER_FIND + 1];
    } members[] = {
        {"query", "query", {[BUILTIN_BROWSER_SEARCH] = true}},
        {"topn", "topn", {[BUILTIN_BROWSER_SEARCH] = true}},
        {"id", "id", {[BUILTIN_BROWSER_OPEN] = true}},
        {"url", "id", {[BUILTIN_BROWSER_OPEN] = true}},
        {"pattern", "pattern", {[BUILTIN_BROWSER_FIND] = true}},
        {"cursor", "cursor", {[BUILTIN_BROWSER_OPEN] = true, [BUILTIN_BROWSER_FIND] = true}},
        {"loc", "loc", {[BUILTIN_BROWSER_OPEN] = true}},
        {"num_lines", "num_lines", {[BUILTIN_BROWSER_OPEN] = true}},
        {"view_source", "view_source", {[BUILTIN_BROWSER_OPEN] = true}},
        {"source", "source", {[BUILTIN_BROWSER_SEARCH] = true, [BUILTIN_BROWSER_OPEN] = true}},
    };
    struct jw writer = jw_to(out), *w = &writer;
    const char *last = "";

    jw_object(w);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        str value = jr_member(arguments, str_from_c(members[i].name));

        if (!members[i].is_of[tool] || !has_value(value) || strcmp(members[i].as, last) == 0)
            continue;
        last = members[i].as;
        json_copy_key_value(w, last, value);
    }
    jw_object_end(w);
}

void harmony_builtin_write(enum builtin_tool tool, str arguments, struct buf *out)
{
    str object = find_object(arguments);
    str code = jr_member_string(object, STR("code"));

    if (tool == BUILTIN_PYTHON && !str_is_none(code))
        json_text_decode(code, out);
    else if (tool == BUILTIN_PYTHON || str_is_none(object))
        buf_append(out, arguments);
    else
        write_browser(tool, object, out);
}
