/* compact_form.h -- one item in the form in which it is stored, whole or with less of its output.
 *
 * For the files of this folder. */
#ifndef ANTIPHON_COMPACT_COMPACT_FORM_H
#define ANTIPHON_COMPACT_COMPACT_FORM_H

#include "conv/item.h"
#include "conv/kept_item.h"

/* The text of an item or part as it was read, in the stored form, in the arena. Returns 0, or -1
 * when out of memory. */
int compact_form_make(str raw, const struct id_source *ids, struct arena *a, struct kept_item *ret,
                      struct err *reterr);

/* About the bytes of the text of a content; an image or file counts as much as its tokens. */
size_t compact_content_bytes(const struct content *c);

/* The same item with at most n_bytes of its output, which was read as content, as one text. Images
 * and files become words. */
int compact_form_cut(const struct kept_item *item, const struct content *content, size_t n_bytes,
                     struct arena *a, struct kept_item *ret, struct err *reterr);

/* The item without the output that clients are shown of code, since it has a result. */
int compact_form_bare(const struct kept_item *item, struct arena *a, struct kept_item *ret,
                      struct err *reterr);

/* What stands for a part that is no text: [image], [file: NAME] or [audio], plain, where type and
 * name are escaped and may be STR_NONE. */
void compact_write_placeholder(str type, str name, struct buf *out);

#endif
