/* fuzz_sandbox_message.c -- any bytes as a line of a sandbox: what is made of it can be shown to
 * clients, models and terminals, and stays within its limits. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "sandbox/sandbox_message.h"

static const struct sandbox_limits limits = {
    .output_bytes = 20, .image_bytes = 30, .file_bytes = 40};

static void promise_text(str text)
{
    fuzz_promise(str_is_none(text) || utf8_is_valid(text), "a text is UTF-8");
    fuzz_promise(text.len == 0 || memchr(text.p, '\0', text.len) == NULL, "without NUL");
}

static void promise_path(str path)
{
    fuzz_promise(str_starts_with(path, STR(JAIL_WORK_DIRECTORY "/")), "a file is in its directory");
    fuzz_promise(sandbox_path_is_fine(sandbox_path_relative(path)), "and does not leave it");
}

static void check_files(const struct sandbox_outcome *o)
{
    fuzz_promise(o->n_files <= SANDBOX_MAX_FILES, "files are limited");
    for (size_t i = 0; i < o->n_files; i++) {
        promise_path(o->files[i].path);
        fuzz_promise(o->files[i].id.len == 38, "an id has its length");
        fuzz_promise(o->files[i].modified_at >= 0, "a time is one");
    }
}

static void check_images(const struct sandbox_outcome *o)
{
    fuzz_promise(o->n_images <= SANDBOX_MAX_IMAGES, "images are limited");
    for (size_t i = 0; i < o->n_images; i++) {
        if (o->images[i].path.len > 0)
            promise_path(o->images[i].path);
        fuzz_promise(str_starts_with(o->images[i].mime, STR("image/")), "an image is one");
        fuzz_promise(o->images[i].base64.len <= limits.image_bytes * 2, "of limited size");
        for (size_t k = 0; k < o->images[i].base64.len; k++)
            fuzz_promise(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=",
                                o->images[i].base64.p[k]) != NULL,
                         "in base64");
    }
}

static void check_run(const struct sandbox_message *m)
{
    struct sandbox_outcome o = {.n_files = 0};
    struct arena a = {.limit = 0};

    if (sandbox_read_run(m, &limits, STR("c"), &a, &o) == 0) {
        promise_text(o.logs);
        promise_text(o.value);
        fuzz_promise(!str_is_none(o.logs), "there are logs");
        fuzz_promise(o.logs.len < 1000 && o.value.len < 1000, "of limited length");
        check_images(&o);
        check_files(&o);
    }
    arena_fini(&a);
}

static void check_content(const struct sandbox_message *m)
{
    struct sandbox_outcome o = {.n_files = 0};
    struct arena a = {.limit = 0};

    if (sandbox_read_content(m, &limits, &a, &o) == 0 && o.failure == SANDBOX_OK)
        fuzz_promise(o.content.len <= limits.file_bytes, "a content keeps its limit");
    arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    char *exact = exact_copy(text);
    struct sandbox_message m;

    if (sandbox_message_read(str_from(exact, n), &m) == 0) {
        fuzz_promise((m.id == 0) == !str_is_none(m.python), "only what is ready has no id");
        check_run(&m);
        check_content(&m);
    }
    free(exact);
    return 0;
}
