/* fuzz_mcp_env.c -- any env file: what is read from it can be an environment, and
 * read again from there it is the same. */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "lib/fixture.h"
#include "mcp/conf/mcp_env.h"
#include "mcp/conf/mcp_env_file.h"

/* The single-quoted form of a value can hold everything but a quote and a line end. */
static bool on_var(void *arg, str name, str value)
{
    struct buf *out = arg;

    fuzz_promise(name.len > 0 && str_find_char(name, '=') == name.len, "a name is one");
    fuzz_promise(str_find_char(value, '\0') == value.len, "a value is a C string");
    if (str_find_char(value, '\'') < value.len || str_find_char(value, '\n') < value.len)
        return true;
    buf_append(out, name);
    buf_c(out, "='");
    buf_append(out, value);
    buf_c(out, "'\n");
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    struct arena a = {.limit = 0};
    struct buf once = {.limit = 0}, twice = {.limit = 0};
    struct err err = {.code = ERR_NONE};
    int rc = mcp_env_file_read(text, on_var, &once, &err);
    const char *const *env = mcp_env_build(&(struct mcp_env_source){.file = text}, &a, NULL);

    fuzz_promise((rc == -1) == (err.code != ERR_NONE), "an error has a message");
    fuzz_promise((rc == -1) == (env == NULL), "a readable file is an environment");
    for (; env != NULL && *env != NULL; env++)
        fuzz_promise(strchr(*env, '=') > *env, "a variable has a name and a value");
    fuzz_promise(mcp_env_file_read(buf_str(&once), on_var, &twice, NULL) == 0 &&
                     str_eq(buf_str(&once), buf_str(&twice)),
                 "what was read can be written and read again");
    buf_fini(&once);
    buf_fini(&twice);
    arena_fini(&a);
    return 0;
}
