/* page_tag.h -- HTML cut into text and tags.
 *
 * HTML is cut as browsers do it (WHATWG HTML 13.2.5), so that broken markup means what its author
 * saw: whatever the bytes are, there is a next piece. One pass over text that stays where it is; no
 * tree and no memory of its own. libxml2 2.9.14 has a parser too, but compares each attribute of a
 * tag with all before it: 256 KiB of them take three seconds, which nothing can interrupt.
 *
 * Pure; any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_TAG_H
#define ANTIPHON_SEARCH_PAGE_TAG_H

#include "base/buf.h"

enum { PAGE_TAG_NAME_BYTES = 16 };

struct page_piece {
    enum { PIECE_TEXT, PIECE_RAW, PIECE_START, PIECE_END } kind;
    str text;               /* TEXT: with character references; RAW: without */
    str attributes;         /* START: behind the name */
    bool is_empty;          /* START: it ends with "/>", which means something in XHTML only */
    unsigned char name_len; /* of a tag */
    char name[PAGE_TAG_NAME_BYTES]; /* lower case; "" when it is longer than any we know */
};

struct page_tags {
    str rest;
    bool is_xml;                   /* XHTML: CDATA sections are text */
    char raw[PAGE_TAG_NAME_BYTES]; /* the element whose end tag ends the text; "": none */
};

static inline str page_piece_name(const struct page_piece *p)
{
    return str_from(p->name, p->name_len);
}

/* The next piece; false at the end. */
bool page_tags_next(struct page_tags *t, struct page_piece *ret);

/* Makes all up to the end tag of start, which was the last piece, text without tags (script, style,
 * title). */
void page_tags_raw(struct page_tags *t, const struct page_piece *start);

/* Cuts the next attribute off; false when there is no other. The value has character references;
 * it is "" when there is none, and STR_NONE when its quote is never closed. */
bool page_tag_next_attribute(str *attributes, str *ret_name, str *ret_value);

/* The value of the first attribute of that name, in lower case; STR_NONE when there is none. */
str page_tag_attribute(str attributes, str name);

#endif
