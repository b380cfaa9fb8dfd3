/* fuzz_name_glob.c -- any glob and any name: judged as by a table of all ways to take the stars.
 *
 * The input is the glob, a line end, and the name. */
#include "fuzz/fuzz.h"

#include "base/name_glob.h"
#include "lib/fixture.h"

enum { MAX_NAME_BYTES = 512 };

/* fits[i]: the glob so far fits the first i bytes of the name. */
static bool fits_by_table(str glob, str name)
{
    bool fits[MAX_NAME_BYTES + 1] = {true};

    for (size_t g = 0; g < glob.len; g++) {
        bool before = fits[0];

        fits[0] = before && glob.p[g] == '*';
        for (size_t i = 1; i <= name.len; i++) {
            const bool here = fits[i];

            fits[i] = glob.p[g] == '*' ? here || fits[i - 1] : before && glob.p[g] == name.p[i - 1];
            before = here;
        }
    }
    return fits[name.len];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    str name = str_from(copy, n);
    const str glob = str_cut(&name, '\n');

    if (name.len <= MAX_NAME_BYTES) {
        fuzz_promise(name_glob_fits(glob, name) == fits_by_table(glob, name),
                     "a glob fits what it fits");
        fuzz_promise(name_is_glob(glob) || name_glob_fits(glob, name) == str_eq(glob, name),
                     "a name without a star is itself");
    }
    fuzz_promise(name_glob_literals(glob) <= glob.len, "literals are bytes of the glob");
    free(copy);
    return 0;
}
