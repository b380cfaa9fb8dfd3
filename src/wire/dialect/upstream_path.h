/* upstream_path.h -- what a server can be asked about itself: the rows of upstream_path.def. */
#ifndef ANTIPHON_WIRE_DIALECT_UPSTREAM_PATH_H
#define ANTIPHON_WIRE_DIALECT_UPSTREAM_PATH_H

#include "base/str.h"
#include "wire/dialect/upstream_kind.h"

enum upstream_path {
#define UPSTREAM_PATH(symbol, method, kind, text) UPSTREAM_PATH_##symbol,
#include "wire/dialect/upstream_path.def"
    UPSTREAM_PATHS
};

/* "/props" */
str upstream_path_text(enum upstream_path path);

/* "GET"; a POST names the model that it is about: {"model":"NAME"}. */
const char *upstream_path_method(enum upstream_path path);
bool upstream_path_is_post(enum upstream_path path);

/* Is it asked of servers of this kind? Not what is asked of all. */
bool upstream_path_is_of(enum upstream_path path, enum upstream_kind kind);

/* What the text stands behind: the base URL, or its root, which is the base without a /v1 at its
 * end. */
str upstream_path_base(enum upstream_path path, str base);
str upstream_root(str base);

#endif
