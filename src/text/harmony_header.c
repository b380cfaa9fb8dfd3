/* harmony_header.c -- sections, then words, then repairs.
 *
 * Models put the words into any order and section, so a word is known by what it looks like, not
 * by where it stands. Only the role and the names of channels have places of their own. */
#include "text/harmony_header.h"

#include "json/json_read.h"
#include "text/harmony_marker.h"

static const str channel_marker = STR_INIT(HARMONY_CHANNEL_MARKER);
static const str constrain_marker = STR_INIT(HARMONY_CONSTRAIN_MARKER);
static const str function_prefix = STR_INIT("functions.");

struct reading {
    struct harmony_header header;
    str channel; /* its name as it stands there */
    str last;    /* the last section without the role or the channel at its front */
};

/* ---- words */

str harmony_header_word(str *rest)
{
    str s = str_trim_start(*rest);
    size_t n = 0;

    while (n < s.len && !str_is_space(s.p[n]) &&
           (n == 0 || !str_starts_with(str_skip(s, n), constrain_marker)))
        n++;
    *rest = str_skip(s, n);
    return str_from(s.p, n);
}

bool harmony_header_is_assistant(str word)
{
    return str_eq(word, STR("assistant")) || str_starts_with(word, STR("assistant:"));
}

/* True when the word is in the list, or begins with an entry that ends in a dot. */
static bool is_one_of(str word, const str *list)
{
    for (; list->len > 0; list++) {
        bool is_prefix = list->p[list->len - 1] == '.';

        if (is_prefix ? str_starts_with(word, *list) : str_eq(word, *list))
            return true;
    }
    return false;
}

static bool looks_like_recipient(str word)
{
    static const str recipients[] = {
        STR_INIT("functions."), STR_INIT("browser."), STR_INIT("mcp."), STR_INIT("container."),
        STR_INIT("python"),     STR_INIT("browser"),  STR_INIT("")};

    return is_one_of(word, recipients);
}

/* An assistant talks to nobody else by "to=assistant": that says nothing. */
static void read_recipient(struct harmony_header *h, str name)
{
    if (name.len > 0 && !str_eq(name, STR("assistant")))
        h->recipient = name;
}

static void read_word(struct harmony_header *h, str word)
{
    if (str_starts_with(word, STR("to=")))
        read_recipient(h, str_skip(word, 3));
    else if (str_eq(word, constrain_marker))
        return; /* its type is the next word */
    else if (str_starts_with(word, constrain_marker))
        h->content_type = str_skip(word, constrain_marker.len);
    else if (h->recipient.len == 0 && looks_like_recipient(word))
        h->recipient = word;
    else
        h->content_type = word;
}

static void read_words(struct harmony_header *h, str section)
{
    str word;

    while ((word = harmony_header_word(&section)).len > 0)
        read_word(h, word);
}

/* ---- sections */

static str cut_section(str *rest)
{
    size_t n = str_find(*rest, channel_marker);
    str section = str_from(rest->p, n);

    *rest = str_skip(*rest, n); /* the marker, if there is one */
    return section;
}

static bool is_role(str word)
{
    return word.len > 0 && !str_starts_with(word, STR("to=")) &&
           !str_starts_with(word, constrain_marker);
}

/* Cuts the role off. A header that we were told is the assistant's may repeat it. */
static void cut_role(struct harmony_header *h, bool is_explicit, str *section)
{
    str rest = *section;
    str word = harmony_header_word(&rest);

    h->role = STR("assistant");
    h->is_assistant = true;
    if (!is_role(word) || (!is_explicit && !harmony_header_is_assistant(word)))
        return;
    h->role = word;
    h->is_assistant = harmony_header_is_assistant(word);
    *section = rest;
}

static str cut_channel(str *section)
{
    str s = str_trim_start(*section);
    size_t n = 0;

    if (str_starts_with(s, STR("to=")))
        return STR("");
    while (n < s.len && !str_is_space(s.p[n]) && s.p[n] != '<')
        n++;
    *section = str_skip(s, n);
    return str_from(s.p, n);
}

static struct reading read_sections(str text, bool is_explicit)
{
    struct reading r = {.header = {.recipient = STR_INIT(""), .content_type = STR_INIT("")},
                        .channel = STR_INIT("")};
    str section = cut_section(&text), name;

    cut_role(&r.header, is_explicit, &section);
    read_words(&r.header, section);
    while (text.len > 0) {
        text = str_skip(text, channel_marker.len);
        section = cut_section(&text);
        name = cut_channel(&section);
        if (name.len > 0)
            r.channel = name; /* the last one counts: models correct themselves */
        read_words(&r.header, section);
    }
    r.last = section;
    return r;
}

/* ---- repairs (HARMONY 1.3 rule 6) */

static bool is_declared_function(const struct harmony_header_source *source, str recipient)
{
    if (str_starts_with(recipient, function_prefix))
        recipient = str_skip(recipient, function_prefix.len);
    return source->handler->is_function(source->arg, recipient);
}

