/* text_calls_grammar.h -- how the formats of text_calls.h are told: as tables.
 *
 * A grammar has marks that open calls, and steps. A step reads one thing, a name, a text, a value,
 * and moves on by the mark that ends it; a move may take what was read. A call is complete with
 * the move to step 0, where its `take` has reported it. Marks that may follow a call, and say
 * nothing, are the grammar's closings. text_calls.c walks through the tables. */
#ifndef ANTIPHON_TEXT_TEXT_CALLS_GRAMMAR_H
#define ANTIPHON_TEXT_TEXT_CALLS_GRAMMAR_H

#include "text/text_calls.h"

enum text_wish {
    WISH_MARK,   /* white space, then one of the marks */
    WISH_NAME,   /* white space around a name, then one of the marks */
    WISH_TEXT,   /* anything up to the mark, which is one */
    WISH_JSON,   /* white space, then an array or object */
    WISH_CALLS,  /* WISH_JSON, whose first member is one of a call */
    WISH_PYTHON, /* a list of calls, the first of a declared function */
};

enum { TEXT_MOVES = 3, COMPLETE = 0 };

/* Takes what a step has read; false: it is no call, and all of it is text. */
typedef bool text_take(struct text_calls *t, str read);

/* Ends with a mark of STR_NONE. */
struct text_move {
    str mark; /* empty: anything */
    unsigned next;
    text_take *take; /* or NULL */
    bool stays;      /* the mark is only looked at: it belongs to the next step */
};

/* Moves in tables: past the mark, or up to it; or whatever follows. */
#define TO(mark, next, take)                                                                       \
    {                                                                                              \
        STR_INIT(mark), next, take, false                                                          \
    }
#define SEEING(mark, next, take)                                                                   \
    {                                                                                              \
        STR_INIT(mark), next, take, true                                                           \
    }
#define ANYWAY(next, take)                                                                         \
    {                                                                                              \
        STR_INIT(""), next, take, true                                                             \
    }

struct text_step {
    enum text_wish wish;
    struct text_move moves[TEXT_MOVES];
    text_take *end; /* reports the call when the text ends here, given all of it; or NULL */
};

struct text_opening {
    str mark;
    unsigned step;
    bool stays;
    enum { ANYWHERE, AT_LINE_START, AT_TEXT_START } place;
};

struct text_grammar {
    struct text_opening openings[2];
    str closings[3]; /* in this order, each perhaps missing */
    const struct text_step *steps;
};

extern const struct text_grammar text_grammar_tool_call; /* Hermes, GLM */
extern const struct text_grammar text_grammar_qwen_coder;
extern const struct text_grammar text_grammar_llama3;
extern const struct text_grammar text_grammar_mistral;
extern const struct text_grammar text_grammar_deepseek;
extern const struct text_grammar text_grammar_kimi;
extern const struct text_grammar text_grammar_pythonic;

/* Reports a call. */
void text_calls_report(struct text_calls *t, str name, str arguments, str id);

/* Keeps plain text in one of the scanner's bufs. */
bool text_calls_keep(struct text_calls *t, struct buf *in, str plain);

bool text_calls_is_function(const struct text_calls *t, str name);

/* The constant of JSON for True, False and None of Python; every other word as it is. */
str text_calls_json_word(str word);

/* ---- takers that grammars share */

/* The name of the call at hand. */
bool text_take_name(struct text_calls *t, str read);

/* Arguments of the call at hand, which complete it: an object. */
bool text_take_arguments(struct text_calls *t, str read);

/* An object {name, arguments} or an array of such: calls. */
bool text_take_calls(struct text_calls *t, str read);

/* True when the calls are all of declared functions; reports nothing yet. */
bool text_take_declared(struct text_calls *t, str read);

#endif
