/* content.h -- the content of messages and tool outputs (CONTRACT 2.2, 2.3).
 *
 * Content is a list of parts, whether the client wrote a string, an array or
 * nothing. All str are views of the request or of the turn's arena. */
#ifndef ANTIPHON_CONV_CONTENT_H
#define ANTIPHON_CONV_CONTENT_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "conv/reject.h"
#include "conv/text_seal.h"

enum part_kind { PART_TEXT, PART_IMAGE, PART_FILE, PART_AUDIO };

struct part {
    enum part_kind kind;
    str text; /* escaped: the text, the URL of an image, the data of a file; raw: an audio part */
    str note; /* escaped or STR_NONE: detail of an image, name of a file */
    struct part *next;
};

struct content {
    struct part *first, *last;
    bool has_media; /* not every part is text */
};

/* How input is read. Zeroed: the defaults of CONTRACT 2. */
struct input_options {
    bool text_files;              /* files of text types become text parts */
    bool reasoning_from_summary;  /* for reasoning that has no other text */
    bool ignore_unknown_items;    /* else a type that the API does not have is refused */
    bool own_items;               /* the gateway wrote them: some have types of its own */
    const struct text_seal *seal; /* opens encrypted_content; NULL: nobody does */
};

/* A content that is one text, given escaped. */
int content_from_text(str text, struct arena *a, struct content *ret, struct err *reterr);

/* raw is a string, an array of parts, or STR_NONE for no content. */
int content_parse(str raw, const struct path *at, const struct input_options *o, struct arena *a,
                  struct content *ret, struct err *reterr);

/* The same for the output of a tool, which may also be any other JSON: that
 * becomes its own text. */
int content_parse_output(str raw, const struct path *at, const struct input_options *o,
                         struct arena *a, struct content *ret, struct err *reterr);

/* An array of a tool's output is content when its first element is a part;
 * [1,2,3] is just JSON. */
bool content_is_parts(str raw);

/* Only the strings called member of the objects in the array raw, but for objects of the type
 * except, which may be STR_NONE. For items in which we overlook what we do not know: reasoning,
 * logs. */
int content_collect(str raw, str except, str member, struct arena *a, struct content *ret,
                    struct err *reterr);

/* Makes one text of the text parts, with prefix before it and separator between
 * them, both escaped. */
int content_join(struct content *c, str prefix, str separator, struct arena *a, struct err *reterr);

/* True when the content holds nothing but empty texts. */
bool content_is_empty(const struct content *c);

/* True when a part of it is text, be it empty: content_write_text() has something to join. */
bool content_has_text(const struct content *c);

/* Appends the text parts, separator (escaped) between them, as the inside of
 * one JSON string. */
void content_write_text(const struct content *c, str separator, struct buf *out);

#endif
