/* fuzz_schema_ts.c -- any JSON as a schema: the type it becomes is text, in proportion to it, and
 * the same each time; made harmless for a prompt it stays so. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "json/json_read.h"
#include "text/harmony_text.h"
#include "text/schema_ts.h"

/* A variant of two bytes takes a line of its own, indented by four spaces a level at most. */
enum { MOST_BYTES_A_BYTE = 4 * SCHEMA_TS_MAX_DEPTH / 2 + 8, MORE_BYTES = 4096 };

static void check_harmless(str text)
{
    struct buf once = {0}, twice = {0};

    harmony_neutralise(text, &once);
    harmony_neutralise(buf_str(&once), &twice);
    fuzz_promise(str_eq(buf_str(&once), buf_str(&twice)), "harmless text stays as it is");
    fuzz_promise(str_find(buf_str(&once), STR("<|end|>")) == once.len, "no token is left");
    buf_fini(&once);
    buf_fini(&twice);
}

static void check_type(str schema)
{
    struct buf type = {0}, again = {0};

    schema_ts_write(schema, &type);
    fuzz_promise(!buf_failed(&type) && type.len > 0, "there is always a type");
    fuzz_promise(type.len <= MOST_BYTES_A_BYTE * schema.len + MORE_BYTES, "in proportion");
    fuzz_promise(utf8_is_valid(buf_str(&type)), "UTF-8");
    schema_ts_write(schema, &again);
    fuzz_promise(str_eq(buf_str(&type), buf_str(&again)), "the same each time");
    check_harmless(buf_str(&type));
    buf_fini(&type);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);

    check_harmless(text);
    if (jr_is_valid(text))
        check_type(text);
    return 0;
}
