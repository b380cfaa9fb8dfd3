/* fuzz_json.c -- any bytes: what the reader takes for JSON, jansson does as well,
 * a compact copy of it is JSON that copies to itself, and a walk finds the same values. */
#include "fuzz/fuzz.h"

#include <jansson.h>

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_walk.h"

enum verdict { READ, REFUSED, NO_VERDICT };

/* What jansson cannot hold says nothing about the text: numbers beyond a
 * double, NUL in a member's name, its own depth. A NUL ends what it reads. */
static enum verdict ask_jansson(str text)
{
    json_error_t error;
    json_t *tree = json_loadb(text.p, text.len,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);

    if (tree != NULL) {
        json_decref(tree);
        return memchr(text.p, '\0', text.len) == NULL ? READ : NO_VERDICT;
    }
    switch (json_error_code(&error)) {
    case json_error_numeric_overflow:
    case json_error_null_byte_in_key:
    case json_error_stack_overflow:
        return NO_VERDICT;
    default:
        return REFUSED;
    }
}

static void check_copy(str text)
{
    struct buf once = {0}, twice = {0};

    json_copy_value(text, &once);
    fuzz_promise(jr_is_valid(buf_str(&once)), "a copy is valid");
    fuzz_promise(ask_jansson(buf_str(&once)) != REFUSED, "jansson reads the copy");
    json_copy_value(buf_str(&once), &twice);
    fuzz_promise(str_eq(buf_str(&once), buf_str(&twice)), "a copy copies to itself");
    buf_fini(&once);
    buf_fini(&twice);
}

static void check_text(str text)
{
    struct buf escaped = {0}, plain = {0}, again = {0};

    json_text_escape(text, &escaped);
    json_text_decode(buf_str(&escaped), &plain);
    json_text_escape(buf_str(&plain), &again);
    fuzz_promise(str_eq(buf_str(&escaped), buf_str(&again)), "escape, decode, escape is escape");
    buf_fini(&escaped);
    buf_fini(&plain);
    buf_fini(&again);
}

static void check_values(struct jr *j, struct json_walk *w);

static void check_members(struct jr *j, struct json_walk *w)
{
    str name, raw_name;

    while (jr_next_member(j, &name)) {
        fuzz_promise(json_walk_member(w, &raw_name) && str_eq(raw_name, j->raw_key),
                     "the same member");
        check_values(j, w);
    }
    fuzz_promise(!json_walk_member(w, &raw_name), "the same last member");
}

static void check_elements(struct jr *j, struct json_walk *w)
{
    while (jr_next_element(j)) {
        fuzz_promise(json_walk_element(w), "one more element");
        check_values(j, w);
    }
    fuzz_promise(!json_walk_element(w), "the same last element");
}

/* Of valid text a walk finds the same values, as a whole and one by one. */
static void check_values(struct jr *j, struct json_walk *w)
{
    const enum jr_type type = jr_peek(j);
    struct json_walk passing = *w;
    struct jr reading = *j;
    const str raw = jr_raw(&reading), value = json_walk_value(&passing);

    fuzz_promise(value.p == raw.p && value.len == raw.len, "the same value");
    fuzz_promise(json_walk_peek(w) == type, "the same type");
    if (type != JR_OBJECT && type != JR_ARRAY) {
        *j = reading;
        *w = passing;
        return;
    }
    fuzz_promise(jr_enter(j, type) && json_walk_enter(w, type), "both enter");
    if (type == JR_OBJECT)
        check_members(j, w);
    else
        check_elements(j, w);
}

static void check_walk(str text)
{
    struct json_walk w = json_walk_of(text);
    struct jr j;

    jr_init(&j, text);
    check_values(&j, &w);
}

/* In text that is no JSON either, nothing but the text is looked at, and there is an end. */
static void walk_anything(str text)
{
    struct json_walk w = json_walk_of(text);
    str name;

    while (json_walk_enter(&w, JR_OBJECT) || json_walk_enter(&w, JR_ARRAY) ||
           json_walk_member(&w, &name) || json_walk_value(&w).len > 0)
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);

    check_text(text);
    walk_anything(text);
    if (jr_is_valid(text)) {
        check_copy(text);
        check_walk(text);
    } else {
        fuzz_promise(ask_jansson(text) != READ || n > JR_MAX_DEPTH, "jansson refuses it as well");
    }
    return 0;
}
