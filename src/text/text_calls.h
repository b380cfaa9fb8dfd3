/* text_calls.h -- tool calls that a model writes into its text, for servers without a parser for
 * them (HARMONY 5).
 *
 * Plain text in, in any cutting; out come text and calls. What turns out to be no call, or a
 * broken one, is text, in full: nothing is lost. */
#ifndef ANTIPHON_TEXT_TEXT_CALLS_H
#define ANTIPHON_TEXT_TEXT_CALLS_H

#include <stdbool.h>

#include "base/buf.h"

/* In the order of the words of text_calls in config.def, behind `off` and `auto`. */
enum text_call_format {
    TEXT_CALLS_NONE,
    TEXT_CALLS_HERMES,     /* Qwen 2.5 and 3, and others; of the same opening tag is */
    TEXT_CALLS_QWEN_CODER, /* also Qwen 3.5 */
    TEXT_CALLS_GLM,
    TEXT_CALLS_LLAMA3,
    TEXT_CALLS_MISTRAL,  /* both forms */
    TEXT_CALLS_DEEPSEEK, /* V3 and V3.1 */
    TEXT_CALLS_KIMI,
    TEXT_CALLS_PYTHONIC, /* Llama 4 */
};

/* Views that die with the report. */
struct text_call {
    str name;      /* plain */
    str arguments; /* plain: a JSON text, the model's own bytes where they are JSON already */
    str id;        /* plain; empty when the format has none */
};

struct text_calls_handler {
    void (*on_text)(void *arg, str plain); /* not empty; no half character unless it came so */
    void (*on_call)(void *arg, const struct text_call *call);
    /* Did the request declare a function of this name? */
    bool (*is_function)(void *arg, str name);
    /* The declared type of a parameter ("string", "integer" ...), or empty: for formats whose
     * values have none. */
    str (*parameter_type)(void *arg, str function, str parameter);
};

/* All members are the scanner's own; more may be added. Zeroed with a format of
 * TEXT_CALLS_NONE everything is text. */
struct text_calls {
    enum text_call_format format;
    const struct text_calls_handler *handler;
    void *arg;
    struct buf held;
    bool is_plain; /* nothing can follow but text */
    bool out_of_memory;
};

void text_calls_init(struct text_calls *t, enum text_call_format format,
                     const struct text_calls_handler *handler, void *arg);
void text_calls_fini(struct text_calls *t);

/* False when memory ran out; then nothing more is reported. */
bool text_calls_feed(struct text_calls *t, str plain);
bool text_calls_finish(struct text_calls *t);

#endif
