/* test_json_differential.c -- our reader and jansson agree on what is JSON, on
 * strings and on numbers, over texts picked by hand and made by chance.
 *
 * Where they may differ: lone surrogates (valid to us, replaced when decoded;
 * jansson refuses them), the limit of depth (128; jansson 2048), numbers too
 * large for a C type and NUL in a name (jansson refuses them; we keep text). */
#include "lib/test.h"

#include <jansson.h>

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"

static bool is_excused(const json_error_t *e)
{
    return json_error_code(e) == json_error_numeric_overflow ||
           json_error_code(e) == json_error_null_byte_in_key ||
           strstr(e->text, "Unicode escape '\\uD") != NULL ||
           strstr(e->text, "invalid Unicode '\\uD") != NULL ||
           strstr(e->text, "invalid Unicode escape '\\uD") != NULL;
}

/* ---- the same values */

static bool same_values(struct jr *j, json_t *expected);

static bool same_members(struct jr *j, json_t *expected)
{
    size_t n = 0;
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return false;
    while (jr_next_member(j, &key)) {
        json_t *value = json_object_getn(expected, key.p, key.len);

        n++;
        if (value == NULL || !same_values(j, value))
            return false;
    }
    return n == json_object_size(expected);
}

static bool same_elements(struct jr *j, json_t *expected)
{
    size_t n = 0;

    if (!jr_enter(j, JR_ARRAY))
        return false;
    while (jr_next_element(j)) {
        if (!same_values(j, json_array_get(expected, n++)))
            return false;
    }
    return n == json_array_size(expected);
}

static bool same_string(str escaped, json_t *expected)
{
    str text = str_from(json_string_value(expected), json_string_length(expected));
    struct buf out = {.limit = 0};
    bool same;

    json_text_decode(escaped, &out);
    same = str_eq(buf_str(&out), text) && json_text_eq(escaped, text);
    buf_fini(&out);
    return same;
}

/* Ours are exact below 2^53 and refused from there on. */
static bool same_integer(struct jr *j, json_int_t expected)
{
    const json_int_t limit = (json_int_t)1 << 53;
    json_int_t got = jr_int(j, ~expected);

    return got == (expected > -limit && expected < limit ? expected : ~expected);
}

static bool same_values(struct jr *j, json_t *expected)
{
    switch (json_typeof(expected)) {
    case JSON_OBJECT:
        return same_members(j, expected);
    case JSON_ARRAY:
        return same_elements(j, expected);
    case JSON_STRING:
        return same_string(jr_string(j), expected);
    case JSON_INTEGER:
        return same_integer(j, json_integer_value(expected));
    case JSON_REAL:
        return jr_number_value(jr_raw(j)) == json_real_value(expected);
    case JSON_TRUE:
        return jr_bool(j, false);
    case JSON_FALSE:
        return !jr_bool(j, true);
    default:
        return jr_type_of(jr_raw(j)) == JR_NULL;
    }
}

static void check_values(str text, json_t *expected)
{
    struct jr j;

    jr_init(&j, text);
    if (!same_values(&j, expected) || !jr_end(&j))
        fail_msg("read differently: %.*s", STR_ARG(text));
}

/* What jansson makes of a text; NULL also where a name occurs twice, of which
 * it keeps one only. */
static json_t *read_unambiguous(str text)
{
    return json_loadb(text.p, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES,
                      NULL);
}

