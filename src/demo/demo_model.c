/* demo_model.c -- reads a chat request the way a server would, answers from rules. */
#include "demo/demo_model.h"

#include "base/utf8.h"
#include "demo/demo_example.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* The parts of a request that matter. */
struct chat {
    str model, last_role, last_text; /* escaped */
    str tools, tool_choice, response_format;
    int64_t max_tokens, prompt_bytes;
    bool stream, include_usage;
};

/* ---- reading */

/* The first text of a content: a string, or the first text part. */
static str content_text(struct jr *j)
{
    str key, text = STR("");

    if (jr_peek(j) == JR_STRING)
        return jr_string(j);
    if (!jr_enter(j, JR_ARRAY))
        return text;
    while (jr_next_element(j)) {
        if (!jr_enter(j, JR_OBJECT))
            continue;
        while (jr_next_member(j, &key)) {
            str value = str_eq(key, STR("text")) ? jr_string(j) : (jr_skip(j), STR_NONE);

            if (text.len == 0 && value.len > 0)
                text = value;
        }
    }
    return text;
}

static void read_messages(struct jr *j, struct chat *c)
{
    str key;

    if (!jr_enter(j, JR_ARRAY))
        return;
    while (jr_next_element(j)) {
        if (!jr_enter(j, JR_OBJECT))
            continue;
        while (jr_next_member(j, &key)) {
            if (str_eq(key, STR("role")))
                c->last_role = jr_string(j);
            else if (str_eq(key, STR("content")))
                c->last_text = content_text(j);
            else
                jr_skip(j);
        }
        c->prompt_bytes += (int64_t)c->last_text.len;
    }
}

static bool read_chat(str body, struct chat *c)
{
    struct jr j;
    str key;

    *c = (struct chat){.model = STR("demo"), .last_text = STR("")};
    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("model")))
            c->model = jr_string(&j);
        else if (str_eq(key, STR("messages")))
            read_messages(&j, c);
        else if (str_eq(key, STR("tools")))
            c->tools = jr_raw(&j);
        else if (str_eq(key, STR("tool_choice")))
            c->tool_choice = jr_raw(&j);
        else if (str_eq(key, STR("response_format")))
            c->response_format = jr_raw(&j);
        else if (str_eq(key, STR("max_tokens")) || str_eq(key, STR("max_completion_tokens")))
            c->max_tokens = jr_int(&j, 0);
        else if (str_eq(key, STR("stream")))
            c->stream = jr_bool(&j, false);
        else if (str_eq(key, STR("stream_options")))
            c->include_usage = str_eq(jr_member(jr_raw(&j), STR("include_usage")), STR("true"));
        else
            jr_skip(&j);
    }
    return jr_end(&j);
}

/* ---- calls */

/* True when the message asks for this tool. A forced choice asks for one by name, or for any. */
static bool tool_is_wanted(const struct chat *c, str message, str tool)
{
    str forced = jr_member_string(jr_member(c->tool_choice, STR("function")), STR("name"));

    if (!str_is_none(forced))
        return str_eq(forced, tool);
    return str_eq(c->tool_choice, STR("\"required\"")) ||
           (tool.len > 0 && str_find(message, tool) < message.len);
}

static str choose_arguments(struct arena *a, str message, str function)
{
    str rest = str_skip(message, str_find(message, STR(" with {")));
    str parameters = jr_member(function, STR("parameters"));
    struct jr j;

    jr_init(&j, str_skip(rest, STR(" with ").len));
    if (rest.len > 0) {
        str object = jr_raw(&j);

        if (!str_is_none(object))
            return object;
    }
    return demo_example(a, parameters);
}

static void choose_tool(const struct chat *c, struct arena *a, str message, struct demo_answer *ret)
{
    struct jr j;

    jr_init(&j, c->tools);
    if (str_eq(c->tool_choice, STR("\"none\"")) || !jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        str function = jr_member(jr_raw(&j), STR("function"));
        str name = jr_member_string(function, STR("name"));

        if (!str_is_none(ret->tool) || !tool_is_wanted(c, message, name))
            continue;
        ret->tool = name;
        ret->arguments = choose_arguments(a, message, function);
    }
}

/* ---- text */

static str quote_text(struct arena *a, const char *before, str quoted, const char *after)
{
    struct buf text = {.limit = 0};
    str result;

    buf_c(&text, before);
    buf_append(&text, str_from(quoted.p, utf8_cut(quoted, 400)));
    buf_c(&text, after);
    result = buf_failed(&text) ? STR_NONE : arena_dup(a, buf_str(&text));
    buf_fini(&text);
    return result;
}

static void choose_text(const struct chat *c, struct arena *a, str message, struct demo_answer *ret)
{
    str schema = jr_member(jr_member(c->response_format, STR("json_schema")), STR("schema"));

    if (str_has_nocase(message, STR("think")))
        ret->reasoning = quote_text(a, "The user wants me to think about it: \"", message,
                                    "\". I have no weights, so a rule has to do.");
    if (str_eq(c->last_role, STR("tool")))
        ret->text = quote_text(a, "The tool answered: ", message, "");
    else if (!str_is_none(schema))
        ret->text = demo_example(a, schema);
    else
        ret->text = quote_text(a, "Hello from the demo model inside Antiphon. You said: \"",
                               message, "\" Point --upstream at a real server for real answers.");
}

int demo_model_answer(str body, struct arena *a, struct demo_answer *ret, struct err *reterr)
{
    struct demo_answer answer = {.tool = STR_NONE};
    struct chat c;
    str message;

    if (!read_chat(body, &c)) {
        err_set(reterr, ERR_INVALID_JSON, "The request body is not valid JSON.");
        return -1;
    }
    message = json_text_dup(a, c.last_text);
    answer.model = json_text_dup(a, c.model);
    answer.prompt_tokens = c.prompt_bytes / 4 + 1;
    answer.max_tokens = c.max_tokens;
    answer.stream = c.stream;
    answer.include_usage = c.include_usage;
    if (str_eq(c.last_role, STR("user")))
        choose_tool(&c, a, message, &answer);
    if (str_is_none(answer.tool))
        choose_text(&c, a, message, &answer);
    *ret = answer;
    return 0;
}
