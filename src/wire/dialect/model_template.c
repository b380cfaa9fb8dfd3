/* model_template.c -- each tell-tale is looked for in the text; the first that fits counts. */
#include "wire/dialect/model_template.h"

struct telltale {
    str has, lacks, words;
};

static const struct telltale telltales[] = {
#define TELLTALE(has, lacks, words, source) {STR_INIT(has), STR_INIT(lacks), STR_INIT(words)},
#include "wire/dialect/model_template.def"
};

static bool contains(str text, str part)
{
    return str_find(text, part) < text.len;
}

bool model_template_words(str chat_template, struct model_words *ret)
{
    bool is_known = false;

    *ret = (struct model_words){{{NULL, 0}}};
    if (str_is_none(chat_template) || chat_template.len > MODEL_TEMPLATE_MAX_BYTES)
        return false;
    for (size_t i = 0; i < COUNT_OF(telltales); i++) {
        const struct telltale *t = &telltales[i];

        if (contains(chat_template, t->has) &&
            (t->lacks.len == 0 || !contains(chat_template, t->lacks))) {
            model_words_add(t->words, ret);
            is_known = true;
        }
    }
    return is_known;
}