static void check_text(str text)
{
    char *exact = exact_copy(text);
    str s = str_from(exact, text.len);
    json_error_t error;
    json_t *value = json_loadb(text.p, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    struct buf compact = {.limit = 0};

    if (value != NULL && !jr_is_valid(s))
        fail_msg("only jansson accepts: %.*s", STR_ARG(text));
    if (value == NULL && jr_is_valid(s) && !is_excused(&error))
        fail_msg("only we accept: %.*s (jansson: %s)", STR_ARG(text), error.text);
    json_decref(value);
    value = read_unambiguous(text);
    if (value != NULL) {
        check_values(s, value);
        json_copy_value(s, &compact);
        check_values(buf_str(&compact), value);
    }
    json_decref(value);
    buf_fini(&compact);
    free(exact);
}

/* ---- texts picked by hand */

static const str picked[] = {
    STR_INIT(""),
    STR_INIT(" "),
    STR_INIT("null"),
    STR_INIT("nul"),
    STR_INIT("nulll"),
    STR_INIT("True"),
    STR_INIT("NaN"),
    STR_INIT("Infinity"),
    STR_INIT("0"),
    STR_INIT("-0"),
    STR_INIT("00"),
    STR_INIT("01"),
    STR_INIT("-"),
    STR_INIT("+1"),
    STR_INIT("1."),
    STR_INIT(".5"),
    STR_INIT("1.5"),
    STR_INIT("1.5e"),
    STR_INIT("1e5"),
    STR_INIT("1E+5"),
    STR_INIT("1e-5"),
    STR_INIT("1e+"),
    STR_INIT("0x10"),
    STR_INIT("1e308"),
    STR_INIT("1e309"),
    STR_INIT("1e-400"),
    STR_INIT("123456789012345678901234567890"),
    STR_INIT("0.1"),
    STR_INIT("9007199254740993"),
    STR_INIT("-9223372036854775808"),
    STR_INIT("\"\""),
    STR_INIT("\"a"),
    STR_INIT("\"\\\""),
    STR_INIT("\"\\x\""),
    STR_INIT("\"\\u12\""),
    STR_INIT("\"\\u12G4\""),
    STR_INIT("\"\\u0000\""),
    STR_INIT("\"\\u00e9\""),
    STR_INIT("\"\\ud83d\\ude00\""),
    STR_INIT("\"\\ud83d\""),
    STR_INIT("\"\\ude00\""),
    STR_INIT("\"\\ud83d\\u0041\""),
    STR_INIT("\"\t\""),
    STR_INIT("\"\n\""),
    STR_INIT("\"\0\""),
    STR_INIT("\"\x7F\""),
    STR_INIT("\"\x80\""),
    STR_INIT("\"\xC3\xA9\""),
    STR_INIT("\"\xC0\x80\""),
    STR_INIT("\"\xED\xA0\x80\""),
    STR_INIT("\"\xF4\x90\x80\x80\""),
    STR_INIT("\"\xF0\x9F\x98\x80\""),
    STR_INIT("\"\xE2\x82\""),
    STR_INIT("'a'"),
    STR_INIT("[]"),
    STR_INIT("[,]"),
    STR_INIT("[1,]"),
    STR_INIT("[1 2]"),
    STR_INIT("[1,,2]"),
    STR_INIT("[1"),
    STR_INIT("]"),
    STR_INIT("[]]"),
    STR_INIT("[}"),
    STR_INIT("{}"),
    STR_INIT("{,}"),
    STR_INIT("{\"a\"}"),
    STR_INIT("{\"a\":}"),
    STR_INIT("{\"a\":1,}"),
    STR_INIT("{\"a\":1 \"b\":2}"),
    STR_INIT("{a:1}"),
    STR_INIT("{1:1}"),
    STR_INIT("{\"a\" 1}"),
    STR_INIT("{\"a\":1}{"),
    STR_INIT("{\"a\":1,\"a\":2}"),
    STR_INIT("{\"\":0}"),
    STR_INIT("\xEF\xBB\xBF{}"),
    STR_INIT("{}\0"),
    STR_INIT("\f1"),
    STR_INIT("\xC2\xA0"
             "1"),
    STR_INIT("/**/1"),
    STR_INIT("[1]//"),
    STR_INIT("{\"\\u0061\":1}"),
    STR_INIT("[[[[[[[[[[{\"a\":[{}]}]]]]]]]]]]"),
};

static void picked_texts_are_read_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(picked); i++)
        check_text(picked[i]);
}

/* ---- texts made by chance */

static void make_value(struct chance *c, int depth, struct buf *out);

static void make_string(struct chance *c, struct buf *out)
{
    static const char *const units[] = {"a",
                                        "Z",
                                        " ",
                                        "/",
                                        "\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\/",
                                        "\\u0041",
                                        "\\u00E9",
                                        "\\ud83d\\ude00",
                                        "\\u2028",
                                        "\xC3\xA9",
                                        "\xE2\x80\xA8",
                                        "\xF0\x9F\x98\x80",
                                        "\\u0000"};

    buf_char(out, '"');
    for (uint32_t n = chance_below(c, 6); n > 0; n--)
        buf_c(out, units[chance_below(c, COUNT_OF(units))]);
    buf_char(out, '"');
}

static void make_list(struct chance *c, int depth, bool is_object, struct buf *out)
{
    uint32_t n = chance_below(c, 4);

    buf_char(out, is_object ? '{' : '[');
    for (uint32_t i = 0; i < n; i++) {
        buf_c(out, i == 0 ? "" : ", ");
        if (is_object) {
            make_string(c, out);
            buf_c(out, chance_below(c, 2) == 0 ? ":" : " : ");
        }
        make_value(c, depth + 1, out);
    }
    buf_char(out, is_object ? '}' : ']');
}

static void make_value(struct chance *c, int depth, struct buf *out)
{
    static const char *const scalars[] = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-1",
                                          "12.50",
                                          "1e3",
                                          "-0",
                                          "0.1",
                                          "2E-7",
                                          "123456789012345678"};
    uint32_t kind = chance_below(c, depth > 5 ? 4 : 8);

    if (kind < 2)
        buf_c(out, scalars[chance_below(c, COUNT_OF(scalars))]);
    else if (kind < 4)
        make_string(c, out);
    else
        make_list(c, depth, kind % 2 == 0, out);
}

/* A text with one byte changed, dropped or doubled is mostly no JSON any more. */
static void spoil(struct chance *c, struct buf *text)
{
    static const char bytes[] = "{}[]\",:\\u0123eE+-. \t\ntfn\x80\xC3\xFF";
    size_t at = chance_below(c, (uint32_t)text->len);

    if (chance_below(c, 3) == 0) {
        memmove(text->p + at, text->p + at + 1, text->len - at - 1);
        text->len--;
    } else {
        text->p[at] = bytes[chance_below(c, sizeof(bytes) - 1)];
    }
}

static void texts_made_by_chance_are_read_alike(void **state)
{
    struct chance chance = {.state = 42};

    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct buf text = {.limit = 0};

        make_value(&chance, 0, &text);
        check_text(buf_str(&text));
        for (int k = 0; k < 4 && text.len > 0; k++) {
            spoil(&chance, &text);
            check_text(buf_str(&text));
        }
        buf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picked_texts_are_read_alike),
        cmocka_unit_test(texts_made_by_chance_are_read_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
