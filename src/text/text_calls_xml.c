/* text_calls_xml.c -- the three formats of <tool_call>. What follows the tag tells which it is:
 *
 *     {"name": ..., "arguments": ...}                          Hermes, Qwen 2.5 and 3
 *     <function=N><parameter=K>V</parameter>...</function>     Qwen 3 Coder, Qwen 3.5
 *     N<arg_key>K</arg_key><arg_value>V</arg_value>...         GLM 4.5
 *
 * The values of the last two are texts, which become JSON by the declared type. */
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "text/text_calls_grammar.h"

/* ---- values */

static const struct {
    str type;
    enum jr_type allows[2];
} types[] = {
    {STR_INIT("integer"), {JR_NUMBER, JR_NUMBER}}, {STR_INIT("number"), {JR_NUMBER, JR_NUMBER}},
    {STR_INIT("boolean"), {JR_TRUE, JR_FALSE}},    {STR_INIT("array"), {JR_ARRAY, JR_ARRAY}},
    {STR_INIT("object"), {JR_OBJECT, JR_OBJECT}},
};

enum { N_TYPES = COUNT_OF(types) };

/* True for JSON of the type; any JSON is of a type that is not known. */
static bool fits_type(str json, str type)
{
    enum jr_type is = jr_type_of(json);

    for (size_t i = 0; i < N_TYPES; i++) {
        if (str_eq(type, types[i].type) && is != JR_NULL && is != types[i].allows[0] &&
            is != types[i].allows[1])
            return false;
    }
    return jr_is_valid(json);
}

/* The value as JSON of its type, or STR_NONE: then it is a string. */
static str typed_json(str value, str type)
{
    str json = str_trim(value);

    if (str_eq(type, STR("string")))
        return STR_NONE;
    if (type.len > 0) /* templates written in Python show its words to the model */
        json = text_calls_json_word(json);
    return fits_type(json, type) ? json : STR_NONE;
}

/* ---- arguments, built as they come */

static struct jw to_arguments(struct text_calls *t)
{
    return (struct jw){.out = &t->arguments, .comma = t->arguments.len > 1};
}

static bool take_function(struct text_calls *t, str read)
{
    return text_take_name(t, read) && text_calls_keep(t, &t->arguments, STR("{"));
}

static bool take_key(struct text_calls *t, str read)
{
    return text_calls_keep(t, &t->key, str_trim(read));
}

static bool take_value(struct text_calls *t, str read)
{
    str key = buf_str(&t->key);
    str json = typed_json(read, t->handler->parameter_type(t->arg, buf_str(&t->name), key));
    struct jw w = to_arguments(t);

    jw_string(&w, key);
    buf_char(w.out, ':');
    w.comma = false;
    if (str_is_none(json))
        jw_string(&w, read);
    else
        json_copy_element(&w, json);
    t->out_of_memory |= buf_failed(w.out);
    return !t->out_of_memory;
}

/* Takes a value that has lines of its own: one line end at each edge is not part of it. */
static bool take_value_lines(struct text_calls *t, str read)
{
    if (str_starts_with(read, STR("\r\n")))
        read = str_skip(read, 2);
    else if (str_starts_with(read, STR("\n")))
        read = str_skip(read, 1);
    if (str_ends_with(read, STR("\n")))
        read.len--;
    if (str_ends_with(read, STR("\r")))
        read.len--;
    return take_value(t, read);
}

static bool report_call(struct text_calls *t, str read)
{
    struct jw w = to_arguments(t);

    (void)read;
    jw_object_end(&w);
    t->out_of_memory |= buf_failed(w.out);
    if (!t->out_of_memory)
        text_calls_report(t, buf_str(&t->name), buf_str(w.out), STR(""));
    return !t->out_of_memory;
}

/* Takes <tool_call>word</tool_call>, which is a call when the word is a declared function. */
static bool take_function_alone(struct text_calls *t, str read)
{
    return text_calls_is_function(t, read) && take_function(t, read) && report_call(t, STR(""));
}

/* ---- the steps */

enum {
    OPENED = 1,
    OBJECT,
    QWEN_NAME,
    QWEN_NEXT,
    QWEN_KEY,
    QWEN_VALUE,
    GLM_NAME,
    GLM_NEXT,
    GLM_KEY,
    GLM_BETWEEN,
    GLM_VALUE,
};

static const struct text_step steps[] = {
    [OPENED] = {WISH_MARK,
                {SEEING("{", OBJECT, NULL), TO("<function=", QWEN_NAME, NULL),
                 ANYWAY(GLM_NAME, NULL)},
                NULL},
    [OBJECT] = {WISH_JSON, {ANYWAY(COMPLETE, text_take_calls)}, NULL},
    [QWEN_NAME] = {WISH_NAME, {TO(">", QWEN_NEXT, take_function)}, NULL},
    [QWEN_NEXT] = {WISH_MARK,
                   {TO("<parameter=", QWEN_KEY, NULL), TO("</function>", COMPLETE, report_call)},
                   NULL},
    [QWEN_KEY] = {WISH_TEXT, {TO(">", QWEN_VALUE, take_key)}, NULL},
    [QWEN_VALUE] = {WISH_TEXT, {TO("</parameter>", QWEN_NEXT, take_value_lines)}, NULL},
    [GLM_NAME] = {WISH_NAME,
                  {TO("<arg_key>", GLM_KEY, take_function),
                   TO("</tool_call>", COMPLETE, take_function_alone)},
                  NULL},
    [GLM_NEXT] = {WISH_MARK,
                  {TO("<arg_key>", GLM_KEY, NULL), TO("</tool_call>", COMPLETE, report_call)},
                  report_call},
    [GLM_KEY] = {WISH_TEXT, {TO("</arg_key>", GLM_BETWEEN, take_key)}, NULL},
    [GLM_BETWEEN] = {WISH_MARK, {TO("<arg_value>", GLM_VALUE, NULL)}, NULL},
    [GLM_VALUE] = {WISH_TEXT, {TO("</arg_value>", GLM_NEXT, take_value)}, NULL},
};

const struct text_grammar text_grammar_tool_call = {
    .openings = {{STR_INIT("<tool_call>"), OPENED, false, ANYWHERE}},
    .closings = {STR_INIT("</tool_call>")},
    .steps = steps,
};

/* Qwen Coder models forget the outer tag at times. */
const struct text_grammar text_grammar_qwen_coder = {
    .openings = {{STR_INIT("<tool_call>"), OPENED, false, ANYWHERE},
                 {STR_INIT("<function="), QWEN_NAME, false, ANYWHERE}},
    .closings = {STR_INIT("</tool_call>")},
    .steps = steps,
};
