/* harmony_marker.c -- what is knowledge about markers and channels, as tables. */
#include "text/harmony_marker.h"

static const struct {
    str name;
    enum harmony_channel channel;
} channels[] = {
    {STR_INIT("analysis"), HARMONY_ANALYSIS},
    {STR_INIT("commentary"), HARMONY_COMMENTARY},
    {STR_INIT("final"), HARMONY_FINAL},
};

enum { N_CHANNELS = COUNT_OF(channels) };

enum in_content { IS_TEXT, IS_MARKER, BEFORE_ASSISTANT, BEFORE_CHANNEL };

static const struct {
    str text;
    enum in_content in_content;
} markers[] = {
    [HARMONY_MARKER_START] = {STR_INIT("<|start|>"), BEFORE_ASSISTANT},
    [HARMONY_MARKER_CHANNEL] = {STR_INIT(HARMONY_CHANNEL_MARKER), BEFORE_CHANNEL},
    [HARMONY_MARKER_CONSTRAIN] = {STR_INIT(HARMONY_CONSTRAIN_MARKER), IS_TEXT},
    [HARMONY_MARKER_MESSAGE] = {STR_INIT("<|message|>"), IS_TEXT},
    [HARMONY_MARKER_END] = {STR_INIT("<|end|>"), IS_MARKER},
    [HARMONY_MARKER_CALL] = {STR_INIT("<|call|>"), IS_MARKER},
    [HARMONY_MARKER_RETURN] = {STR_INIT("<|return|>"), IS_MARKER},
    [HARMONY_MARKER_END_OF_TEXT] = {STR_INIT("<|endoftext|>"), IS_MARKER},
};

enum { N_MARKERS = COUNT_OF(markers) };

static enum text_match match_channels(str s)
{
    enum text_match match = TEXT_DIFFERS;

    for (size_t i = 0; i < N_CHANNELS; i++)
        match = text_match_better(match, text_match(s, channels[i].name));
    return match;
}

static enum text_match match_follower(str s, enum in_content in_content)
{
    switch (in_content) {
    case IS_TEXT:
        break;
    case IS_MARKER:
        return TEXT_MATCHES;
    case BEFORE_ASSISTANT:
        return text_match(s, STR("assistant"));
    case BEFORE_CHANNEL:
        return match_channels(s);
    }
    return TEXT_DIFFERS;
}

struct harmony_match harmony_marker_match(str s, bool in_content)
{
    struct harmony_match m = {.match = TEXT_DIFFERS};

    if (s.len > 1 && s.p[1] != '|')
        return m; /* nearly always: text is full of `<` */
    for (size_t i = 0; i < N_MARKERS && m.match == TEXT_DIFFERS; i++) {
        if (in_content && markers[i].in_content == IS_TEXT)
            continue;
        m.match = text_match(s, markers[i].text);
        m.marker = (enum harmony_marker)i;
        m.len = markers[i].text.len;
        if (in_content && m.match == TEXT_MATCHES)
            m.match = match_follower(str_skip(s, m.len), markers[i].in_content);
    }
    return m;
}

enum harmony_channel harmony_channel_of(str name)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        if (str_eq(name, channels[i].name))
            return channels[i].channel;
    }
    return HARMONY_OTHER_CHANNEL;
}

str harmony_channel_prefix(str s)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        if (str_starts_with(s, channels[i].name))
            return channels[i].name;
    }
    return STR("");
}
