/* compact_fixture.h -- compaction without keys: a seal that looks up what is inside, and one that
 * leaves it readable. */
#ifndef ANTIPHON_TESTS_COMPACT_FIXTURE_H
#define ANTIPHON_TESTS_COMPACT_FIXTURE_H

#include "request_fixture.h"

#include "compact/compact_item.h"
#include "compact/compact_question.h"
#include "compact/compact_read.h"
#include "wire/request/request_compact.h"

/* arg: an object of what is inside, by encrypted_content. What is not in it is foreign. */
static inline bool opened_find(void *arg, str sealed, struct arena *a, str *ret)
{
    json_t *inside = json_object_getn(arg, sealed.p, sealed.len);
    char *text = inside == NULL ? NULL : json_dumps(inside, JSON_COMPACT);

    if (text == NULL)
        return false;
    *ret = arena_dup(a, str_from_c(text));
    free(text);
    return !str_is_none(*ret);
}

/* "open:" and hex digits: characters that need no escape, as those of a seal. */
static inline bool plain_close(void *arg, str text, struct buf *out)
{
    (void)arg;
    buf_c(out, "open:");
    buf_hex(out, (const unsigned char *)text.p, text.len);
    return !buf_failed(out);
}

static inline int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static inline bool plain_open(void *arg, str sealed, struct arena *a, str *ret)
{
    const str digits = str_skip(sealed, strlen("open:"));
    char *text;

    (void)arg;
    if (!str_starts_with(sealed, STR("open:")))
        return false;
    text = arena_alloc(a, digits.len / 2 + 1);
    if (text == NULL)
        return false;
    for (size_t i = 0; i < digits.len / 2; i++)
        text[i] = (char)(hex_value(digits.p[2 * i]) * 16 + hex_value(digits.p[2 * i + 1]));
    *ret = str_from(text, digits.len / 2);
    return true;
}

static const struct text_seal plain_seal = {plain_close, plain_open, NULL};

/* Parses a body whose compaction items this seal opens. */
static inline int fixture_parse_sealed(struct fixture *f, const struct text_seal *seal, str body)
{
    const struct responses_request_options options = {.default_model = STR_NONE,
                                                      .compaction = {.seal = seal}};

    return fixture_complete(f, &options, body, &(struct request_history){.n = 0}, 0);
}

/* A question, in the arena. */
static inline str fixture_question(struct fixture *f, const struct compact_question *q)
{
    struct buf text = {0};
    str question;

    compact_question_write(q, &text);
    question = arena_dup(&f->arena, buf_str(&text));
    assert_false(str_is_none(question));
    buf_fini(&text);
    return question;
}

#endif
