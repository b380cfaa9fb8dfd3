/* fuzz_upstream_sign.c -- whatever a server sends, looking at it ends, reads nothing past the end,
 * and what is found can stand in the log.
 *
 * The first byte is the path, the rest a body, and also a URL, a header and a fingerprint. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "wire/dialect/upstream_models.h"
#include "wire/dialect/upstream_sign.h"

static void check_finding(const struct upstream_finding *f)
{
    fuzz_promise((unsigned)f->kind < UPSTREAM_KINDS, "a kind is one of the table");
    fuzz_promise((f->by == NULL) == (f->certainty == UPSTREAM_UNKNOWN), "what is known has a sign");
    fuzz_promise(f->certainty != UPSTREAM_UNKNOWN || f->kind == UPSTREAM_GENERIC,
                 "what is not known is generic");
    for (size_t i = 0; i < strlen(f->version); i++)
        fuzz_promise(f->version[i] > ' ' && f->version[i] < 0x7f && f->version[i] != '"',
                     "a version can stand in the log");
}

static void check_asking(struct upstream_finding f)
{
    enum upstream_path path;
    unsigned asked = 0, n = 0;

    for (; upstream_sign_next(&f, asked, &path); n++) {
        fuzz_promise((asked >> path & 1) == 0, "no path is asked twice");
        asked |= 1U << path;
    }
    fuzz_promise(n <= UPSTREAM_PATHS, "asking ends");
}

static void check_limits(const struct upstream_limits *l)
{
    fuzz_promise(l->window >= 0 && l->window <= 1000000000, "a window is a number of tokens");
    fuzz_promise(!l->is_guess || l->window > 0, "what is guessed is something");
}

/* The body as the answer to every path, about the models that it lists itself. */
static void check_contents(str body)
{
    struct upstream_props props;
    struct upstream_models models;
    struct upstream_limits only = {.window = 0};
    struct arena a = {0};
    str chosen;

    (void)upstream_props_read(body, &props);
    fuzz_promise(upstream_models_read(body, &a, &models), "there is memory");
    fuzz_promise(models.n <= UPSTREAM_MAX_MODELS, "a list of models is bounded");
    fuzz_promise(upstream_models_are_same(&models, &models), "a list is the same as itself");
    for (int p = 0; p < UPSTREAM_PATHS; p++) {
        const enum upstream_path path = (enum upstream_path)p;

        upstream_models_add(path, body, STR_NONE, &models, &only);
        upstream_models_add(path, body, STR("m"), &models, &only);
        check_limits(&only);
    }
    for (size_t i = 0; i < models.n; i++) {
        fuzz_promise(!str_is_none(models.v[i].id), "a model has a name");
        fuzz_promise(upstream_models_find(&models, models.v[i].id) != NULL, "a model is found");
        check_limits(&models.v[i].limits);
    }
    chosen = upstream_models_choose(&models, STR("m"), body);
    fuzz_promise(str_is_none(chosen) == (models.n == 0), "a model is chosen if there is one");
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n), rest = str_skip(input, 1);
    enum upstream_path path = (enum upstream_path)(n == 0 ? 0 : bytes[0] % UPSTREAM_PATHS);
    char *copy = exact_copy(rest);
    str text = str_from(copy, rest.len);
    struct upstream_finding f = {.by = NULL};

    upstream_sign_body(path, n != 0 && bytes[0] >= 128 ? 404 : 200, text, &f);
    check_finding(&f);
    upstream_sign_answer(text, &f);
    upstream_sign_header(STR("Server"), text, &f);
    upstream_sign_header(text, text, &f);
    check_finding(&f);
    upstream_sign_fingerprint(text, &f);
    check_finding(&f);
    check_asking(f);
    upstream_sign_url(text, &f);
    check_finding(&f);
    check_asking(f);
    fuzz_promise(upstream_root(text).len <= text.len, "a root is part of its base");
    check_contents(text);
    free(copy);
    return 0;
}
