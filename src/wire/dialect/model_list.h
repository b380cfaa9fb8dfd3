/* model_list.h -- one model out of the list that GET /v1/models answers with. */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_LIST_H
#define ANTIPHON_WIRE_DIALECT_MODEL_LIST_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the object in `data` whose id is model, byte for byte but for its id, which
 * becomes shown when that is another; both plain. Returns false, and appends nothing, when
 * there is none, also when list is no such list. */
bool model_list_find(str list, str model, str shown, struct buf *out);

#endif
