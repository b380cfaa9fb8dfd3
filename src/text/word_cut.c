/* word_cut.c -- one pass; a word is gathered in small letters, and loses its ending when it is over. */
#include "text/word_cut.h"

#include <string.h>

#include "base/utf8.h"

struct cutting {
    char part[WORD_CUT_MAX_BYTES], whole[WORD_CUT_MAX_BYTES];
    size_t n_part, n_whole;
    size_t n_parts; /* of the whole, that have ended */
    void (*on_word)(void *arg, str word);
    void *arg;
};

/* ---- characters */

enum letter { LETTER_NONE, LETTER_SMALL, LETTER_CAPITAL, LETTER_WHOLE };

/* The next character. */
struct character {
    enum letter letter;
    size_t n_bytes, n_small; /* as it stands, and as a small one */
    char small[4];
};

struct range {
    uint32_t first, last;
    enum letter letter;
    uint32_t to_small; /* what makes it a small one */
};

/* Beyond ASCII. The first that holds counts; what is in none is a small letter. */
static const struct range ranges[] = {
    {0x0080, 0x00bf, LETTER_NONE, 0}, /* what is no letter of Latin-1 */
    {0x00d7, 0x00d7, LETTER_NONE, 0},
    {0x00c0, 0x00de, LETTER_CAPITAL, 0x20},
    {0x0391, 0x03a9, LETTER_CAPITAL, 0x20}, /* Greek */
    {0x0400, 0x040f, LETTER_CAPITAL, 0x50}, /* Cyrillic */
    {0x0410, 0x042f, LETTER_CAPITAL, 0x20},
    {0x2000, 0x2e7f, LETTER_NONE, 0}, /* punctuation and symbols */
    {0x3000, 0x303f, LETTER_NONE, 0},
    {0x2e80, 0xd7ff, LETTER_WHOLE, 0}, /* Chinese, Japanese, Korean */
    {0xf900, 0xfaff, LETTER_WHOLE, 0},
    {0xfe00, 0xff0f, LETTER_NONE, 0},
    {0x1f000, 0x1faff, LETTER_NONE, 0}, /* pictures */
    {0x20000, 0x3ffff, LETTER_WHOLE, 0},
};

static enum letter letter_of(uint32_t *code_point)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
        const struct range *r = &ranges[i];

        if (*code_point >= r->first && *code_point <= r->last) {
            *code_point += r->to_small;
            return r->letter;
        }
    }
    return LETTER_SMALL;
}

static struct character ascii_character(char c)
{
    struct character read = {.letter = LETTER_NONE, .n_bytes = 1, .n_small = 1, .small = {c}};

    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
        read.letter = LETTER_SMALL;
    } else if (c >= 'A' && c <= 'Z') {
        read.letter = LETTER_CAPITAL;
        read.small[0] = (char)(c - 'A' + 'a');
    }
    return read;
}

/* Bytes that are no character stand between words. */
static struct character next_character(str rest)
{
    struct character read = {.letter = LETTER_NONE, .n_bytes = 1};
    uint32_t code_point;

    if (rest.len == 0 || (unsigned char)rest.p[0] < 0x80)
        return rest.len == 0 ? read : ascii_character(rest.p[0]);
    if (utf8_char(rest) == 0)
        return read;
    read.n_bytes = utf8_char(rest);
    code_point = utf8_code_point(rest);
    read.letter = letter_of(&code_point);
    read.n_small = utf8_encode(code_point, read.small);
    return read;
}

/* ---- endings */

static bool ends_with(const char *word, size_t n, const char *ending)
{
    const size_t len = strlen(ending);

    return n >= len && memcmp(word + n - len, ending, len) == 0;
}

static bool is_doubled(const char *word, size_t n)
{
    return n > 2 && word[n - 1] == word[n - 2] && strchr("bdfgmnprt", word[n - 1]) != NULL;
}

