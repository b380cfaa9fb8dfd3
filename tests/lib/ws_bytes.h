/* ws_bytes.h -- frames of a client, written as in ws_cases.def, as bytes. */
#ifndef ANTIPHON_TESTS_LIB_WS_BYTES_H
#define ANTIPHON_TESTS_LIB_WS_BYTES_H

#include "base/buf.h"

/* Appends the frames; ends the process when they are not written as ws_cases.def says. */
void ws_bytes(const char *frames, struct buf *out);

/* Appends bytes as %HH where they are no visible ASCII, or only their number when there are
 * many: how a case shows them. */
void ws_show(str bytes, struct buf *out);

#endif
