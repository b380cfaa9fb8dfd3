/* metrics_accept.h -- which form of the page a scraper wants (RFC 9110, 12.5.1). */
#ifndef ANTIPHON_METRICS_METRICS_ACCEPT_H
#define ANTIPHON_METRICS_METRICS_ACCEPT_H

#include "base/str.h"

enum metrics_format { METRICS_TEXT, METRICS_OPEN_METRICS };

/* By the value of Accept, STR_NONE without one. The greatest weight decides, and OpenMetrics between equal
 * ones; whoever wants neither gets the text, which every scraper reads. */
enum metrics_format metrics_accept(str accept);

/* Does the value of Accept-Encoding take gzip? */
bool metrics_accept_gzip(str accept_encoding);

str metrics_format_type(enum metrics_format format); /* for Content-Type */

#endif
