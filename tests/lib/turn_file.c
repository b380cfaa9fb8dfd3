/* turn_file.c -- sections between lines that start with three dashes. */
#include "lib/turn_file.h"

#include <stdio.h>
#include <stdlib.h>

str turn_file_line(str *text)
{
    size_t end = str_find_char(*text, '\n');
    str line = str_from(text->p, end);

    *text = str_skip(*text, end + 1);
    return line;
}

static bool read_bytes(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    size_t n = 1;

    while (f != NULL && n > 0) {
        char *to = buf_reserve(out, 65536);

        n = to == NULL ? 0 : fread(to, 1, 65536, f);
        out->len += n;
    }
    if (f != NULL)
        fclose(f);
    return f != NULL && !buf_failed(out);
}

/* ---- rounds */

static struct script_round *last_round(struct turn_file *t)
{
    return &t->script.rounds[t->script.n_rounds == 0 ? 0 : t->script.n_rounds - 1];
}

/* Each `upstream` begins one. */
static str *next_upstream(struct turn_file *t)
{
    if (t->script.n_rounds == MAX_SCRIPT_ROUNDS)
        return NULL;
    t->script.n_rounds++;
    return &last_round(t)->upstream;
}

/* ---- options */

/* The number behind name in an option such as "status 429". */
static bool number_option(str option, str name, int *ret)
{
    if (!str_starts_with(option, name))
        return false;
    *ret = atoi(option.p + name.len); /* a NUL or ")" follows the digits */
    return true;
}

static bool read_option(struct turn_file *t, str option)
{
    if (str_eq(option, STR("ends broken")))
        return t->ends_broken = true;
    if (str_eq(option, STR("last")))
        return last_round(t)->is_last = true;
    return number_option(option, STR("status "), &t->status) ||
           number_option(option, STR("retry-after "), &t->retry_after_s);
}

/* "(a, b)" or nothing. */
static bool read_options(struct turn_file *t, str options)
{
    options = str_trim(options);
    if (options.len == 0)
        return true;
    if (options.p[0] != '(' || options.p[options.len - 1] != ')')
        return false;
    options = str_from(options.p + 1, options.len - 2);
    while (options.len > 0) {
        size_t comma = str_find_char(options, ',');

        if (!read_option(t, str_trim(str_from(options.p, comma))))
            return false;
        options = str_skip(options, comma + 1);
    }
    return true;
}

/* ---- sections */

static str *section_named(struct turn_file *t, str name)
{
    struct {
        str name, *section;
    } sections[] = {
        {STR("options"), &t->options},
        {STR("request"), &t->request},
        {STR("tools"), &t->script.tools},
        {STR("before"), &t->script.before},
        {STR("sources"), &t->script.sources},
        {STR("outcomes"), &last_round(t)->outcomes},
        {STR("events"), &t->events},
        {STR("stream"), &t->stream},
        {STR("response"), &t->response},
        {STR("chat"), &t->chat},
        {STR("error"), &t->error},
    };

    if (str_eq(name, STR("upstream")))
        return next_upstream(t);
    for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
        if (str_eq(sections[i].name, name))
            return sections[i].section;
    }
    return NULL;
}

/* The text up to the next line of dashes, which stays. */
static str take_section(str *rest)
{
    size_t end = str_starts_with(*rest, STR("--- ")) ? 0 : str_find(*rest, STR("\n--- "));
    str section = str_from(rest->p, end == 0 || end == rest->len ? end : end + 1);

    *rest = str_skip(*rest, section.len);
    return section;
}

static bool read_sections(struct turn_file *t, str rest)
{
    t->words = take_section(&rest);
    while (rest.len > 0) {
        str head = str_skip(turn_file_line(&rest), 4);
        size_t name_len = str_find_char(head, ' ');
        str *section = section_named(t, str_from(head.p, name_len));

        if (section == NULL || !read_options(t, str_skip(head, name_len)))
            return false;
        *section = take_section(&rest);
    }
    return true;
}

bool turn_file_read(const char *path, struct turn_file *ret, const char **ret_fault)
{
    *ret = (struct turn_file){.status = 200};
    if (!read_bytes(path, &ret->bytes)) {
        *ret_fault = "cannot be read";
        return false;
    }
    if (!read_sections(ret, buf_str(&ret->bytes))) {
        *ret_fault = "has a section or option of an unknown name";
        return false;
    }
    if (str_is_none(ret->request)) {
        *ret_fault = "has no request";
        return false;
    }
    return true;
}

void turn_file_fini(struct turn_file *t)
{
    buf_fini(&t->bytes);
}
