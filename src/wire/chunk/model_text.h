/* model_text.h -- plain text of a model, taken apart.
 *
 * Some servers pass on what a model wrote as it is: Harmony, reasoning in tags, calls as text.
 * The parsers of text/ read it here, as far as the configuration says so, and it goes on as
 * deltas. Part of the reader of chunks (chat_chunk.h). */
#ifndef ANTIPHON_WIRE_CHUNK_MODEL_TEXT_H
#define ANTIPHON_WIRE_CHUNK_MODEL_TEXT_H

#include "text/harmony.h"
#include "text/harmony_route.h"
#include "text/text_calls.h"
#include "text/think.h"
#include "wire/chunk/delta.h"
#include "wire/dialect/model_profile.h"
#include "wire/tools/tool_set.h"

enum model_harmony {
    MODEL_HARMONY_OFF,
    MODEL_HARMONY_AUTO, /* if the text opens with one of its markers (HARMONY 2) */
    MODEL_HARMONY_ON,
};

/* Zeroed: text is text. */
struct model_text_conf {
    enum model_harmony harmony;
    enum model_think think;
    enum text_call_format calls;
    const struct tool_set *tools; /* of the request; or NULL */
    str begun_call; /* Harmony: the prompt ends in the header of this call; or empty */
    bool has_python, has_browser; /* Harmony: the request has these built-in tools */
    size_t max_held_bytes;        /* of text of which it is not clear yet what it is; 0: no limit */
};

struct model_text {
    struct model_text_conf conf;
    /* OPENING: it is not clear yet whether it is Harmony. PLAIN: all that follows is text. */
    enum { MODEL_TEXT_PLAIN, MODEL_TEXT_OPENING, MODEL_TEXT_HARMONY, MODEL_TEXT_SPLIT } state;
    struct buf opening; /* while that is not clear */
    struct harmony harmony;
    struct harmony_route route; /* of the message at hand; its texts are not kept */
    unsigned call;              /* the number of the call at hand */
    bool is_silent;             /* nothing of the message at hand was said yet */
    bool is_of_prompt;          /* its header is that of the prompt, and nothing says yet that the
                                   model goes on with it */
    bool may_be_stripped;       /* it may open with the name of a channel, */
    size_t n_stripped;          /* of which so many bytes were there */
    struct think think;
    struct text_calls calls;
    struct buf plain; /* scratch: the piece at hand, decoded */
    struct buf reasoning, text, scratch;
    unsigned n_repairs;      /* of what a model wrote wrong */
    const char *last_repair; /* what the last was, a constant; NULL: there was none */
};

void model_text_init(struct model_text *m, const struct model_text_conf *conf);
void model_text_fini(struct model_text *m);

/* All that follows is text: it need not be given to model_text_feed(). */
static inline bool model_text_is_plain(const struct model_text *m)
{
    return m->state == MODEL_TEXT_PLAIN;
}

/* The text opens with this, escaped or not, in which nothing has to be looked for: from here on
 * it is plain. False also when that takes a closer look. */
bool model_text_opens_plain(struct model_text *m, str escaped);

/* What comes now is no part of the answer's text, whose tokens could be counted. */
bool model_text_is_markup(const struct model_text *m);

/* The model began to speak as somebody else: nothing that follows counts (HARMONY 1.4). */
bool model_text_is_cut_off(const struct model_text *m);

#endif
