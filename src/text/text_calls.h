/* text_calls.h -- tool calls that a model writes into its text, for servers without a parser for
 * them (HARMONY 5).
 *
 * Plain text in, in any cutting; out come text and calls, each call as soon as it is complete.
 * White space next to a call is not part of the text. What turns out to be no call, or a broken
 * one, is text, in full and in its place; calls behind it are still found. The sum of what is
 * reported does not depend on the cutting. Each byte is looked at once. */
#ifndef ANTIPHON_TEXT_TEXT_CALLS_H
#define ANTIPHON_TEXT_TEXT_CALLS_H

#include <stdbool.h>

#include "base/buf.h"
#include "text/text_span.h"

/* The first three open with the same tag; each of them reads all three forms, since what follows
 * tells. */
enum text_call_format {
    TEXT_CALLS_NONE,
    TEXT_CALLS_HERMES,     /* Qwen 2.5 and 3, and others */
    TEXT_CALLS_QWEN_CODER, /* also Qwen 3.5 */
    TEXT_CALLS_GLM,
    TEXT_CALLS_LLAMA3,   /* also without a marker, if the whole text names a declared function */
    TEXT_CALLS_MISTRAL,  /* both forms; the array also without a marker, as Llama 3 */
    TEXT_CALLS_DEEPSEEK, /* V3 and V3.1 */
    TEXT_CALLS_KIMI,
    TEXT_CALLS_PYTHONIC, /* Llama 4: at the beginning of a line, if it names a declared function */
};

/* A call that was found. Views that die with the report. */
struct text_call {
    str name;      /* plain */
    str arguments; /* plain: a JSON object, the model's own bytes where they are JSON already */
    str id;        /* plain; empty when the format has none */
};

/* Reports of the scanner. No function may be NULL, and none may call the scanner. */
struct text_calls_handler {
    void (*on_text)(void *arg, str plain); /* not empty; no half character unless it came so */
    void (*on_call)(void *arg, const struct text_call *call);
    /* Did the request declare a function of this name? */
    bool (*is_function)(void *arg, str name);
    /* The declared type of a parameter ("string", "integer" ...), or empty: for formats whose
     * values have none. */
    str (*parameter_type)(void *arg, str function, str parameter);
};

struct text_grammar;
struct text_step;

/* State of a scanner, all its own. */
struct text_calls {
    const struct text_grammar *grammar; /* NULL: everything is text */
    const struct text_calls_handler *handler;
    void *arg;
    enum { TEXT_OUTSIDE, TEXT_IN_CALL, TEXT_BEHIND_CALL } state;
    bool has_spoken;    /* there was a call, or text that is not white space */
    bool is_line_start; /* nothing stands in this line yet */
    bool out_of_memory;
    struct buf space; /* white space that may turn out to stand next to a call */
    struct buf held;  /* what may become a mark, or the call at hand */
    const struct text_step *step;
    size_t at, seen;       /* in the call at hand: where its step began, how far it has looked */
    struct text_span span; /* of the value at hand */
    size_t n_closed;       /* behind a call: closing marks passed */
    struct buf name, id, key, arguments;
};

/* handler lives as long as t. */
void text_calls_init(struct text_calls *t, enum text_call_format format,
                     const struct text_calls_handler *handler, void *arg);
void text_calls_fini(struct text_calls *t);

/* Scans more text. False when memory ran out; then nothing more is reported. */
bool text_calls_feed(struct text_calls *t, str plain);

/* The number of bytes that are held back. */
static inline size_t text_calls_held(const struct text_calls *t)
{
    return t->space.len + t->held.len;
}

/* The text ended, or is interrupted: what was held back is a call without its closing mark, or
 * text. */
bool text_calls_finish(struct text_calls *t);

#endif
