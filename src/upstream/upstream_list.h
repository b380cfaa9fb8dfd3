/* upstream_list.h -- the list of models that an upstream has answered with, as it came (OPERATIONS 4.3).
 *
 * A list never changes and is shared by counted references: facts that are made of others have the same. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_LIST_H
#define ANTIPHON_UPSTREAM_UPSTREAM_LIST_H

#include "base/str.h"

/* Of a longer list only the names are kept. */
enum { UPSTREAM_LIST_MOST_BYTES = 1024 * 1024 };

struct upstream_list;

/* The list in the body of an answer, with one reference: of several elements with one id the first, and no more
 * than UPSTREAM_MAX_MODELS. NULL when it is no such list, or out of memory. */
struct upstream_list *upstream_list_new(str body);

/* NULL is fine for all of these. Any thread. Views live as long as the list. */
struct upstream_list *upstream_list_ref(struct upstream_list *l);
void upstream_list_unref(struct upstream_list *l);

/* The names, plain, in its order. */
const str *upstream_list_names(const struct upstream_list *l, size_t *ret_n);

/* Has it this very name? */
bool upstream_list_has(const struct upstream_list *l, str name);

/* The element of a model, JSON as it came; STR_NONE: there is none, or it was not kept. Ollama takes a name without
 * a tag for that of the latest. */
str upstream_list_element(const struct upstream_list *l, str name);

#endif
