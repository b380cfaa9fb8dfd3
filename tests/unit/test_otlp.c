/* test_otlp.c -- spans, and the two forms in which they are sent. */
#include "base/version.h"
#include "json/json_read.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "trace/otlp.h"

static const struct span_limits usual = {.attributes = 128, .value_bytes = 64};

/* A span with all that one can have. */
static struct span *full_span(void)
{
    struct span *s = span_new(&usual, SPAN_CLIENT, STR("chat m"), STR("a=1"));

    if (s == NULL)
        return NULL;
    memset(s->context.trace_id, 0xab, TRACE_ID_BYTES);
    memset(s->context.span_id, 0xcd, SPAN_ID_BYTES);
    s->context.is_sampled = s->has_parent = s->has_remote_parent = s->has_link = true;
    memset(s->parent, 0xef, SPAN_ID_BYTES);
    memset(s->link.trace_id, 0x12, TRACE_ID_BYTES);
    memset(s->link.span_id, 0x91, SPAN_ID_BYTES);
    s->start_ns = 1700000000123456789;
    s->end_ns = 1700000001123456789;
    span_text(s, "text", STR("\"\xc3\xa4\""));
    span_texts(s, "list", STR("one"));
    span_texts(s, "list", STR("two"));
    span_int(s, "number", -5);
    span_double(s, "fraction", 0.5);
    span_bool(s, "truth", true);
    span_error(s, STR("timeout"));
    return s;
}

static struct span *new_resource(void)
{
    struct span *r = span_new(&usual, SPAN_INTERNAL, STR(""), STR_NONE);

    span_text(r, "service.name", STR("gw"));
    return r;
}

/* ---- a decoder of protobuf, as text: {1:{1:{ ... */

static uint64_t varint(str *rest)
{
    uint64_t n = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(rest->len > 0);
        const unsigned char byte = (unsigned char)rest->p[0];

        *rest = str_skip(*rest, 1);
        n |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return n;
    }
}

/* Names of fields that hold messages, by the path of numbers that leads to them. */
static bool is_message(const char *path)
{
    static const char *const messages[] = {
        ".1",        ".1.1",      ".1.1.1",         ".1.1.1.2",   ".1.2",
        ".1.2.1",    ".1.2.2",    ".1.2.2.9",       ".1.2.2.9.2", ".1.2.2.9.2.5",
        ".1.2.2.13", ".1.2.2.15", ".1.2.2.9.2.5.1",
    };

    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        if (strcmp(messages[i], path) == 0)
            return true;
    }
    return false;
}

static void show_message(str bytes, const char *path, struct buf *out)
{
    while (bytes.len > 0) {
        const uint64_t tag = varint(&bytes);
        char own[64];
        size_t len = 0;

        (void)snprintf(own, sizeof(own), "%s.%u", path, (unsigned)(tag >> 3));
        buf_uint(out, tag >> 3);
        buf_char(out, ':');
        if ((tag & 7) == 0) {
            buf_int(out, (int64_t)varint(&bytes));
        } else {
            len = (tag & 7) == 2 ? (size_t)varint(&bytes) : (tag & 7) == 1 ? 8 : 4;
            assert_true(len <= bytes.len);
            if (is_message(own)) {
                buf_char(out, '{');
                show_message(str_from(bytes.p, len), own, out);
                buf_char(out, '}');
            } else if ((tag & 7) == 2 && str_is_visible(str_from(bytes.p, len))) {
                buf_append(out, str_from(bytes.p, len));
            } else {
                buf_hex(out, (const unsigned char *)bytes.p, len);
            }
            bytes = str_skip(bytes, len);
        }
        buf_char(out, ' ');
    }
}

static void protobuf_has_all_of_a_span(void **state)
{
    struct span *s = full_span(), *r = new_resource();
    struct buf bytes = {.limit = 0}, shown = {.limit = 0};

    (void)state;
    otlp_protobuf_write(r, s, &bytes);
    show_message(buf_str(&bytes), "", &shown);
    assert_str_c(buf_str(&shown),
                 "1:{1:{1:{1:service.name 2:{1:gw } } } "
                 "2:{1:{1:antiphon 2:" ANTIPHON_VERSION " } "
                 "2:{1:abababababababababababababababab 2:cdcdcdcdcdcdcdcd 3:a=1 "
                 "4:efefefefefefefef 5:63686174206d 6:3 7:15cd853dfe9c9717 8:15972079fe9c9717 "
                 "9:{1:text 2:{1:22c3a422 } } "
                 "9:{1:list 2:{5:{1:{1:one } 1:{1:two } } } } "
                 "9:{1:number 2:{3:-5 } } "
                 "9:{1:fraction 2:{4:000000000000e03f } } "
                 "9:{1:truth 2:{2:1 } } "
                 "9:{1:error.type 2:{1:timeout } } "
                 "13:{1:12121212121212121212121212121212 2:9191919191919191 } "
                 "15:{3:2 } 16:01030000 } } } ");
    buf_fini(&bytes);
    buf_fini(&shown);
    span_free(s);
    span_free(r);
}

