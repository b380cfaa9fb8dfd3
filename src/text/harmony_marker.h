/* harmony_marker.h -- the special tokens of the Harmony format, as text (HARMONY 1.1). */
#ifndef ANTIPHON_TEXT_HARMONY_MARKER_H
#define ANTIPHON_TEXT_HARMONY_MARKER_H

#include "text/harmony.h"
#include "text/text_scan.h"

#define HARMONY_CHANNEL_MARKER   "<|channel|>"
#define HARMONY_CONSTRAIN_MARKER "<|constrain|>"

enum harmony_marker {
    HARMONY_MARKER_START,
    HARMONY_MARKER_CHANNEL,
    HARMONY_MARKER_CONSTRAIN,
    HARMONY_MARKER_MESSAGE,
    HARMONY_MARKER_END,
    HARMONY_MARKER_CALL,
    HARMONY_MARKER_RETURN,
    HARMONY_MARKER_END_OF_TEXT,
};

struct harmony_match {
    enum text_match match;
    enum harmony_marker marker;
    size_t len; /* of the marker alone */
};

/* Tells whether s, whose first byte is a `<`, begins with a marker, or could when more came. In
 * content most markers are plain text, and two count only in front of certain words (HARMONY 1.4).
 * What is undecided is 20 bytes at most. */
struct harmony_match harmony_marker_match(str s, bool in_content);

/* HARMONY_OTHER_CHANNEL when the name is none of ours. */
enum harmony_channel harmony_channel_of(str name);

/* The name of a channel that s begins with; empty when there is none. */
str harmony_channel_prefix(str s);

#endif
