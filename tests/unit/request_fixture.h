/* request_fixture.h -- one request from its JSON text to the Chat request, for tests.
 *
 * The body is a block of exactly its size, so that a sanitizer sees a read past
 * its end, and ids are numbers, so that every run makes the same ones. */
#ifndef ANTIPHON_TESTS_REQUEST_FIXTURE_H
#define ANTIPHON_TESTS_REQUEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "wire/chat/chat_request.h"
#include "wire/request/request_resolve.h"
#include "wire/request/response_echo.h"
#include "wire/request/responses_request.h"

static inline void fixture_fill(void *arg, void *p, size_t n)
{
    unsigned char *next = arg;

    memset(p, (*next)++ & 31, n);
}

struct fixture {
    unsigned char next_id;
    struct id_source ids;
    struct arena arena;
    char *body;
    struct responses_request request;
    struct err err;
};

static inline void fixture_fini(struct fixture *f)
{
    arena_fini(&f->arena);
    free(f->body);
    f->body = NULL;
}

/* Parses body; 0 or -1 with f->err set. */
static inline int fixture_parse_with(struct fixture *f,
                                     const struct responses_request_options *options, str body,
                                     size_t arena_limit)
{
    *f = (struct fixture){.ids = {.fill = fixture_fill}};
    f->ids.arg = &f->next_id;
    arena_init(&f->arena, arena_limit);
    f->body = malloc(body.len + (body.len == 0));
    assert_non_null(f->body);
    if (body.len > 0)
        memcpy(f->body, body.p, body.len);
    return responses_request_parse(str_from(f->body, body.len), options, &f->ids, &f->arena,
                                   &f->request, &f->err);
}

/* The same with the usual options; what it refers to is then not stored, and servers have
 * no tools. */
static inline int fixture_parse(struct fixture *f, str body, size_t arena_limit)
{
    const struct responses_request_options options = {.default_model = STR_NONE};
    const struct request_history nothing = {.n = 0};

    if (fixture_parse_with(f, &options, body, arena_limit) == -1)
        return -1;
    if (f->request.needs_store &&
        request_resolve(&f->request, &nothing, &options, &f->ids, &f->arena, &f->err) == -1)
        return -1;
    return f->request.needs_tools ? request_add_mcp(&f->request, NULL, 0, &f->arena, &f->err) : 0;
}

/* Tools of two servers; "a.b" has a name that the upstream cannot have. */
static const struct server_tool fixture_hosted[] = {
    {STR_INIT("docs"), STR_INIT("search"), STR_INIT("mcp__docs__search"), STR_INIT("Finds \"it\"."),
     STR_INIT("{\"type\":\"object\"}"), false, "docs search"},
    {STR_INIT("docs"), STR_INIT("a.b"), STR_INIT("mcp__docs__a_b__0123456789"), STR_INIT(""),
     STR_INIT("{}"), true, "docs a.b"},
    {STR_INIT("web"), STR_INIT("search"), STR_INIT("mcp__web__search"), STR_INIT(""),
     STR_INIT("{}"), false, "web search"},
};

enum { N_FIXTURE_HOSTED = sizeof(fixture_hosted) / sizeof(fixture_hosted[0]) };

/* Body and what is stored before it to a request that has these tools if it needs any. */
static inline int fixture_complete(struct fixture *f,
                                   const struct responses_request_options *options, str body,
                                   const struct request_history *history, size_t arena_limit)
{
    if (fixture_parse_with(f, options, body, arena_limit) == -1)
        return -1;
    if (f->request.needs_store &&
        request_resolve(&f->request, history, options, &f->ids, &f->arena, &f->err) == -1)
        return -1;
    if (!f->request.needs_tools)
        return 0;
    return request_add_mcp(&f->request, fixture_hosted, N_FIXTURE_HOSTED, &f->arena, &f->err);
}

/* The Chat request of a parsed body as a tree; NULL with f->err set. */
static inline json_t *fixture_chat(struct fixture *f, const struct chat_request_options *options)
{
    struct conversation c;
    struct buf out = {0};
    json_t *tree;
    json_error_t where;

    if (chat_request_conversation(&f->request, options, &f->ids, &f->arena, &c, &f->err) == -1)
        return NULL;
    assert_int_equal(chat_request_write(&f->request, &c, options, &out, &f->err), 0);
    tree = json_loadb(out.p, out.len, JSON_REJECT_DUPLICATES, &where);
    if (tree == NULL)
        fail_msg("%s at %d in %.*s", where.text, where.position, (int)out.len, out.p);
    buf_fini(&out);
    return tree;
}

/* Body in, Chat request out; the request must be good. */
static inline json_t *chat_of(const char *body)
{
    const struct chat_request_options options = {0};
    struct fixture f;
    json_t *chat;

    if (fixture_parse(&f, str_from_c(body), 0) == -1)
        fail_msg("%s (%s) for %s", f.err.msg, f.err.param, body);
    chat = fixture_chat(&f, &options);
    assert_non_null(chat);
    fixture_fini(&f);
    return chat;
}

/* The echo as an object; it must be one line of JSON. The request goes. */
static inline json_t *fixture_echo(struct fixture *f)
{
    struct buf out = {0};
    json_error_t where;
    json_t *tree;

    buf_char(&out, '{');
    responses_request_echo(&f->request, &out);
    buf_char(&out, '}');
    fixture_fini(f);
    assert_null(memchr(out.p, '\n', out.len));
    tree = json_loadb(out.p, out.len, JSON_REJECT_DUPLICATES, &where);
    if (tree == NULL)
        fail_msg("%s at %d in %.*s", where.text, where.position, (int)out.len, out.p);
    buf_fini(&out);
    return tree;
}

static inline json_t *echo_of(const char *body)
{
    struct fixture f;

    if (fixture_parse(&f, str_from_c(body), 0) == -1)
        fail_msg("%s (%s) for %s", f.err.msg, f.err.param, body);
    return fixture_echo(&f);
}

/* Fails unless tree is the JSON in expected; frees neither. */
static inline void assert_json(const char *name, const json_t *tree, const char *expected)
{
    json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
    char *got = tree == NULL ? NULL : json_dumps(tree, JSON_ENCODE_ANY | JSON_COMPACT);

    if (wanted == NULL)
        fail_msg("%s: the test's own JSON is broken: %s", name, expected);
    if (tree == NULL || !json_equal(tree, wanted))
        fail_msg("%s:\n got      %s\n expected %s", name, got == NULL ? "nothing" : got, expected);
    json_decref(wanted);
    free(got);
}

static inline json_t *load_json_file(const char *path)
{
    json_error_t where;
    json_t *tree = json_load_file(path, 0, &where);

    if (tree == NULL)
        fail_msg("%s: %s", path, where.text);
    return tree;
}

#endif