static void json_has_all_of_a_span(void **state)
{
    struct span *s = full_span(), *r = new_resource();
    struct buf text = {.limit = 0};

    (void)state;
    otlp_json_write(r, s, &text);
    assert_true(jr_is_valid(buf_str(&text)));
    assert_str_c(
        buf_str(&text),
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
        "{\"stringValue\":\"gw\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"antiphon\",\"version\":"
        "\"" ANTIPHON_VERSION "\"},\"spans\":[{\"traceId\":\"abababababababababababababababab\","
        "\"spanId\":\"cdcdcdcdcdcdcdcd\",\"traceState\":\"a=1\",\"parentSpanId\":"
        "\"efefefefefefefef\",\"name\":\"chat m\",\"kind\":3,\"startTimeUnixNano\":"
        "\"1700000000123456789\",\"endTimeUnixNano\":\"1700000001123456789\",\"attributes\":["
        "{\"key\":\"text\",\"value\":{\"stringValue\":\"\\\"\xc3\xa4\\\"\"}},"
        "{\"key\":\"list\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"one\"},"
        "{\"stringValue\":\"two\"}]}}},"
        "{\"key\":\"number\",\"value\":{\"intValue\":\"-5\"}},"
        "{\"key\":\"fraction\",\"value\":{\"doubleValue\":0.5}},"
        "{\"key\":\"truth\",\"value\":{\"boolValue\":true}},"
        "{\"key\":\"error.type\",\"value\":{\"stringValue\":\"timeout\"}}],"
        "\"links\":[{\"traceId\":\"12121212121212121212121212121212\",\"spanId\":"
        "\"9191919191919191\"}],\"status\":{\"code\":2},\"flags\":769}]}]}]}");
    buf_fini(&text);
    span_free(s);
    span_free(r);
}

/* Lengths of one byte, of two and of three. */
static void lengths_of_any_size_are_written(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 127, 128, 129, 16383, 16384, 70000};
    const struct span_limits none = {.attributes = 0, .value_bytes = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct span *s = span_new(&none, SPAN_SERVER, STR("n"), STR_NONE), *r = new_resource();
        struct buf text = {.limit = 0}, bytes = {.limit = 0}, shown = {.limit = 0};

        while (text.len < sizes[i])
            buf_char(&text, 'x');
        span_text(s, "k", buf_str(&text));
        otlp_protobuf_write(r, s, &bytes);
        show_message(buf_str(&bytes), "", &shown);
        assert_true(str_find(buf_str(&shown), buf_str(&text)) < shown.len);
        assert_true(str_find(buf_str(&shown), STR("16:00010000")) < shown.len);
        buf_fini(&text);
        buf_fini(&bytes);
        buf_fini(&shown);
        span_free(s);
        span_free(r);
    }
}

/* ---- limits */

static void texts_are_cut_between_characters(void **state)
{
    const struct span_limits five = {.value_bytes = 5};
    struct span *s = span_new(&five, SPAN_SERVER, STR("n"), STR_NONE);

    (void)state;
    span_text(s, "a", STR("1234\xc3\xa4"));
    span_text(s, "b", STR("123\xc3\xa4"));
    span_text(s, "c", STR("\xff\xff\xff"));
    span_text(s, "d", STR_NONE);
    span_escaped(s, "e", STR("a\\n\\u0041\\\\bcdef"));
    span_escaped(s, "f", STR("plain text"));
    assert_int_equal(s->n_attributes, 5);
    assert_str_c(span_value_text(s, &s->attributes[0]), "1234");
    assert_str_c(span_value_text(s, &s->attributes[1]), "123\xc3\xa4");
    assert_str_c(span_value_text(s, &s->attributes[2]), "\xef\xbf\xbd");
    assert_str_c(span_value_text(s, &s->attributes[3]), "a\nA\\b");
    assert_str_c(span_value_text(s, &s->attributes[4]), "plain");
    span_free(s);
}

/* Whatever its length: no escape is cut in the middle. */
static void long_escaped_texts_are_cut_at_any_place(void **state)
{
    const struct span_limits seven = {.value_bytes = 7};
    struct buf text = {.limit = 0}, plain = {.limit = 0};

    (void)state;
    for (unsigned i = 0; i < 40; i++)
        buf_c(&text, i % 3 == 0 ? "\\u00e4" : i % 3 == 1 ? "\\\\" : "\\n");
    for (size_t from = 0; from < text.len; from++) {
        const str part = str_skip(buf_str(&text), from);
        struct span *s;

        if (!jr_is_string_content(part))
            continue;
        s = span_new(&seven, SPAN_SERVER, STR("n"), STR_NONE);
        span_escaped(s, "a", part);
        assert_true(span_value_text(s, &s->attributes[0]).len >= 1);
        assert_true(span_value_text(s, &s->attributes[0]).len <= 7);
        span_free(s);
    }
    buf_fini(&text);
    buf_fini(&plain);
}

