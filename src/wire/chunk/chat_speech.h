/* chat_speech.h -- what the model says: text, refusal and reasoning become deltas.
 *
 * Part of the reader of chunks (chat_chunk.h), which calls these functions in
 * the order in which things are to be said. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_SPEECH_H
#define ANTIPHON_WIRE_CHUNK_CHAT_SPEECH_H

#include "wire/chunk/chat_reader.h"

/* A piece of escaped text; empty or STR_NONE says nothing. */
void chat_speak(struct chat_reader *r, enum delta_kind kind, str escaped);

/* Something else follows: half a character cannot be completed any more. */
void chat_speech_flush(struct chat_reader *r);

/* The answer ended: what was held back is said. */
void chat_speech_end(struct chat_reader *r);

/* Text of the answer, which is taken apart when that is wanted. */
void chat_speak_text(struct chat_reader *r, str escaped);

/* chat_speak_text() or chat_speak(); a chat_on_text whose arg is the reader. */
void chat_speak_either(void *arg, enum delta_kind kind, str escaped);

/* Plain text that was found in it, and the end of what it belongs to. phase is that of a text,
 * which may be empty then. */
void chat_say(struct chat_reader *r, enum delta_kind kind, enum phase phase, str plain);
void chat_say_item_end(struct chat_reader *r);

#endif
