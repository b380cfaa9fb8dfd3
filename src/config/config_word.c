/* config_word.c -- the words of a choice, as config.def writes them: "text|summary|none". */
#include "config/config_key.h"

str config_next_word(str *rest, char separator)
{
    str word = *rest;

    if (str_is_none(*rest))
        return STR_NONE;
    word.len = str_find_char(*rest, separator);
    *rest = word.len == rest->len ? STR_NONE : str_skip(*rest, word.len + 1);
    return word;
}

bool config_has_word(const char *words, str word, unsigned *ret_index)
{
    str rest = str_from_c(words), known;

    for (unsigned i = 0; !str_is_none(known = config_next_word(&rest, '|')); i++) {
        if (!str_eq_nocase(word, known))
            continue;
        if (ret_index != NULL)
            *ret_index = i;
        return true;
    }
    return false;
}

str config_word_at(const char *words, unsigned index)
{
    str rest = str_from_c(words), word = STR_NONE;

    for (unsigned i = 0; i <= index; i++)
        word = config_next_word(&rest, '|');
    return word;
}

void config_write_words(const char *words, struct buf *out)
{
    str rest = str_from_c(words), word;

    while (!str_is_none(word = config_next_word(&rest, '|'))) {
        buf_append(out, word);
        buf_c(out, str_is_none(rest) ? "" : str_find_char(rest, '|') < rest.len ? ", " : " or ");
    }
}
