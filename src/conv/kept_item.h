/* kept_item.h -- input items in the form in which they are stored and listed
 * (CONTRACT 3.1, 6, 8).
 *
 * Clients write the same thing in many ways: a message without its type, content
 * as a string, arguments as an object. The stored form is one: each item has id
 * and type, its status, lists where lists belong, and no null where a value may
 * be left out. It says the same to the model: read as input, it becomes the same
 * messages. Members that the gateway does not know stay as they came.
 *
 * An item keeps the id it came with. It gets a new one only when its own cannot be
 * asked for: another item of the request has it already, or it could not stand in
 * a path, being longer than 128 bytes or of others than letters, digits and _:.- */
#ifndef ANTIPHON_CONV_KEPT_ITEM_H
#define ANTIPHON_CONV_KEPT_ITEM_H

#include "conv/item.h"

struct kept_item {
    str id;            /* plain text */
    str body;          /* one line of JSON */
    bool is_reference; /* an item_reference: id names another item, body is STR_NONE */
    bool is_partial;   /* of kept_items_read(): a call without its output, which a stored item of
                          this id may have */
};

struct kept_items {
    struct kept_item *v; /* all in the arena */
    size_t n;
};

/* input is a raw value that item_list_parse() has accepted, or STR_NONE. Ids that are missing
 * come from ids. Returns 0, or -1 when out of memory. */
int kept_items_make(str input, const struct id_source *ids, struct arena *a, struct kept_items *ret,
                    struct err *reterr);

/* The same for items that nobody has looked at yet: the error names the place of
 * the first that is wrong below at, as in `items[3].role`. */
int kept_items_read(str input, const struct path *at, const struct input_options *o,
                    const struct id_source *ids, struct arena *a, struct kept_items *ret,
                    struct err *reterr);

#endif
