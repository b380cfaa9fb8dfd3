/* key_command.c -- makes keys, and the lines by which they are recognised.
 *
 * Keys are never words of the command line: every user of the machine can read
 * those. */
#include "cli/key_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/api_key.h"
#include "access/key_setting.h"
#include "base/id.h"
#include "cli/command_line.h"
#include "config/prose.h"
#include "ev/loop.h"

enum { EXIT_USAGE = 2 };

/* Prints the text, unless it could not be made, and frees it. */
static int print_made(struct buf *text, bool is_made)
{
    bool is_printed = is_made && !buf_failed(text) && fputs(buf_cstr(text), stdout) != EOF &&
                      fflush(stdout) != EOF;

    buf_fini(text);
    if (is_printed)
        return EXIT_SUCCESS;
    (void)fputs("antiphon: cannot write to standard output\n", stderr);
    return EXIT_FAILURE;
}

/* SDKs and scanners for lost keys know the beginning "sk-". */
static struct id random_key(void)
{
    const struct id_source source = {random_fill, NULL};

    return id_make(&source, "sk-antiphon-", ID_RANDOM_CHARS);
}

static int make_nameless(void)
{
    const struct id key = random_key();
    struct buf text = {.limit = 0};

    buf_c(&text, "A key for the gateway (ANTIPHON_API_KEY) and for its clients (api_key of SDKs):\n"
                 "\n    ");
    buf_append(&text, id_str(&key));
    buf_c(&text, "\n\nTo tell clients apart, give each a key with a name: antiphon key NAME\n");
    return print_made(&text, true);
}

static int make_named(str name, str settings)
{
    const struct id key = random_key();
    struct buf text = {.limit = 0};

    buf_c(&text, "The key of ");
    buf_append(&text, name);
    buf_c(&text, ", for the client alone (api_key of SDKs); it is not shown again:\n\n    ");
    buf_append(&text, id_str(&key));
    buf_c(&text,
          "\n\nIts line for the file that --api-keys-file names, which is read at start and on "
          "SIGHUP:\n\n    ");
    return print_made(&text, api_key_line(name, id_str(&key), settings, &text));
}

static int hash_input(str name, str settings)
{
    struct buf text = {.limit = 0};
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    str key;
    int status;

    if (isatty(STDIN_FILENO))
        (void)fputs("Key: ", stderr);
    n = getline(&line, &size, stdin);
    key = n == -1 ? STR("") : str_trim(str_from(line, (size_t)n));
    if (api_key_is_key(key))
        status = print_made(&text, api_key_line(name, key, settings, &text));
    else
        status = command_refuse_usage(
            "standard input must hold a key: visible ASCII characters without spaces");
    free(line);
    return status;
}

/* ---- settings, which are flags here */

/* The setting that a flag is, "--rpm" or "--rpm=60". */
static bool find_flag(str flag, enum key_setting *ret, str *ret_value)
{
    const size_t n = str_find_char(flag, '=');

    *ret_value = n < flag.len ? str_skip(flag, n + 1) : STR_NONE;
    for (unsigned i = 0; i < KEY_SETTINGS; i++) {
        *ret = (enum key_setting)i;
        if (str_starts_with(flag, STR("--")) &&
            str_eq(str_skip(str_from(flag.p, n), 2), key_setting_word(*ret)))
            return true;
    }
    return false;
}

/* Appends what the flags say, as it stands in a line. Returns 0, or -1 after it has said what is wrong. */
static int read_flags(int n_args, const char *const *args, struct buf *settings)
{
    for (int i = 0; i < n_args; i++) {
        enum key_setting which;
        str value;

        if (!find_flag(str_from_c(args[i]), &which, &value)) {
            (void)command_refuse_usage(
                "behind the name only settings may stand, such as --rpm 60; antiphon key "
                "--help lists them"); /* the word may be a key */
            return -1;
        }
        if (str_is_none(value) && key_setting_has_value(which))
            value = str_from_c(++i < n_args ? args[i] : "");
        buf_c(settings, settings->len == 0 ? "" : " ");
        buf_append(settings, key_setting_word(which));
        if (!str_is_none(value)) {
            buf_char(settings, '=');
            buf_append(settings, value);
        }
    }
    return 0;
}

static int check_settings(str settings)
{
    struct key_settings read;
    struct buf why = {.limit = 0};
    const bool is_good = key_settings_read(settings, &read, &why);

    if (!is_good)
        (void)command_refuse_usage(buf_cstr(&why));
    buf_fini(&why);
    return is_good ? 0 : -1;
}

/* ---- the command */

static int print_help(void)
{
    static const struct {
        const char *word, *value, *help;
    } rows[] = {
#define KEY_SETTING(symbol, word, value, rule, help) {word, value, help},
#include "access/key_setting.def"
    };
    struct buf more = {.limit = 0};
    int status;

    buf_c(&more, "\nsettings:\n\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        buf_c(&more, "  --");
        buf_c(&more, rows[i].word);
        buf_c(&more, rows[i].value == NULL ? "" : " ");
        buf_c(&more, rows[i].value == NULL ? "" : rows[i].value);
        buf_char(&more, '\n');
        prose_wrap(rows[i].help, &more);
    }
    status = command_print_help("key", buf_cstr(&more));
    buf_fini(&more);
    return status;
}

static int make_line(bool is_hash, str name, int n_flags, const char *const *flags)
{
    struct buf settings = {.limit = 0};
    int status = EXIT_USAGE;

    if (!api_key_is_name(name))
        status = command_refuse_usage(
            "a name has up to 64 visible ASCII characters, the first not # or -");
    else if (read_flags(n_flags, flags, &settings) == 0 && check_settings(buf_str(&settings)) == 0)
        status =
            is_hash ? hash_input(name, buf_str(&settings)) : make_named(name, buf_str(&settings));
    buf_fini(&settings);
    return status;
}

int key_command(int n_args, const char *const *args)
{
    const bool is_hash = n_args > 0 && strcmp(args[0], "hash") == 0;
    const int at = is_hash ? 1 : 0;

    if (command_asks_for_help(n_args, args))
        return print_help();
    if (n_args == 0)
        return make_nameless();
    if (at == n_args || args[at][0] == '-')
        return command_refuse_usage(
            "usage: antiphon key [NAME [settings]], or antiphon key hash NAME [settings]");
    return make_line(is_hash, str_from_c(args[at]), n_args - at - 1, args + at + 1);
}
