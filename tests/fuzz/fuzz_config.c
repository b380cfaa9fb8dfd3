/* fuzz_config.c -- any file, environment and command line: refused with messages
 * that can be shown, or loaded, and then the same when what config_show() wrote
 * is loaded again.
 *
 * The input is the text of the file, a line %%, the variables, one a line, a
 * line %%, and the words of the command line, one a line. */
#include "fuzz/fuzz.h"

#include "config/config.h"
#include "lib/fixture.h"

enum { MAX_WORDS = 64 };

struct input {
    char *text; /* the file, then NUL-terminated words */
    str file;
    const char *env[MAX_WORDS + 1], *args[MAX_WORDS];
    int n_args;
};

struct result {
    int rc;
    struct config config;
    struct config_problems problems;
    struct buf lines, shown;
};

/* Cuts what is before the next line %%, that line included, off rest. */
static str next_section(str *rest)
{
    size_t n = str_find(*rest, STR("\n%%\n"));
    str section = str_from(rest->p, n);

    *rest = str_skip(*rest, n + strlen("\n%%\n"));
    return section;
}

/* The lines of a section as words, ended in place. Returns how many. */
static int cut_words(char *text, str section, const char **words)
{
    int n = 0;
    size_t at = (size_t)(section.p - text), end = at + section.len;

    while (at < end && n < MAX_WORDS) {
        size_t length = str_find_char(str_from(text + at, end - at), '\n');

        text[at + length] = '\0';
        words[n++] = text + at;
        at += length + 1;
    }
    return n;
}

static void input_init(struct input *in, str bytes)
{
    str rest, env;

    *in = (struct input){.text = malloc(bytes.len + 1)};
    fuzz_promise(in->text != NULL, "there is memory");
    memcpy(in->text, bytes.p, bytes.len);
    in->text[bytes.len] = '\0';
    rest = str_from(in->text, bytes.len);
    in->file = next_section(&rest);
    env = next_section(&rest);
    (void)cut_words(in->text, env, in->env);
    in->n_args = cut_words(in->text, rest, in->args);
}

static void result_load(struct result *r, const struct config_sources *sources)
{
    *r = (struct result){.rc = 0};
    r->rc = config_load(&r->config, sources, &r->problems);
    config_problems_print(&r->problems, &r->lines);
    config_show(&r->config, &r->shown);
}

static void result_fini(struct result *r)
{
    config_fini(&r->config);
    config_problems_fini(&r->problems);
    buf_fini(&r->lines);
    buf_fini(&r->shown);
}

static void check_problems(const struct result *r)
{
    fuzz_promise((r->rc == -1) == (r->problems.n_errors > 0), "a failure has an error");
    for (size_t i = 0; i < r->problems.n_kept; i++) {
        str text = str_from_c(r->problems.kept[i].text);

        fuzz_promise(fuzz_is_shown(text), "a problem is a line that can be shown");
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_list(const struct config_list *a, const struct config_list *b)
{
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

/* Secrets are not shown, and neither are the credentials of a proxy. */
#define SAME_SECRET(name)  true
#define SAME_SECRETS(name) true
#define SAME_TEXT(name)                                                                            \
    (same_text(a->name, b->name) || (a->name != NULL && strchr(a->name, '@') != NULL))
#define SAME_LIST(name)     same_list(&a->name, &b->name)
#define SAME_DURATION(name) (a->name##_ms == b->name##_ms)
#define SAME_SIZE(name)     (a->name##_bytes == b->name##_bytes)
#define SAME_COUNT(name)    (a->name == b->name)
#define SAME_FLAG(name)     (a->name == b->name)
#define SAME_SWITCH(name)   (a->name == b->name)
#define SAME_CHOICE(name)   (a->name == b->name)
#define SAME_WORD(name)     same_text(a->name, b->name)

static void check_same(const struct config *a, const struct config *b)
{
#define KEY(name, kind, initial, valid, help)                                                      \
    fuzz_promise(SAME_##kind(name), #name " is the same when loaded from what was shown");
#include "config/config.def"
}

/* What was shown loads again: so every value is inside its range, too. */
static void check_loaded(const struct result *r)
{
    char *shown = exact_copy(buf_str(&r->shown));
    struct config_sources sources = {.file_text = str_from(shown, r->shown.len)};
    struct result again;

    result_load(&again, &sources);
    if (again.rc == -1)
        (void)fprintf(stderr, "%s", again.problems.kept[0].text);
    fuzz_promise(again.rc == 0, "what is shown can be loaded");
    check_same(&r->config, &again.config);
    result_fini(&again);
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct result first, second;
    struct config_sources sources;
    struct input in;

    input_init(&in, fuzz_input(bytes, n));
    sources = (struct config_sources){
        .args = in.args, .n_args = in.n_args, .env = in.env, .file_text = in.file};
    result_load(&first, &sources);
    result_load(&second, &sources);
    fuzz_promise(first.rc == second.rc && str_eq(buf_str(&first.lines), buf_str(&second.lines)) &&
                     str_eq(buf_str(&first.shown), buf_str(&second.shown)),
                 "loading twice gives the same");
    check_problems(&first);
    if (first.rc == 0)
        check_loaded(&first);
    result_fini(&first);
    result_fini(&second);
    free(in.text);
    return 0;
}