/* "commentary?" is commentary, "commentaries" is none of ours. */
static enum harmony_channel repaired_channel(str name)
{
    str known = harmony_channel_prefix(name);
    char next = name.len > known.len ? str_lower_char(name.p[known.len]) : '?';

    if (name.len == 0)
        return HARMONY_NO_CHANNEL;
    return next >= 'a' && next <= 'z' ? HARMONY_OTHER_CHANNEL : harmony_channel_of(known);
}

/* Drops a recipient that is no tool; some mean the reader. */
static void repair_addressee(struct harmony_header *h)
{
    static const str nobody[] = {STR_INIT("all"), STR_INIT("developer"), STR_INIT("system"),
                                 STR_INIT("")};
    static const str reader[] = {STR_INIT("final"), STR_INIT("user"), STR_INIT("")};

    if (is_one_of(h->recipient, reader))
        h->channel = HARMONY_FINAL;
    else if (!is_one_of(h->recipient, nobody))
        return;
    h->recipient = STR("");
}

static void repair_function(const struct harmony_header_source *source, struct harmony_header *h)
{
    str stem = h->recipient;

    if (stem.len == 0 && str_starts_with(h->content_type, function_prefix) &&
        is_declared_function(source, h->content_type)) {
        h->recipient = h->content_type;
        h->content_type = STR("");
    }
    if (!str_ends_with(stem, STR("json")) || is_declared_function(source, stem))
        return;
    stem.len -= 4;
    if (!is_declared_function(source, stem))
        return;
    h->recipient = stem;
    if (h->content_type.len == 0)
        h->content_type = STR("json");
}

struct harmony_header harmony_header_read(const struct harmony_header_source *source,
                                          bool *ret_is_odd)
{
    struct reading r = read_sections(source->text, source->is_explicit);
    struct harmony_header *h = &r.header;

    *ret_is_odd = r.channel.len > 0 && harmony_channel_of(r.channel) == HARMONY_OTHER_CHANNEL;
    h->channel = repaired_channel(r.channel);
    if (h->is_assistant) {
        repair_addressee(h);
        repair_function(source, h);
    }
    return *h;
}

/* ---- without <|message|> (HARMONY 1.5) */

static bool opens_json(char c)
{
    return c == '{' || c == '[' || c == '"';
}

/* A <|constrain|> and its word, which JSON may touch. */
static str constrain_word(str s)
{
    size_t n = constrain_marker.len;

    while (n < s.len && !str_is_space(s.p[n]) && !opens_json(s.p[n]))
        n++;
    return str_from(s.p, n);
}

/* True when the word belongs to the header, and not to the text, with rest behind it. */
static bool is_header_word(str word, str rest)
{
    rest = str_trim_start(rest);
    if (str_starts_with(rest, STR("{")))
        return str_eq(word, STR("json")) || looks_like_recipient(word);
    return str_starts_with(rest, STR("to=")) || str_starts_with(rest, constrain_marker);
}

/* The text behind the words of a header that section begins with. */
static str skip_header_words(str section)
{
    for (;;) {
        str s = str_trim_start(section), rest = s;
        str word = harmony_header_word(&rest);

        if (word.len == 0 || opens_json(word.p[0]))
            return s;
        if (str_starts_with(word, constrain_marker))
            rest = str_skip(s, constrain_word(s).len);
        else if (!str_starts_with(word, STR("to=")) && !is_header_word(word, rest))
            return s;
        section = rest;
    }
}

static bool is_one_word(str text)
{
    str word = harmony_header_word(&text);

    return word.len > 0 && str_trim_start(text).len == 0;
}

static str rescue_call(const struct harmony_header_source *source, str text,
                       struct harmony_header *h)
{
    text = str_trim(text);
    if (!is_declared_function(source, h->recipient) || jr_type_of(text) != JR_OBJECT ||
        !jr_is_valid(text))
        return STR("");
    h->content_type = STR("json");
    return text;
}

static str rescue_text(str head, str text, bool at_end_of_stream)
{
    if (str_find(head, constrain_marker) < head.len)
        return jr_is_valid(str_trim(text)) ? str_trim(text) : STR("");
    if (at_end_of_stream && is_one_word(text) && !opens_json(text.p[0]))
        return STR(""); /* more of a header that was cut off */
    return text;
}

str harmony_header_rescue(const struct harmony_header_source *source, bool at_end_of_stream,
                          struct harmony_header *ret)
{
    str text = skip_header_words(read_sections(source->text, source->is_explicit).last);
    struct harmony_header_source head = *source;
    bool is_odd;

    head.text.len = (size_t)(text.p - source->text.p);
    *ret = harmony_header_read(&head, &is_odd);
    if (is_odd)
        return STR("");
    if (ret->recipient.len > 0)
        return rescue_call(source, text, ret);
    ret->content_type = STR("");
    return rescue_text(head.text, text, at_end_of_stream);
}