/* What is left is at least four letters long, or three where one of two goes: "sing" is no form of "s". */
static size_t drop_verb_ending(const char *word, size_t n)
{
    size_t left = n;

    if (ends_with(word, n, "ing"))
        left = n - 3;
    else if (ends_with(word, n, "ed"))
        left = n - 2;
    if (left == n || left < 4)
        return n;
    return is_doubled(word, left) ? left - 1 : left;
}

static size_t drop_plural(char *word, size_t n)
{
    if (n < 4 || word[n - 1] != 's' || strchr("sui", word[n - 2]) != NULL)
        return n;
    if (!ends_with(word, n, "ies") || n < 5)
        return n - 1;
    word[n - 3] = 'y';
    return n - 2;
}

/* "create", "creates", "creating" and "created" come to "creat". */
static size_t drop_ending(char *word, size_t n)
{
    n = drop_verb_ending(word, drop_plural(word, n));
    return n > 4 && word[n - 1] == 'e' ? n - 1 : n;
}

/* ---- words */

enum { LONGEST_THAT_SAYS_NOTHING = 5 };

static bool says_nothing(str word)
{
    static const str words[] = {
        STR_INIT("a"),    STR_INIT("an"),   STR_INIT("and"),  STR_INIT("any"),  STR_INIT("are"),
        STR_INIT("as"),   STR_INIT("at"),   STR_INIT("be"),   STR_INIT("by"),   STR_INIT("can"),
        STR_INIT("for"),  STR_INIT("from"), STR_INIT("how"),  STR_INIT("if"),   STR_INIT("in"),
        STR_INIT("into"), STR_INIT("is"),   STR_INIT("it"),   STR_INIT("its"),  STR_INIT("me"),
        STR_INIT("my"),   STR_INIT("of"),   STR_INIT("on"),   STR_INIT("or"),   STR_INIT("that"),
        STR_INIT("the"),  STR_INIT("this"), STR_INIT("to"),   STR_INIT("tool"), STR_INIT("tools"),
        STR_INIT("use"),  STR_INIT("what"), STR_INIT("when"), STR_INIT("with"), STR_INIT("you"),
        STR_INIT("your"),
    };

    return word.len <= LONGEST_THAT_SAYS_NOTHING &&
           str_is_one_of(word, words, sizeof(words) / sizeof(*words));
}

static void give_word(const struct cutting *c, char *word, size_t n)
{
    if (n > 0 && !says_nothing(str_from(word, n)))
        c->on_word(c->arg, str_from(word, drop_ending(word, n)));
}

static void end_part(struct cutting *c)
{
    if (c->n_part == 0)
        return;
    give_word(c, c->part, c->n_part);
    c->n_part = 0;
    c->n_parts++;
}

static void end_word(struct cutting *c)
{
    end_part(c);
    if (c->n_parts > 1)
        give_word(c, c->whole, c->n_whole);
    c->n_whole = c->n_parts = 0;
}

static void add_letter(struct cutting *c, const char *bytes, size_t n)
{
    if (c->n_part + n <= sizeof(c->part)) {
        memcpy(c->part + c->n_part, bytes, n);
        c->n_part += n;
    }
    if (c->n_whole + n <= sizeof(c->whole)) {
        memcpy(c->whole + c->n_whole, bytes, n);
        c->n_whole += n;
    }
}

void word_cut(str plain, void (*on_word)(void *arg, str word), void *arg)
{
    struct cutting c = {.on_word = on_word, .arg = arg};
    enum letter before = LETTER_NONE;

    while (plain.len > 0) {
        const struct character next = next_character(plain);

        plain = str_skip(plain, next.n_bytes);
        if (next.letter == LETTER_NONE || next.letter == LETTER_WHOLE || before == LETTER_WHOLE)
            end_word(&c);
        /* "getUser"; of "HTTPServer" the last capital begins the second word. */
        else if (next.letter == LETTER_CAPITAL &&
                 (before == LETTER_SMALL ||
                  (before == LETTER_CAPITAL && next_character(plain).letter == LETTER_SMALL)))
            end_part(&c);
        if (next.letter != LETTER_NONE)
            add_letter(&c, next.small, next.n_small);
        before = next.letter;
    }
    end_word(&c);
}
