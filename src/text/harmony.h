/* harmony.h -- the text that gpt-oss models write, taken apart as it arrives
 * (the Harmony response format; HARMONY 1).
 *
 *     <|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...
 *
 * Bytes in, messages out: a header, pieces of content, an end. The bytes may be cut
 * anywhere, the reports are the same but for the size of the pieces. Text that is no
 * Harmony at all is one message without a channel. What the format does not allow and
 * models produce all the same is repaired as HARMONY 1.3 to 1.6 tell, with a warning. */
#ifndef ANTIPHON_TEXT_HARMONY_H
#define ANTIPHON_TEXT_HARMONY_H

#include <stdbool.h>

#include "base/buf.h"
#include "text/utf8_pieces.h"

enum harmony_channel {
    HARMONY_NO_CHANNEL,
    HARMONY_ANALYSIS,
    HARMONY_COMMENTARY,
    HARMONY_FINAL,
    HARMONY_OTHER_CHANNEL,
};

/* A header in plain text; empty: not there. Views that die with the report. */
struct harmony_header {
    bool is_assistant; /* the others end the turn and are not reported */
    str role;          /* as it stands there */
    enum harmony_channel channel;
    str recipient;    /* without "to=" */
    str content_type; /* without the marker; tells nothing about where the message goes */
};

/* What closed a message. */
enum harmony_end {
    HARMONY_END,
    HARMONY_RETURN,
    HARMONY_CALL,
    HARMONY_END_OF_TEXT,
    HARMONY_IMPLICIT, /* a new header without terminator */
    HARMONY_END_OF_STREAM,
};

/* Every on_message is followed by any number of on_content and one on_end, before the next. All
 * are needed; none may call the parser. */
struct harmony_handler {
    void (*on_message)(void *arg, const struct harmony_header *header);
    void (*on_content)(void *arg, str plain); /* valid UTF-8, not empty, no half character */
    void (*on_end)(void *arg, enum harmony_end by);
    /* Reports what the log should have, which has to limit it: what, a constant, and the model's
     * text in question, which may be empty and is cut to 120 bytes. */
    void (*on_warning)(void *arg, const char *what, str text);
    /* Did the request declare a function of this name (without "functions.")? */
    bool (*is_function)(void *arg, str name);
};

enum harmony_state { HARMONY_IN_HEADER, HARMONY_IN_CONTENT, HARMONY_BETWEEN, HARMONY_DONE };

/* The parser. Zeroed but for the handler, it reads what follows a prompt that ends in
 * <|start|>assistant. All members are its own, but is_cut_off and out_of_memory may be read. */
struct harmony {
    const struct harmony_handler *handler;
    void *arg;
    enum harmony_state state;
    bool is_opened;   /* what the text opens with is known: Harmony, or bare text */
    bool is_explicit; /* the header at hand began with <|start|> */
    bool is_dropping; /* all text up to the next marker: there was too much of it */
    bool is_last;     /* <|return|> behind the message at hand ends the turn */
    bool is_cut_off;  /* somebody else than the assistant began to speak: stop reading */
    bool out_of_memory;
    struct buf held;  /* the opening, header or stray text at hand; 4 KB at most */
    size_t n_space;   /* white space that the opening begins with */
    char pending[24]; /* what may become a marker */
    size_t n_pending;
    struct utf8_pieces whole; /* the end of the content */
    struct buf mended;        /* text made valid, while it is reported */
};

void harmony_init(struct harmony *h, const struct harmony_handler *handler, void *arg);
void harmony_fini(struct harmony *h);

/* The text begins with an explicit <|start|>. */
void harmony_expect_start(struct harmony *h);

/* The prompt already has this header, with its <|message|>: the text begins with content, and
 * on_message is reported at once. */
void harmony_begin_content(struct harmony *h, const struct harmony_header *header);

/* Reads more bytes. False when memory ran out; then nothing more is reported. */
bool harmony_feed(struct harmony *h, str bytes);

/* The text ended: reports what was held back. */
bool harmony_finish(struct harmony *h);

/* The turn is over, whatever follows. */
static inline bool harmony_is_done(const struct harmony *h)
{
    return h->state == HARMONY_DONE;
}

#endif
