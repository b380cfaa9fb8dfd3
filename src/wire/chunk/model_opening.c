/* model_opening.c -- a marker, a word, and what a header goes on with. */
#include "wire/chunk/model_opening.h"

#include "text/harmony_marker.h"

/* What tells is within so many bytes: the rest is not looked at, or it would depend on the cutting
 * of the text whether it was. */
enum { MAX_OPENING_BYTES = 256 };

static const str start_marker = STR_INIT("<|start|>");
static const str channel_marker = STR_INIT(HARMONY_CHANNEL_MARKER);
static const str recipient = STR_INIT(" to=");

static str skip_spaces(str s)
{
    while (s.len > 0 && s.p[0] == ' ')
        s = str_skip(s, 1);
    return s;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static str take_word(str *text)
{
    str rest = skip_spaces(*text);
    size_t n = 0;

    while (n < rest.len && is_word_char(rest.p[n]))
        n++;
    *text = str_skip(rest, n);
    return str_from(rest.p, n);
}

/* The next marker of a header. */
static enum text_match match_marker(str text)
{
    static const str markers[] = {STR_INIT(HARMONY_CHANNEL_MARKER),
                                  STR_INIT(HARMONY_CONSTRAIN_MARKER), STR_INIT("<|message|>")};
    enum text_match best = TEXT_DIFFERS;

    text = skip_spaces(text);
    for (size_t i = 0; i < COUNT_OF(markers); i++)
        best = text_match_better(best, text_match(text, markers[i]));
    return best;
}

static enum text_match goes_on(str text)
{
    return text_match_better(match_marker(text), text_match(skip_spaces(text), STR("to=")));
}

/* What models garble has no space in it. */
static str skip_garbled(str s)
{
    while (s.len > 0 && s.p[0] != '<' && !str_is_space(s.p[0]))
        s = str_skip(s, 1);
    return s;
}

/* Behind a marker: a word that it is known for, or any other that a marker touches, or in a header
 * that goes on. */
static enum text_match match_header(str text, bool is_known(str word))
{
    enum text_match at_once = goes_on(text);
    str word = take_word(&text);

    if (at_once == TEXT_MATCHES || (word.len > 0 && text.len > 0 && is_known(word)))
        return TEXT_MATCHES;
    text = skip_garbled(text);
    if (text.len == 0)
        return TEXT_MAY_MATCH;
    return text_match_better(text_match_better(at_once, goes_on(text)),
                             text_match(text, STR("<|")));
}

/* Ordinary text may begin like that, too, but for the marker behind the name. */
static enum text_match match_recipient(str text)
{
    (void)take_word(&text);
    return match_marker(text);
}

static bool is_channel(str word)
{
    return harmony_channel_of(word) != HARMONY_OTHER_CHANNEL;
}

static bool is_assistant(str word)
{
    return str_eq(word, STR("assistant"));
}

static enum text_match match_opening(str text)
{
    if (str_starts_with(text, channel_marker))
        return match_header(str_skip(text, channel_marker.len), is_channel);
    if (str_starts_with(text, start_marker))
        return match_header(str_skip(text, start_marker.len), is_assistant);
    if (str_starts_with(text, recipient))
        return match_recipient(str_skip(text, recipient.len));
    return text_match_better(
        text_match(text, channel_marker),
        text_match_better(text_match(text, start_marker), text_match(text, recipient)));
}

enum text_match model_opening_match(str text)
{
    bool is_all = text.len >= MAX_OPENING_BYTES;
    enum text_match match = match_opening(is_all ? str_from(text.p, MAX_OPENING_BYTES) : text);

    return match == TEXT_MAY_MATCH && is_all ? TEXT_DIFFERS : match;
}

bool model_opening_is_header(str text)
{
    return str_starts_with(text, channel_marker) || str_starts_with(text, start_marker);
}
