/* mcp_challenge.c -- finds parameters in a header, whichever challenge they belong to:
 *
 *     Bearer realm="x", error="invalid_token", Basic realm="y"
 *
 * A word before "=" names a parameter; any other is a scheme and is passed over. */
#include "mcp/proto/mcp_challenge.h"

static bool is_word_char(char c)
{
    return c > ' ' && c != '=' && c != ',' && c != '"';
}

/* Takes a word off the text. */
static str take_word(str *text)
{
    str word = *text;
    size_t n = 0;

    while (n < text->len && is_word_char(text->p[n]))
        n++;
    *text = str_skip(*text, n);
    return str_from(word.p, n);
}

/* Takes what stands up to the closing quote, which a backslash can hide. */
static str take_quoted(str *text)
{
    str inside = str_skip(*text, 1);
    size_t n = 0;

    while (n < inside.len && inside.p[n] != '"')
        n += inside.p[n] == '\\' ? 2 : 1;
    n = n < inside.len ? n : inside.len;
    *text = str_skip(inside, n + 1);
    return str_from(inside.p, n);
}

static str take_value(str *text)
{
    *text = str_trim_start(*text);
    return text->len > 0 && text->p[0] == '"' ? take_quoted(text) : take_word(text);
}

/* Of parameters with one name the first counts. */
static void set_parameter(struct mcp_challenge *c, str name, str value)
{
    struct {
        str name;
        str *to;
    } known[] = {{STR("resource_metadata"), &c->resource_metadata},
                 {STR("scope"), &c->scope},
                 {STR("error"), &c->error}};

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (str_eq_nocase(name, known[i].name) && str_is_none(*known[i].to))
            *known[i].to = value;
    }
}

struct mcp_challenge mcp_challenge_read(str header)
{
    struct mcp_challenge c = {STR_NONE, STR_NONE, STR_NONE};

    for (header = str_trim_start(header); header.len > 0; header = str_trim_start(header)) {
        str word = take_word(&header);

        header = str_trim_start(header);
        if (header.len > 0 && header.p[0] == '=') {
            header = str_skip(header, 1);
            set_parameter(&c, word, take_value(&header));
        } else if (word.len == 0) {
            header = str_skip(header, 1); /* a comma, or what has no place here */
        }
    }
    return c;
}
