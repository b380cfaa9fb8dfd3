/* model_list.h -- the list that GET /v1/models answers with, as clients look at it (CONTRACT 15.2). */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_LIST_H
#define ANTIPHON_WIRE_DIALECT_MODEL_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/dialect/extra_fields.h"

/* What is known of a model. */
struct model_view {
    int64_t window;  /* tokens of its context; 0: not known */
    int64_t at_most; /* the same, or what the model could have */
    bool takes_images;
    str efforts; /* of reasoning that it takes: "low|high", or "" */
};

/* What is known of models, and by which names they go. */
struct model_list_view {
    /* id: plain, as a client names it. entry: what the upstream says of it. */
    struct model_view (*look)(void *arg, str id, str entry);
    void *arg;
    struct name_list aliases; /* NAME=MODEL, as in model_alias.h */
    bool wants_catalogue;     /* that of Codex as well, in the member `models` */
};

/* Appends the object in `data` whose id is model, byte for byte but for its id, which
 * becomes shown when that is another; both plain. Returns false, and appends nothing, when
 * there is none, also when list is no such list. */
bool model_list_find(str list, str model, str shown, struct buf *out);

/* Appends the list: its members and those of its entries are the same, and behind them stands what is
 * known and not there; further entries for aliases of what it has. Returns false, and appends nothing
 * that could be used, when it is no such list. */
bool model_list_write(str list, const struct model_list_view *v, struct buf *out);

/* Appends the list without the entries of models that are not shown, nor other members than those in which
 * servers list models, data and models. Returns false, and appends nothing that could be used, when it is no
 * such list. */
bool model_list_filter(str list, bool (*is_shown)(void *arg, str id), void *arg, struct buf *out);

/* The same for one entry, a JSON object with an id. */
bool model_list_write_entry(str entry, const struct model_list_view *v, struct buf *out);

#endif
