/* fuzz_model_list.c -- whatever an upstream lists, what clients get is JSON, with the same members and the
 * same entries, and what is known behind them.
 *
 * The first byte says what is known and wanted, the rest is the list. */
#include "fuzz/fuzz.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "wire/dialect/model_list.h"

static struct model_view look(void *arg, str id, str entry)
{
    const unsigned known = *(const unsigned *)arg;

    fuzz_promise(jr_type_of(entry) == JR_OBJECT, "an entry is an object");
    fuzz_promise(!str_is_none(id), "a model has a name");
    return (struct model_view){.window = (known & 1) != 0 ? 4096 : 0,
                               .at_most = (known & 2) != 0 ? 1000000000 : 0,
                               .takes_images = (known & 4) != 0,
                               .efforts = (known & 4) != 0 ? STR("low|odd|high") : STR("")};
}

static bool begins_with_m(void *arg, str id)
{
    (void)arg;
    return str_starts_with(id, STR("m"));
}

static void check_list(str said, const struct model_list_view *view)
{
    struct buf out = {.limit = 0};
    const str data = jr_member(said, STR("data"));

    if (model_list_write(said, view, &out)) {
        const str shown = buf_str(&out);

        fuzz_promise(jr_is_valid(said) && jr_type_of(data) == JR_ARRAY, "it is a list");
        fuzz_promise(jr_is_valid(shown), "what is shown is JSON");
        fuzz_promise(jr_count(jr_member(shown, STR("data"))) >= jr_count(data),
                     "no entry is missing");
        if (view->wants_catalogue)
            fuzz_promise(jr_type_of(jr_member(shown, STR("models"))) == JR_ARRAY,
                         "there is a catalogue");
        else
            fuzz_promise(jr_count(shown) == jr_count(said), "no member is missing");
    }
    buf_reset(&out);
    if (model_list_filter(said, begins_with_m, NULL, &out)) {
        fuzz_promise(jr_is_valid(buf_str(&out)), "a part is JSON");
        fuzz_promise(jr_count(jr_member(buf_str(&out), STR("data"))) <= jr_count(data),
                     "a part is no more");
    }
    buf_reset(&out);
    if (model_list_write_entry(said, view, &out)) {
        fuzz_promise(jr_is_valid(buf_str(&out)), "an entry is JSON");
        fuzz_promise(jr_count(buf_str(&out)) >= jr_count(said), "no member of it is missing");
    }
    buf_reset(&out);
    if (model_list_find(said, STR("m"), STR("a\"b"), &out))
        fuzz_promise(jr_is_valid(buf_str(&out)), "what is found is JSON");
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const aliases[] = {"alias=m", "*=m", "a\"=m", "m=n"};
    const str input = fuzz_input(bytes, n), rest = str_skip(input, 1);
    unsigned known = n == 0 ? 0 : bytes[0];
    const struct model_list_view view = {.look = look,
                                         .arg = &known,
                                         .aliases = {aliases, (known & 8) != 0 ? 4 : 0},
                                         .wants_catalogue = (known & 16) != 0};
    char *copy = exact_copy(rest);

    check_list(str_trim(str_from(copy, rest.len)), &view);
    free(copy);
    return 0;
}
