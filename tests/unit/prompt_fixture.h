/* prompt_fixture.h -- requests on their way to a Harmony prompt, for tests. */
#ifndef ANTIPHON_TESTS_PROMPT_FIXTURE_H
#define ANTIPHON_TESTS_PROMPT_FIXTURE_H

#include "request_fixture.h"

#include "lib/test.h"
#include "wire/harmony/harmony_request.h"

#define ZWSP "\xe2\x80\x8b"

/* "" when it is no text. */
static inline str text_of(const json_t *value)
{
    return json_is_string(value) ? str_from(json_string_value(value), json_string_length(value))
                                 : STR("");
}

static inline str get_text(const json_t *object, const char *member)
{
    return text_of(json_object_get(object, member));
}

/* As JSON, in the arena. */
static inline str dump(struct arena *a, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    str copy;

    assert_non_null(text);
    copy = arena_dup(a, str_from_c(text));
    free(text);
    return copy;
}

/* Tools that servers of the request have. */
static inline size_t read_hosted(struct arena *a, const json_t *listed, struct server_tool *ret)
{
    const json_t *tools, *tool;
    const char *label;
    size_t n = 0, i;

    json_object_foreach((json_t *)(uintptr_t)listed, label, tools)
    {
        json_array_foreach(tools, i, tool)
        {
            ret[n++] = (struct server_tool){
                .server_label = str_from_c(label),
                .name = get_text(tool, "name"),
                .upstream_name = STR("mcp__tool"),
                .description = get_text(tool, "description"),
                .parameters = dump(a, json_object_get(tool, "input_schema")),
            };
        }
    }
    return n;
}

/* The request must be good; listed: the tools of its servers, by label, or NULL. */
static inline void parse(struct fixture *f, str body, const json_t *listed)
{
    const struct responses_request_options options = {.default_model = STR("gpt-oss"),
                                                      .input.own_items = true,
                                                      .tools.serves[HOSTED_CODE_INTERPRETER] = true,
                                                      .tools.serves[HOSTED_WEB_SEARCH] = true,
                                                      .tools.serves_pages = true};
    struct server_tool hosted[4];

    if (fixture_parse_with(f, &options, body, 0) == -1)
        fail_msg("%s (%s) for %.*s", f->err.msg, f->err.param, STR_ARG(body));
    if (f->request.needs_tools)
        assert_int_equal(request_add_mcp(&f->request, hosted,
                                         read_hosted(&f->arena, listed, hosted), &f->arena,
                                         &f->err),
                         0);
}

/* As these models want it. */
static inline struct conversation converse(struct fixture *f)
{
    const struct chat_request_options options = {.reasoning_history = CHAT_OPEN_REASONING};
    struct conversation c;

    assert_int_equal(
        chat_request_conversation(&f->request, &options, &f->ids, &f->arena, &c, &f->err), 0);
    return c;
}

#endif
