/* local_shell.c -- only members of the right type are taken over. */
#include "response/local_shell.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"

struct arguments {
    str command, env, timeout_ms, working_directory; /* raw; the last one escaped text */
};

static bool holds_only_strings(str raw, enum jr_type type)
{
    struct jr j;
    bool ok = jr_type_of(raw) == type;
    str key;

    jr_init(&j, raw);
    if (!ok || !jr_enter(&j, type))
        return false;
    while (type == JR_OBJECT ? jr_next_member(&j, &key) : jr_next_element(&j)) {
        ok = ok && jr_peek(&j) == JR_STRING;
        jr_skip(&j);
    }
    return ok;
}

static bool read_arguments(str plain, struct arguments *ret)
{
    struct arguments a = {.command = STR_NONE};
    struct jr j;
    str key;

    jr_init(&j, plain);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("command")))
            a.command = jr_raw(&j);
        else if (str_eq(key, STR("env")))
            a.env = jr_raw(&j);
        else if (str_eq(key, STR("timeout_ms")) && jr_peek(&j) == JR_NUMBER)
            a.timeout_ms = jr_raw(&j);
        else if (str_eq(key, STR("workdir")) || str_eq(key, STR("working_directory")))
            a.working_directory = jr_string(&j);
        else
            jr_skip(&j);
    }
    *ret = a;
    return jr_end(&j) && holds_only_strings(a.command, JR_ARRAY);
}

static bool is_integer(str raw)
{
    return raw.len > 0 && raw.len < 16 && str_find_char(raw, '.') == raw.len &&
           str_find_char(raw, 'e') == raw.len && str_find_char(raw, 'E') == raw.len;
}

void local_shell_action(str escaped_arguments, struct buf *out)
{
    struct buf plain = {.limit = 0};
    struct arguments a = {.command = STR_NONE};
    struct jw w = jw_to(out);
    bool known;

    json_text_decode(escaped_arguments, &plain);
    known = read_arguments(buf_str(&plain), &a);
    jw_object(&w);
    jw_key_string(&w, "type", STR("exec"));
    if (known) {
        json_copy_key_value(&w, "command", a.command);
    } else {
        jw_key(&w, "command");
        jw_array(&w);
        jw_escaped(&w, escaped_arguments);
        jw_array_end(&w);
        a = (struct arguments){.command = STR_NONE};
    }
    json_copy_key_value(&w, "env", holds_only_strings(a.env, JR_OBJECT) ? a.env : STR("{}"));
    if (is_integer(a.timeout_ms))
        jw_key_raw(&w, "timeout_ms", a.timeout_ms);
    json_copy_given_text(&w, "working_directory", a.working_directory);
    jw_object_end(&w);
    out->failed = out->failed || buf_failed(&plain);
    buf_fini(&plain);
}
