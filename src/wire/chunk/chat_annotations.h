/* chat_annotations.h -- sources that an upstream names for its text. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_ANNOTATIONS_H
#define ANTIPHON_WIRE_CHUNK_CHAT_ANNOTATIONS_H

#include "wire/chunk/chat_reader.h"

/* `annotations`, raw: reports a DELTA_CITATION for every url_citation in it. */
void chat_annotations(struct chat_reader *r, str raw);

#endif
