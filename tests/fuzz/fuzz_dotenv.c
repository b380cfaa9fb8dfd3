/* fuzz_dotenv.c -- any file .env: reading it comes to its end, every name is one, and what is no
 * assignment is counted. */
#include "fuzz/fuzz.h"

#include "config/dotenv.h"
#include "lib/fixture.h"

struct known {
    str name; /* of the last assignment, a view of the text */
    struct buf value;
};

static str look_up(void *arg, str name)
{
    struct known *k = arg;

    return !str_is_none(k->name) && str_eq(name, k->name) ? buf_str(&k->value) : STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    struct dotenv d = dotenv_of(str_from(copy, n));
    struct known known = {.name = STR_NONE};
    struct buf value = {.limit = 4096};
    size_t left = n + 1;
    str name;

    while (dotenv_next(&d, look_up, &known, &name, &value)) {
        fuzz_promise(d.rest.len < left, "every assignment takes something off");
        left = d.rest.len;
        fuzz_promise(name.len > 0 && str_find_char(name, '=') == name.len &&
                         str_find_char(name, '\n') == name.len,
                     "a name is a word");
        fuzz_promise(name.p >= copy && name.p + name.len <= copy + n, "a name is of the text");
        known.name = name;
        buf_reset(&known.value);
        if (!buf_failed(&value))
            buf_append(&known.value, buf_str(&value));
        buf_reset(&value);
    }
    fuzz_promise(d.rest.len == 0, "the end is reached");
    fuzz_promise((d.n_bad == 0) == (d.bad_line == 0), "the first bad line is known");
    buf_fini(&value);
    buf_fini(&known.value);
    free(copy);
    return 0;
}
