/* model_alias.h -- other names for the upstream's models (CONTRACT 1.1, `model`).
 *
 * An alias is written NAME=MODEL; *=MODEL stands for every name without a row
 * of its own. Clients see the name they asked for (decision 12). */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_ALIAS_H
#define ANTIPHON_WIRE_DIALECT_MODEL_ALIAS_H

#include <stdbool.h>

#include "base/buf.h"
#include "wire/dialect/extra_fields.h"

/* The model behind a name, both plain; a view of the table. STR_NONE when the
 * upstream knows it by this name. An alias is not looked up again. */
str model_alias_find(struct name_list aliases, str name);

/* Appends body, a JSON object, with an alias in its member `model` replaced and
 * everything else byte for byte as it was. Returns false, and appends nothing,
 * when there is nothing to replace, also when body is no JSON. */
bool model_alias_rewrite(struct name_list aliases, str body, struct buf *out);

#endif
