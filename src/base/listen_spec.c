/* listen_spec.c -- the marks behind an address. */
#include "base/listen_spec.h"

static const char *const words[] = {
#define LISTEN_MARK(symbol, word, help) word,
#include "base/listen_mark.def"
#undef LISTEN_MARK
};

/* The bit of a mark; 0: there is none of this word. */
static unsigned bit_of(str word)
{
    for (unsigned i = 0; i < LISTEN_MARKS; i++) {
        if (str_eq(word, str_from_c(words[i])))
            return 1U << i;
    }
    return 0;
}

/* Where the address ends. */
static size_t address_length(str text)
{
    size_t last = 0;

    for (size_t i = 0; i < text.len && str_starts_with(text, STR("unix:")); i++) {
        if (text.p[i] == '/')
            last = i;
    }
    return last + str_find_char(str_skip(text, last), '+');
}

bool listen_spec_read(str text, struct listen_spec *ret, str *ret_wrong)
{
    struct listen_spec s = {.address = str_from(text.p, address_length(text))};
    str rest = str_skip(text, s.address.len);

    while (rest.len > 0) {
        str word = str_skip(rest, 1);
        unsigned bit;

        word.len = str_find_char(word, '+');
        bit = bit_of(word);
        if (bit == 0 || (s.marks & bit) != 0) {
            *ret_wrong = word;
            return false;
        }
        s.marks |= bit;
        rest = str_skip(rest, 1 + word.len);
    }
    *ret = s;
    return true;
}

struct listen_spec listen_spec_of(const char *text)
{
    struct listen_spec s = {.address = str_from_c(text)};
    str wrong;

    (void)listen_spec_read(s.address, &s, &wrong);
    return s;
}

void listen_spec_write_marks(unsigned marks, struct buf *out)
{
    for (unsigned i = 0; i < LISTEN_MARKS; i++) {
        if ((marks & 1U << i) == 0)
            continue;
        buf_char(out, '+');
        buf_c(out, words[i]);
    }
}

const char *listen_spec_word(unsigned number)
{
    return words[number];
}
