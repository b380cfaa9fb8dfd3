/* chat_loop_request.c -- find the few values that matter; replace them in the text. */
#include "wire/loop/chat_loop_request.h"

#include "json/json_read.h"
#include "json/json_text.h"

static const str field_names[CHAT_LOOP_FIELDS] = {
    [CHAT_LOOP_TOOLS] = STR_INIT("tools"),
    [CHAT_LOOP_TOOL_CHOICE] = STR_INIT("tool_choice"),
    [CHAT_LOOP_MESSAGES] = STR_INIT("messages"),
    [CHAT_LOOP_STREAM_OPTIONS] = STR_INIT("stream_options"),
};

/* ---- reading */

static bool is_absent(str raw)
{
    return str_is_none(raw) || jr_type_of(raw) == JR_NULL;
}

static bool is_string(str raw, str text)
{
    return jr_type_of(raw) == JR_STRING && json_text_eq(str_from(raw.p + 1, raw.len - 2), text);
}

static bool is_true(str raw)
{
    return jr_type_of(raw) == JR_TRUE;
}

/* Goes through the members. Of one given twice the last counts. */
static bool find_members(struct chat_loop_request *r, str *ret_n)
{
    struct jr j;
    str name;

    jr_init(&j, r->body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &name)) {
        str *to = str_eq(name, STR("n")) ? ret_n : NULL;

        for (size_t i = 0; i < CHAT_LOOP_FIELDS && to == NULL; i++)
            to = str_eq(name, field_names[i]) ? &r->value[i] : NULL;
        if (to != NULL)
            *to = jr_raw(&j);
        else if (str_eq(name, STR("model")))
            r->model = jr_string(&j);
        else if (str_eq(name, STR("stream")))
            r->stream = jr_bool(&j, false);
        else
            jr_skip(&j);
    }
    return jr_end(&j);
}

/* The name in {"type":"function","function":{"name"}}, whatever the type is. */
static str tool_name(str tool)
{
    static const str holders[] = {STR_INIT("function"), STR_INIT("custom")};
    str name = jr_member_string(tool, STR("name"));

    for (size_t i = 0; i < COUNT_OF(holders) && str_is_none(name); i++)
        name = jr_member_string(jr_member(tool, holders[i]), STR("name"));
    return name;
}

static bool read_names(struct chat_loop_request *r, struct arena *a)
{
    size_t n = jr_count(r->value[CHAT_LOOP_TOOLS]);
    str *names = arena_array(a, n, sizeof(*names));
    struct jr j;

    if (n == 0)
        return true;
    if (names == NULL)
        return false;
    jr_init(&j, r->value[CHAT_LOOP_TOOLS]);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str escaped = tool_name(jr_raw(&j));

        if (str_is_none(escaped))
            continue;
        names[r->n_names] = json_text_dup(a, escaped);
        if (str_is_none(names[r->n_names++]))
            return false;
    }
    r->names = names;
    return true;
}

/* tool_choice is written like a tool. */
static bool read_forced(struct chat_loop_request *r, struct arena *a)
{
    const str choice = r->value[CHAT_LOOP_TOOL_CHOICE];
    const str escaped = jr_type_of(choice) == JR_OBJECT ? tool_name(choice) : STR_NONE;

    if (str_is_none(escaped))
        return true;
    r->forced = json_text_dup(a, escaped);
    return !str_is_none(r->forced);
}

bool chat_loop_request_read(str body, struct arena *a, struct chat_loop_request *ret)
{
    struct chat_loop_request r = {.body = str_trim(body), .model = STR_NONE, .forced = STR_NONE};
    str tools, n = STR_NONE;

    if (!find_members(&r, &n))
        return false;
    tools = r.value[CHAT_LOOP_TOOLS];
    if (jr_type_of(r.value[CHAT_LOOP_MESSAGES]) != JR_ARRAY ||
        (!is_absent(tools) && jr_type_of(tools) != JR_ARRAY) ||
        is_string(r.value[CHAT_LOOP_TOOL_CHOICE], STR("none")) ||
        (!is_absent(n) && !str_eq(n, STR("1"))))
        return false;
    r.include_usage = is_true(jr_member(r.value[CHAT_LOOP_STREAM_OPTIONS], STR("include_usage")));
    if (!read_names(&r, a) || !read_forced(&r, a))
        return false;
    *ret = r;
    return true;
}

/* ---- writing */

/* An array with elements behind its own. */
static void write_longer(str array, str more, struct buf *out)
{
    str inside = jr_type_of(array) == JR_ARRAY ? str_from(array.p + 1, array.len - 2) : STR("");

    buf_char(out, '[');
    buf_append(out, inside);
    if (str_trim(inside).len > 0 && more.len > 0)
        buf_char(out, ',');
    buf_append(out, more);
    buf_char(out, ']');
}

