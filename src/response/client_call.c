/* client_call.c -- only members of the right type are taken over. */
#include "response/client_call.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"
#include "response/local_shell.h"

/* The arguments of a call. */
struct said {
    str escaped, plain; /* the text */
    str json;           /* the value; STR_NONE when the text is none */
};

/* ---- shell */

static bool is_list_of_texts(str raw)
{
    struct jr j;
    bool ok = jr_type_of(raw) == JR_ARRAY;

    jr_init(&j, raw);
    if (!ok || !jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j)) {
        ok = ok && jr_peek(&j) == JR_STRING;
        jr_skip(&j);
    }
    return ok;
}

/* One word for a shell, whatever is in it. */
static void write_quoted_word(str plain, struct jw *w)
{
    struct buf word = {0};

    buf_char(&word, '\'');
    for (size_t i = 0; i < plain.len; i++) {
        if (plain.p[i] == '\'')
            buf_append(&word, STR("'\\''"));
        else
            buf_char(&word, plain.p[i]);
    }
    buf_char(&word, '\'');
    jw_string(w, buf_str(&word));
    w->out->failed = w->out->failed || buf_failed(&word);
    buf_fini(&word);
}

/* Models that know a shell of one command write that. */
static void write_commands(const struct said *s, struct jw *w)
{
    const str commands = jr_member(s->json, STR("commands"));
    const str command = jr_member(s->json, STR("command"));

    if (is_list_of_texts(commands)) {
        json_copy_key_value(w, "commands", commands);
        return;
    }
    jw_key(w, "commands");
    jw_array(w);
    if (jr_type_of(commands) == JR_STRING)
        json_copy_element(w, commands);
    else if (jr_type_of(command) == JR_STRING)
        json_copy_element(w, command);
    else
        write_quoted_word(s->plain, w);
    jw_array_end(w);
}

static void write_count_or_null(const struct said *s, const char *key, struct jw *w)
{
    const int64_t n = jr_member_int(s->json, str_from_c(key), -1);

    jw_key(w, key);
    if (n < 0)
        jw_null(w);
    else
        jw_int(w, n);
}

static void write_shell_action(const struct said *s, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    write_commands(s, &w);
    write_count_or_null(s, "timeout_ms", &w);
    write_count_or_null(s, "max_output_length", &w);
    jw_object_end(&w);
}

/* ---- apply_patch */

/* A text member with something in it, or STR_NONE. */
static str text_member(str raw, const char *name)
{
    const str text = jr_member_string(raw, str_from_c(name));

    return text.len == 0 ? STR_NONE : text;
}

static bool is_operation(str raw)
{
    const str type = text_member(raw, "type");

    return !str_is_none(type) && !str_is_none(text_member(raw, "path")) &&
           (json_text_eq(type, STR("create_file")) || json_text_eq(type, STR("update_file")) ||
            json_text_eq(type, STR("delete_file")));
}

/* Models that know the item put the operation in a member of that name, as the item does. */
static str find_operation(str arguments)
{
    const str inner = jr_member(arguments, STR("operation"));

    return is_operation(arguments) || !is_operation(inner) ? arguments : inner;
}

static void write_operation(const struct said *s, struct buf *out)
{
    const str raw = find_operation(s->json);
    const str diff = jr_member_string(raw, STR("diff"));
    struct jw w = jw_to(out);

    jw_object(&w);
    if (!is_operation(raw)) {
        jw_key_string(&w, "type", STR("update_file"));
        jw_key_string(&w, "path", STR("."));
        jw_key_escaped(&w, "diff", s->escaped);
    } else {
        json_copy_key_text(&w, "type", text_member(raw, "type"));
        json_copy_key_text(&w, "path", text_member(raw, "path"));
        if (!json_text_eq(text_member(raw, "type"), STR("delete_file")))
            json_copy_key_text(&w, "diff", str_is_none(diff) ? STR("") : diff);
    }
    jw_object_end(&w);
}

/* ---- tool_search */

/* The client has said what they are to be, so it judges them; a text that is no JSON stays one. */
static void write_search(const struct said *s, struct buf *out)
{
    struct jw w = jw_to(out);

    if (!str_is_none(s->json))
        json_copy_value(s->json, out);
    else if (s->escaped.len == 0)
        buf_append(out, STR("{}"));
    else
        jw_escaped(&w, s->escaped);
}

/* ---- all */

typedef void call_writer(const struct said *s, struct buf *out);

static void write_local_shell(const struct said *s, struct buf *out)
{
    local_shell_action(s->escaped, out);
}

static call_writer *const writers[OUTPUT_KIND_COUNT] = {
    [OUTPUT_LOCAL_SHELL_CALL] = write_local_shell,
    [OUTPUT_SHELL_CALL] = write_shell_action,
    [OUTPUT_APPLY_PATCH_CALL] = write_operation,
    [OUTPUT_CLIENT_SEARCH_CALL] = write_search,
};

bool client_call_is(enum output_kind kind)
{
    return writers[kind] != NULL;
}

void client_call_write(enum output_kind kind, str escaped_arguments, struct buf *out)
{
    struct buf plain = {.limit = 0};
    struct said s = {.escaped = escaped_arguments};

    json_text_decode(escaped_arguments, &plain);
    s.plain = buf_str(&plain);
    s.json = jr_is_valid(s.plain) ? str_trim(s.plain) : STR_NONE;
    writers[kind](&s, out);
    out->failed = out->failed || buf_failed(&plain);
    buf_fini(&plain);
}
