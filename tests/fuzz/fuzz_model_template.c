/* fuzz_model_template.c -- a text made of tell-tales and of bytes: what is read off it are words that
 * settings have, whatever stands around a tell-tale, and of two the first row of the table counts. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "wire/dialect/model_template.h"

static const struct {
    str has, lacks, words;
} rows[] = {
#define TELLTALE(has, lacks, words, source) {STR_INIT(has), STR_INIT(lacks), STR_INIT(words)},
#include "wire/dialect/model_template.def"
};

enum { N_ROWS = sizeof(rows) / sizeof(*rows), MAX_PIECE = 128 };

static bool contains(str text, str part)
{
    return str_find(text, part) < text.len;
}

/* Each byte is a piece of the table, or itself. */
static size_t build_text(const uint8_t *bytes, size_t n, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t row = bytes[i] / 2;
        const str piece = row >= N_ROWS             ? str_from((const char *)&bytes[i], 1)
                          : bytes[i] % 2 == 0       ? rows[row].has
                          : rows[row].lacks.len > 0 ? rows[row].lacks
                                                    : STR(" tool ");

        memcpy(out + used, piece.p, piece.len);
        used += piece.len;
    }
    return used;
}

static void check_text(str text)
{
    struct model_words words, expected = {{{NULL, 0}}};
    const bool is_known = model_template_words(text, &words);
    bool has_word = false;

    for (size_t i = 0; i < N_ROWS; i++) {
        if (contains(text, rows[i].has) &&
            (rows[i].lacks.len == 0 || !contains(text, rows[i].lacks)))
            model_words_add(rows[i].words, &expected);
    }
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        int value;
        const str word = words.of[s];

        has_word = has_word || !str_is_none(word);
        fuzz_promise(str_is_none(word) == str_is_none(expected.of[s]) &&
                         (str_is_none(word) || str_eq(word, expected.of[s])),
                     "the first row that fits says the word");
        fuzz_promise(str_is_none(word) || model_setting_value((enum model_setting)s, word, &value),
                     "a setting has the word");
    }
    fuzz_promise(has_word == is_known, "it is known when there is a word");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n * MAX_PIECE + 1);

    if (text == NULL)
        return 0;
    check_text(fuzz_input(bytes, n));
    if (n <= 4096)
        check_text(str_from(text, build_text(bytes, n, text)));
    free(text);
    return 0;
}
