/* page_element.h -- what the elements of HTML mean for the text of a page. Pure; any thread. */
#ifndef ANTIPHON_SEARCH_PAGE_ELEMENT_H
#define ANTIPHON_SEARCH_PAGE_ELEMENT_H

#include "base/str.h"

enum page_group {
    GROUP_OTHER,
    GROUP_A,
    GROUP_BASE,
    GROUP_BR,
    GROUP_CELL,
    GROUP_FRAME, /* html, head, body: there is one of each, whatever a page writes */
    GROUP_HEADING,
    GROUP_IMG,
    GROUP_ITEM,
    GROUP_LIST,
    GROUP_P,
    GROUP_PRE,
    GROUP_ROW,
    GROUP_ROWS,
    GROUP_TABLE,
    GROUP_TERM,
    GROUP_TERMS,
    GROUP_TITLE,
    N_GROUPS,
};

enum { PAGE_VOID = 1, PAGE_LINE = 2, PAGE_BLANK = 4, PAGE_GONE = 8, PAGE_RAW = 16 };

struct page_element {
    str name; /* "" stands for all elements without a meaning of their own */
    enum page_group group;
    unsigned flags;
};

/* Sets of groups, bits 1 << group: the start tag ends those open elements that are in `ends`, as
 * far as none of ends_up_to is in between; the end tag does not reach beyond closes_up_to. */
struct page_element_ends {
    unsigned ends, ends_up_to, closes_up_to;
};

const struct page_element *page_element(str lower_case_name);
const struct page_element_ends *page_element_ends(const struct page_element *e);

#endif