static void attributes_over_the_limit_are_counted(void **state)
{
    const struct span_limits three = {.attributes = 3};
    struct span *s = span_new(&three, SPAN_SERVER, STR("n"), STR_NONE);
    struct span *most = span_new(&usual, SPAN_SERVER, STR("n"), STR_NONE);

    (void)state;
    for (int i = 0; i < 5; i++)
        span_int(s, "n", i);
    span_texts(s, "t", STR("x"));
    assert_int_equal(s->n_attributes, 3);
    assert_int_equal(s->n_dropped, 3);
    for (int i = 0; i < 3 * SPAN_ATTRIBUTES; i++)
        span_int(most, "n", i);
    assert_int_equal(most->n_attributes, SPAN_ATTRIBUTES);
    span_free(s);
    span_free(most);
}

static void who_leaves_has_not_failed(void **state)
{
    static const struct {
        const char *type;
        bool is_error;
    } cases[] = {{"client_gone", false}, {"cancelled", false}, {"500", true}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct span *s = span_new(&usual, SPAN_SERVER, STR("n"), STR_NONE);

        span_error(s, str_from_c(cases[i].type));
        assert_int_equal(s->is_error, cases[i].is_error);
        assert_str_c(span_value_text(s, &s->attributes[0]), cases[i].type);
        span_free(s);
    }
}

static void there_need_not_be_a_span(void **state)
{
    (void)state;
    span_text(NULL, "a", STR("b"));
    span_texts(NULL, "a", STR("b"));
    span_escaped(NULL, "a", STR("b"));
    span_int(NULL, "a", 1);
    span_double(NULL, "a", 1);
    span_bool(NULL, "a", true);
    span_error(NULL, STR("a"));
    span_free(NULL);
}

/* ---- memory */

static void whatever_fails_what_is_left_is_whole(void **state)
{
    struct span *r = new_resource();
    bool has_failed = true;

    (void)state;
    for (long n = 0; has_failed; n++) {
        struct buf bytes = {.limit = 0}, text = {.limit = 0}, shown = {.limit = 0};
        struct span *s;

        failing_malloc_begin(n, FAILS_FOR_GOOD);
        s = full_span();
        if (s != NULL) {
            otlp_protobuf_write(r, s, &bytes);
            otlp_json_write(r, s, &text);
        }
        has_failed = failing_malloc_end();
        if (s != NULL && !buf_failed(&bytes)) {
            show_message(buf_str(&bytes), "", &shown);
            assert_true(shown.len > 0);
        }
        assert_true(s == NULL || buf_failed(&text) || jr_is_valid(buf_str(&text)));
        buf_fini(&bytes);
        buf_fini(&text);
        buf_fini(&shown);
        span_free(s);
    }
    span_free(r);
}

/* ---- answers */

static void refused_spans_are_counted(void **state)
{
    static const char partial[] = "\x0a\x08\x08\x83\x02\x12\x03"
                                  "bad";

    (void)state;
    assert_int_equal(otlp_protobuf_rejected(STR("")), 0);
    assert_int_equal(otlp_protobuf_rejected(str_from(partial, sizeof(partial) - 1)), 259);
    assert_int_equal(otlp_json_rejected(STR("{}")), 0);
    assert_int_equal(otlp_json_rejected(STR("")), 0);
    assert_int_equal(otlp_json_rejected(STR("{\"partialSuccess\":{\"rejectedSpans\":\"259\"}}")),
                     259);
    assert_int_equal(otlp_json_rejected(STR("{\"partialSuccess\":{\"rejectedSpans\":3}}")), 3);
    assert_int_equal(otlp_json_rejected(STR("{\"partialSuccess\":{\"rejectedSpans\":-3}}")), 0);
    assert_int_equal(otlp_json_rejected(STR("{\"partialSuccess\":{\"rejectedSpans\":\"x\"}}")), 0);
    assert_int_equal(otlp_json_rejected(STR("<html>")), 0);
}

static void no_beginning_of_an_answer_is_read_past_its_end(void **state)
{
    static const char partial[] = "\x0a\x08\x08\x83\x02\x12\x03"
                                  "bad\x15\x01\x02\x03\x04\x19\x01";

    (void)state;
    for (size_t n = 0; n < sizeof(partial); n++) {
        char *copy = exact_copy(str_from(partial, n));
        const uint64_t rejected = otlp_protobuf_rejected(str_from(copy, n));

        assert_true(rejected == 0 || (rejected == 259 && n >= 10));
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protobuf_has_all_of_a_span),
        cmocka_unit_test(json_has_all_of_a_span),
        cmocka_unit_test(lengths_of_any_size_are_written),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(long_escaped_texts_are_cut_at_any_place),
        cmocka_unit_test(attributes_over_the_limit_are_counted),
        cmocka_unit_test(who_leaves_has_not_failed),
        cmocka_unit_test(there_need_not_be_a_span),
        cmocka_unit_test(whatever_fails_what_is_left_is_whole),
        cmocka_unit_test(refused_spans_are_counted),
        cmocka_unit_test(no_beginning_of_an_answer_is_read_past_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
