/* resolve_fixture.h -- requests completed with what is stored, as tables of cases. */
#ifndef ANTIPHON_TESTS_RESOLVE_FIXTURE_H
#define ANTIPHON_TESTS_RESOLVE_FIXTURE_H

#include "request_fixture.h"

#define CONTINUES(members) "{\"model\":\"m\",\"previous_response_id\":\"resp_1\"," members "}"
#define IN_CONVERSATION(members)                                                                   \
    "{\"model\":\"m\",\"conversation\":{\"id\":\"conv_1\"}," members "}"
#define INPUT(items)    "\"input\":[" items "]"
#define REFERENCE(id)   "{\"type\":\"item_reference\",\"id\":\"" id "\"}"
#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define CALL            "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define OUTPUT          "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"o\"}"
#define CALLED                                                                                     \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":"             \
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},"                          \
    "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"o\"}"
#define FUNCTION(name) "{\"type\":\"function\",\"name\":\"" name "\"}"
#define ADDITIONAL(tools)                                                                          \
    "{\"type\":\"additional_tools\",\"role\":\"developer\",\"tools\":[" tools "]}"
#define TAIL(members) "],\"usage\":{\"tools\":7},\"metadata\":{}," members "}"

enum { MAX_STORED = 4 };

struct stored {
    const char *body;
    bool is_output;
};

struct resolve_case {
    const char *claim, *body;
    struct stored history[MAX_STORED], found[MAX_STORED]; /* up to the first without a body */
    const char *result;                                   /* of the first that is found */
    const char *tail;
    const char *messages; /* expected, without the brackets; NULL: refused with the following */
    const char *error, *param;
};

static inline size_t fill(struct request_history_item *items, const struct stored *stored)
{
    size_t n = 0;

    for (; n < MAX_STORED && stored[n].body != NULL; n++)
        items[n] = (struct request_history_item){
            .id = jr_member_string(str_from_c(stored[n].body), STR("id")),
            .body = stored[n].body[0] == '\0' ? STR_NONE : str_from_c(stored[n].body),
            .is_output = stored[n].is_output,
        };
    return n;
}

/* Parses and resolves; 0 or -1 with f->err set. */
static inline int resolve(struct fixture *f, const struct resolve_case *c)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    struct request_history_item items[MAX_STORED], found[MAX_STORED];
    struct request_references references;
    struct request_history history = {
        .items = items, .found = found, .previous_tail = str_from_c(c->tail)};

    history.n = fill(items, c->history);
    if (fixture_parse_with(f, &options, str_from_c(c->body), 0) == -1)
        fail_msg("%s: %s", c->claim, f->err.msg);
    assert_true(f->request.needs_store);
    assert_int_equal(request_references(&f->request, &f->arena, &references, &f->err), 0);
    if (references.n != fill(found, c->found))
        fail_msg("%s: %zu references", c->claim, references.n);
    found[0].result = references.n > 0 ? str_from_c(c->result) : STR_NONE;
    return request_resolve(&f->request, &history, &options, &f->ids, &f->arena, &f->err);
}

static inline void check_case(const struct resolve_case *c)
{
    const struct chat_request_options options = {0};
    struct buf expected = {0};
    struct fixture f;
    json_t *chat = resolve(&f, c) == 0 ? fixture_chat(&f, &options) : NULL;

    if (c->messages == NULL) {
        if (chat != NULL)
            fail_msg("%s: accepted", c->claim);
        assert_string_equal(f.err.msg, c->error);
        assert_string_equal(f.err.param, c->param);
    } else {
        if (chat == NULL)
            fail_msg("%s: %s", c->claim, f.err.msg);
        buf_char(&expected, '[');
        buf_append(&expected, str_from_c(c->messages));
        buf_char(&expected, ']');
        assert_json(c->claim, json_object_get(chat, "messages"), buf_cstr(&expected));
    }
    json_decref(chat);
    buf_fini(&expected);
    fixture_fini(&f);
}

#define CHECK(cases)                                                                               \
    for (size_t i = 0; i < sizeof(cases) / sizeof(*(cases)); i++)                                  \
    check_case(&(cases)[i])

#endif
