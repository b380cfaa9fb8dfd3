/* text_calls_marks.c -- calls whose name stands between marks, before JSON arguments. */
#include "text/text_calls_grammar.h"

bool text_take_name(struct text_calls *t, str read)
{
    t->id.len = 0;
    return text_calls_keep(t, &t->name, read);
}

/* ---- Mistral: [TOOL_CALLS] before an array of objects, or before each name. The server may have
 * dropped the mark; then the array is the whole text. */

static bool take_id(struct text_calls *t, str read)
{
    return text_calls_keep(t, &t->id, read);
}

enum { M_OPENED = 1, M_OBJECTS, M_NAME, M_ID, M_ARGUMENTS, M_BARE, M_BARE_END };

static const struct text_step mistral_steps[] = {
    [M_OPENED] = {WISH_MARK,
                  {SEEING("[", M_OBJECTS, NULL), SEEING("{", M_OBJECTS, NULL),
                   ANYWAY(M_NAME, NULL)},
                  NULL},
    [M_OBJECTS] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_calls)}, NULL},
    [M_NAME] = {WISH_NAME,
                {TO("[CALL_ID]", M_ID, text_take_name), TO("[ARGS]", M_ARGUMENTS, text_take_name),
                 SEEING("{", M_ARGUMENTS, text_take_name)},
                NULL},
    [M_ID] = {WISH_NAME, {TO("[ARGS]", M_ARGUMENTS, take_id)}, NULL},
    [M_ARGUMENTS] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_arguments)}, NULL},
    [M_BARE] = {WISH_CALLS, {ANYWAY(M_BARE_END, text_take_declared)}, NULL},
    [M_BARE_END] = {WISH_MARK, {{.next = COMPLETE}}, text_take_calls},
};

const struct text_grammar text_grammar_mistral = {
    .openings = {{STR_INIT("[TOOL_CALLS]"), M_OPENED, false, ANYWHERE},
                 {STR_INIT("["), M_BARE, true, AT_TEXT_START}},
    .steps = mistral_steps,
};

/* ---- DeepSeek V3.1: name, separator, JSON; V3 has the word function for the name, and the name
 * and fenced JSON behind the separator. */

enum { D_SECTION = 1, D_NAME, D_SEPARATED, D_V3_NAME, D_ARGUMENTS };

static const struct text_step deepseek_steps[] = {
    [D_SECTION] = {WISH_MARK, {TO("<｜tool▁call▁begin｜>", D_NAME, NULL)}, NULL},
    [D_NAME] = {WISH_NAME, {TO("<｜tool▁sep｜>", D_SEPARATED, text_take_name)}, NULL},
    [D_SEPARATED] = {WISH_MARK, {SEEING("{", D_ARGUMENTS, NULL), ANYWAY(D_V3_NAME, NULL)}, NULL},
    [D_V3_NAME] = {WISH_NAME, {TO("```json", D_ARGUMENTS, text_take_name)}, NULL},
    [D_ARGUMENTS] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_arguments)}, NULL},
};

const struct text_grammar text_grammar_deepseek = {
    .openings = {{STR_INIT("<｜tool▁calls▁begin｜>"), D_SECTION, false, ANYWHERE},
                 {STR_INIT("<｜tool▁call▁begin｜>"), D_NAME, false, ANYWHERE}},
    .closings = {STR_INIT("```"), STR_INIT("<｜tool▁call▁end｜>"),
                 STR_INIT("<｜tool▁calls▁end｜>")},
    .steps = deepseek_steps,
};

/* ---- Kimi K2: the name is part of the id, functions.NAME:INDEX */

static bool take_kimi_id(struct text_calls *t, str read)
{
    str name = read;

    while (name.len > 0 && name.p[name.len - 1] >= '0' && name.p[name.len - 1] <= '9')
        name.len--;
    if (str_ends_with(name, STR(":")))
        name.len--;
    else
        name = read;
    if (str_starts_with(name, STR("functions.")))
        name = str_skip(name, STR("functions.").len);
    return name.len > 0 && text_calls_keep(t, &t->name, name) && text_calls_keep(t, &t->id, read);
}

enum { K_SECTION = 1, K_ID, K_ARGUMENTS };

static const struct text_step kimi_steps[] = {
    [K_SECTION] = {WISH_MARK, {TO("<|tool_call_begin|>", K_ID, NULL)}, NULL},
    [K_ID] = {WISH_NAME, {TO("<|tool_call_argument_begin|>", K_ARGUMENTS, take_kimi_id)}, NULL},
    [K_ARGUMENTS] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_arguments)}, NULL},
};

const struct text_grammar text_grammar_kimi = {
    .openings = {{STR_INIT("<|tool_calls_section_begin|>"), K_SECTION, false, ANYWHERE},
                 {STR_INIT("<|tool_call_begin|>"), K_ID, false, ANYWHERE}},
    .closings = {STR_INIT("<|tool_call_end|>"), STR_INIT("<|tool_calls_section_end|>")},
    .steps = kimi_steps,
};
