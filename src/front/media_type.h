/* media_type.h -- does a request say that its body is JSON? (415, CONTRACT 7.2)
 *
 * It has to: a web page may send other sites plain text and forms without asking
 * first, and no page can ask us unless it is one of cors_origins. */
#ifndef ANTIPHON_FRONT_MEDIA_TYPE_H
#define ANTIPHON_FRONT_MEDIA_TYPE_H

#include "http/http_server.h"

/* Looks at a POST that has a body. Where it may hold a file, whatever can be no
 * page's plain text is taken. Returns 0, or -1 with *reterr filled: 415. */
int media_type_check(const struct http_request *r, bool may_be_file, struct err *reterr);

#endif
