/* fuzz_chat_chunk.c -- any bytes as one chunk: read within their bounds, and a
 * chunk that says the same in other JSON gives the same reading.
 *
 * jansson writes the chunk again, without white space and with every character
 * that is not ASCII escaped. Numbers it may spell otherwise, so chunks with
 * others than plain integers are only read. The last byte of the input chooses
 * the options; it may also be part of the chunk. */
#include "fuzz/fuzz.h"

#include <jansson.h>

#include "lib/fixture.h"
#include "wire/chunk/chat_chunk.h"

enum { LONG_NAME_BYTES = 40 };

/* What was said, with all escapes taken off, so that it can be compared. */
struct reading {
    struct buf kinds;   /* of the deltas, in order, repetitions left out */
    struct buf text[5]; /* by kind */
    struct buf end;
    bool is_json;
    bool has_long_name; /* escaped, it may pass the limit of names */
};

static void on_delta(void *arg, const struct delta *d)
{
    struct reading *r = arg;
    struct buf *text = &r->text[d->kind];
    char kind = (char)('a' + d->kind);

    r->has_long_name = r->has_long_name || d->name.len > LONG_NAME_BYTES;
    if (r->kinds.len == 0 || r->kinds.p[r->kinds.len - 1] != kind)
        buf_char(&r->kinds, kind);
    buf_char(text, d->kind == DELTA_CALL ? '#' : '.');
    buf_uint(text, d->call);
    json_text_decode(d->call_id, text);
    json_text_decode(d->name, text);
    json_text_decode(d->text, text);
    json_text_decode(d->citation.url, text);
    json_text_decode(d->citation.title, text);
    buf_int(text, d->citation.start);
    buf_int(text, d->citation.end);
}

static struct reading read_chunk(str json, uint8_t options)
{
    char *exact = exact_copy(json);
    struct reading r = {.is_json = false};
    const struct model_text_conf text = {.think =
                                             (options & 1) != 0 ? MODEL_THINK_ON : MODEL_THINK_OFF};
    struct chat_reader reader;

    chat_reader_init(&reader, &text, false, on_delta, &r);
    r.is_json = chat_reader_chunk(&reader, str_from(exact, json.len),
                                  (options & 2) != 0 ? STR("error") : STR(""));
    free(exact); /* nothing may point into it any more */
    chat_reader_end(&reader);
    buf_uint(&r.end, reader.finish);
    buf_char(&r.end, reader.failed ? 'f' : '-');
    buf_int(&r.end, reader.usage.input);
    buf_char(&r.end, ',');
    buf_int(&r.end, reader.usage.output);
    json_text_decode(buf_str(&reader.service_tier), &r.end);
    chat_reader_fini(&reader);
    return r;
}

static void reading_fini(struct reading *r)
{
    buf_fini(&r->kinds);
    for (size_t i = 0; i < sizeof(r->text) / sizeof(*r->text); i++)
        buf_fini(&r->text[i]);
    buf_fini(&r->end);
}

static bool is_same(const struct reading *a, const struct reading *b)
{
    bool same = str_eq(buf_str(&a->kinds), buf_str(&b->kinds)) &&
                str_eq(buf_str(&a->end), buf_str(&b->end));

    for (size_t i = 0; i < sizeof(a->text) / sizeof(*a->text); i++)
        same = same && str_eq(buf_str(&a->text[i]), buf_str(&b->text[i]));
    return same;
}

static bool has_odd_number(const json_t *tree)
{
    json_t *value;
    size_t i;

    if (json_is_real(tree) || (json_is_integer(tree) && json_integer_value(tree) == 0))
        return true; /* -0 is not 0 as text */
    for (void *at = json_object_iter((json_t *)(uintptr_t)tree); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)tree, at)) {
        if (has_odd_number(json_object_iter_value(at)))
            return true;
    }
    json_array_foreach(tree, i, value)
    {
        if (has_odd_number(value))
            return true;
    }
    return false;
}

/* The chunk in other JSON: a new string, or NULL. */
static char *write_again(str json)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *tree = json_loadb(json.p, json.len, flags, NULL);
    char *text = NULL;

    if (tree != NULL && !has_odd_number(tree))
        text = json_dumps(tree, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    json_decref(tree);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    uint8_t options = n == 0 ? 0 : bytes[n - 1];
    str json = fuzz_input(bytes, n);
    struct reading first = read_chunk(json, options), again;
    char *text = first.is_json && !first.has_long_name ? write_again(json) : NULL;

    if (!first.is_json)
        fuzz_promise(first.kinds.len == 0, "nothing is reported of what is no JSON");
    if (text != NULL) {
        again = read_chunk(str_from_c(text), options);
        fuzz_promise(again.is_json && is_same(&first, &again), "other JSON has the same reading");
        reading_fini(&again);
    }
    reading_fini(&first);
    free(text);
    return 0;
}
