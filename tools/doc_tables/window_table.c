/* window_table.c -- upstream_models.def: where servers tell how much fits into their models. */
#include "table.h"
#include "wire/dialect/upstream_path.h"

static const struct {
    enum upstream_path path;
    const char *member, *only_if, *weight, *source;
} windows[] = {
#define MODEL_WINDOW(path, member, only_if, weight, source)                                        \
    {UPSTREAM_PATH_##path, member, only_if, #weight, source},
#include "wire/dialect/upstream_models.def"
};

static const struct {
    enum upstream_path path;
    const char *member, *word, *source;
} images[] = {
#define MODEL_IMAGES(path, member, word, source) {UPSTREAM_PATH_##path, member, word, source},
#include "wire/dialect/upstream_models.def"
};

/* "POST /api/show", "GET /v1/models" */
static void write_path(enum upstream_path path, struct buf *out)
{
    buf_c(out, "| ");
    buf_c(out, upstream_path_method(path));
    buf_c(out, path == UPSTREAM_PATH_MODELS ? " `/v1" : " `");
    buf_append(out, upstream_path_text(path));
    buf_c(out, "` | `");
}

static const char *weight_words(const char *weight)
{
    return strcmp(weight, "LEAST") == 0   ? "a limit: the smallest counts"
           : strcmp(weight, "GUESS") == 0 ? "a guess, when nothing else is told"
                                          : "the first that is told";
}

void table_upstream_windows(struct buf *out)
{
    buf_c(out, "| Asked | Member | Counts as | Why |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
        write_path(windows[i].path, out);
        buf_c(out, windows[i].member);
        buf_c(out, "`");
        if (windows[i].only_if[0] != '\0') {
            buf_c(out, " where `");
            buf_c(out, windows[i].only_if);
            buf_c(out, "`");
        }
        buf_c(out, " | ");
        buf_c(out, weight_words(windows[i].weight));
        buf_c(out, " | ");
        buf_c(out, windows[i].source);
        buf_c(out, " |\n");
    }
}

void table_upstream_images(struct buf *out)
{
    buf_c(out, "| Asked | Member | Is, or has | Why |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++) {
        write_path(images[i].path, out);
        buf_c(out, images[i].member);
        buf_c(out, "` | `");
        buf_c(out, images[i].word);
        buf_c(out, "` | ");
        buf_c(out, images[i].source);
        buf_c(out, " |\n");
    }
}
