/* kept_form.h -- the stored form of one item, as JSON; see kept_item.h. */
#ifndef ANTIPHON_CONV_KEPT_FORM_H
#define ANTIPHON_CONV_KEPT_FORM_H

#include "base/buf.h"
#include "base/id.h"
#include "base/str.h"

/* What has to be known before an item can be written. Escaped but for id; role
 * and given_id may be STR_NONE. */
struct kept_head {
    str type, role, given_id;
    str id; /* under which it is stored */
};

/* Of the id of an item of this type, when one has to be made (CONTRACT 8). */
const char *kept_form_prefix(str type);

/* Appends the item, one line. raw is a valid JSON object. A call without any id
 * gets one from ids. */
void kept_form_write(str raw, const struct kept_head *h, const struct id_source *ids,
                     struct buf *out);

#endif