static str find_tool(str tools, str name)
{
    str tool = STR_NONE;
    struct jr j;

    jr_init(&j, tools);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str raw = jr_raw(&j);

        if (json_text_eq(tool_name(raw), name))
            tool = raw;
    }
    return tool;
}

static void write_tools(str raw, const struct chat_loop_additions *add, struct buf *out)
{
    struct buf all = {.limit = 0};

    if (str_is_none(add->only)) {
        write_longer(raw, add->tools, out);
        return;
    }
    write_longer(raw, add->tools, &all);
    write_longer(STR("[]"), find_tool(buf_str(&all), add->only), out);
    out->failed = out->failed || buf_failed(&all);
    buf_fini(&all);
}

static void write_messages(str raw, const struct chat_loop_additions *add, struct buf *out)
{
    if (add->messages.len > 0)
        write_longer(raw, add->messages, out);
    else
        buf_append(out, raw);
}

/* The text of an object or array with one value in it replaced. */
static void write_replaced(str raw, str value, str by, struct buf *out)
{
    buf_append(out, str_from(raw.p, (size_t)(value.p - raw.p)));
    buf_append(out, by);
    buf_append(out, str_skip(raw, (size_t)(value.p - raw.p) + value.len));
}

/* A choice of allowed tools goes on to forbid the others. */
static void write_tool_choice(str raw, const struct chat_loop_additions *add, struct buf *out)
{
    str mode = jr_member(jr_member(raw, STR("allowed_tools")), STR("mode"));

    if (!str_is_none(add->only))
        buf_append(out, add->choice);
    else if (!add->is_later_round || is_absent(raw))
        buf_append(out, raw);
    else if (!str_is_none(mode))
        write_replaced(raw, mode, STR("\"auto\""), out);
    else
        buf_append(out, STR("\"auto\""));
}

static void write_stream_options(str raw, const struct chat_loop_additions *add, struct buf *out)
{
    static const str wish = STR_INIT("\"include_usage\":true");
    str given = jr_member(raw, STR("include_usage"));
    str inside = jr_type_of(raw) == JR_OBJECT ? str_from(raw.p + 1, raw.len - 2) : STR("");

    if (!add->asks_for_usage || is_true(given)) {
        buf_append(out, raw);
    } else if (!str_is_none(given)) {
        write_replaced(raw, given, STR("true"), out);
    } else {
        buf_char(out, '{');
        buf_append(out, wish);
        if (str_trim(inside).len > 0)
            buf_char(out, ',');
        buf_append(out, inside);
        buf_char(out, '}');
    }
}

static void (*const writers[CHAT_LOOP_FIELDS])(str raw, const struct chat_loop_additions *add,
                                               struct buf *out) = {
    [CHAT_LOOP_TOOLS] = write_tools,
    [CHAT_LOOP_TOOL_CHOICE] = write_tool_choice,
    [CHAT_LOOP_MESSAGES] = write_messages,
    [CHAT_LOOP_STREAM_OPTIONS] = write_stream_options,
};

/* The first of the members that stand in rest; CHAT_LOOP_FIELDS when there is none. */
static size_t first_member(const struct chat_loop_request *r, str rest)
{
    size_t first = CHAT_LOOP_FIELDS;

    for (size_t i = 0; i < CHAT_LOOP_FIELDS; i++) {
        if (!str_is_none(r->value[i]) && r->value[i].p >= rest.p &&
            (first == CHAT_LOOP_FIELDS || r->value[i].p < r->value[first].p))
            first = i;
    }
    return first;
}

static void write_new_member(size_t member, const struct chat_loop_additions *add, struct buf *out)
{
    buf_append(out, STR(",\""));
    buf_append(out, field_names[member]);
    buf_append(out, STR("\":"));
    writers[member](STR_NONE, add, out);
}

void chat_loop_request_write(const struct chat_loop_request *r,
                             const struct chat_loop_additions *add, struct buf *out)
{
    str rest = str_from(r->body.p, r->body.len - 1); /* its messages are there, so a comma fits */

    for (size_t i; (i = first_member(r, rest)) < CHAT_LOOP_FIELDS;) {
        size_t n = (size_t)(r->value[i].p - rest.p);

        buf_append(out, str_from(rest.p, n));
        writers[i](r->value[i], add, out);
        rest = str_skip(rest, n + r->value[i].len);
    }
    buf_append(out, rest);
    if (str_is_none(r->value[CHAT_LOOP_TOOLS]))
        write_new_member(CHAT_LOOP_TOOLS, add, out);
    if (add->asks_for_usage && str_is_none(r->value[CHAT_LOOP_STREAM_OPTIONS]))
        write_new_member(CHAT_LOOP_STREAM_OPTIONS, add, out);
    buf_char(out, '}');
}
