/* gateway_table.c -- endpoints.def for README.md, and what the man page says of it and of
 * command.def; the marks of listeners. */
#include <ctype.h>

#include "base/version.h"
#include "roff.h"
#include "table.h"

#define GET       "GET"
#define POST      "POST"
#define PUT       "PUT"
#define PATCH     "PATCH"
#define DELETE    "DELETE"
#define WEBSOCKET "WEBSOCKET"
#define EVERY     "" /* its text says so */

static const struct {
    const char *methods, *path, *help;
} endpoints[] = {
#define ENDPOINT(methods, path, relay, answer, help) {methods, path, help},
#include "front/endpoints.def"
};

static const struct {
    const char *name, *arguments, *help;
} commands[] = {
#define COMMAND(function, name, arguments, help) {name, arguments, help},
#include "cli/command.def"
#undef COMMAND
};

enum {
    N_ENDPOINTS = sizeof(endpoints) / sizeof(*endpoints),
    N_COMMANDS = sizeof(commands) / sizeof(*commands),
};

static const char *space_between(const char *first, const char *second)
{
    return first[0] == '\0' || second[0] == '\0' ? "" : " ";
}

void table_endpoints(struct buf *out)
{
    buf_c(out, "| Method, path | What it does |\n|---|---|\n");
    for (size_t i = 0; i < N_ENDPOINTS; i++) {
        buf_c(out, "| `");
        buf_c(out, endpoints[i].methods);
        buf_c(out, space_between(endpoints[i].methods, endpoints[i].path));
        buf_c(out, endpoints[i].path);
        buf_c(out, "` | ");
        buf_c(out, endpoints[i].help);
        buf_c(out, " |\n");
    }
}

void table_admin_routes(struct buf *out)
{
    buf_c(out, "| Method, path | What it does |\n|---|---|\n");
#define ADMIN_ROUTE(method, path, answer, help)                                                    \
    buf_c(out, "| `" method " " path "` | " help " |\n");
#include "admin/admin_routes.def"
}

void table_key_settings(struct buf *out)
{
    static const struct {
        const char *word, *value, *help;
    } rows[] = {
#define KEY_SETTING(symbol, word, value, rule, help) {word, value, help},
#include "access/key_setting.def"
    };

    buf_c(out, "| Setting | What it says |\n|---|---|\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        buf_c(out, "| `");
        buf_c(out, rows[i].word);
        buf_c(out, rows[i].value == NULL ? "" : "=");
        buf_c(out, rows[i].value == NULL ? "" : rows[i].value);
        buf_c(out, "` | ");
        buf_c(out, rows[i].help);
        buf_c(out, " |\n");
    }
}

void table_listen_marks(struct buf *out)
{
    buf_c(out, "| Mark | What it does |\n|---|---|\n");
#define LISTEN_MARK(symbol, word, help) buf_c(out, "| `+" word "` | " help " |\n");
#include "base/listen_mark.def"
#undef LISTEN_MARK
}

static void write_paragraph(const char *first, const char *second, const char *help,
                            struct buf *out)
{
    buf_c(out, ".TP\n\\fB");
    roff_c(first, out);
    buf_c(out, space_between(first, second));
    roff_c(second, out);
    buf_c(out, "\\fR\n");
    roff_c(help, out);
    buf_char(out, '\n');
}

void man_endpoints(struct buf *out)
{
    for (size_t i = 0; i < N_ENDPOINTS; i++)
        write_paragraph(endpoints[i].methods, endpoints[i].path, endpoints[i].help, out);
}

void man_commands(struct buf *out)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        write_paragraph(commands[i].name, commands[i].arguments, commands[i].help, out);
}

/* How many bytes of a text are one word, as somebody would type it; 0: it begins otherwise. */
static size_t word_length(str text)
{
    size_t n = 0;

    while (n < text.len && (isalnum((unsigned char)text.p[n]) || text.p[n] == '-'))
        n++;
    return n;
}

/* Does the word stand for something else? "DURATION", "flags". */
static bool is_placeholder(str word)
{
    return isupper((unsigned char)word.p[0]) || str_eq(word, STR("flags"));
}

static void write_arguments(str rest, struct buf *out)
{
    while (rest.len > 0) {
        str word = str_from(rest.p, word_length(rest));

        if (word.len == 0) {
            buf_char(out, rest.p[0]);
            rest = str_skip(rest, 1);
            continue;
        }
        buf_c(out, is_placeholder(word) ? "\\fI" : "\\fB");
        roff_text(word, out);
        buf_c(out, "\\fR");
        rest = str_skip(rest, word.len);
    }
}

void man_synopsis(struct buf *out)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        buf_c(out, i == 0 ? "" : ".br\n");
        buf_c(out, "\\fBantiphon ");
        roff_c(commands[i].name, out);
        buf_c(out, "\\fR");
        buf_c(out, space_between(commands[i].name, commands[i].arguments));
        write_arguments(str_from_c(commands[i].arguments), out);
        buf_char(out, '\n');
    }
}

void man_title(struct buf *out)
{
    buf_c(out, ".TH ANTIPHON 1 \"\" \"antiphon " ANTIPHON_VERSION "\" \"User Commands\"\n");
}
