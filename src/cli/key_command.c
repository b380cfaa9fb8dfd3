/* key_command.c -- makes keys, and the lines by which they are recognised.
 *
 * Keys are never words of the command line: every user of the machine can read
 * those. */
#include "cli/key_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/api_key.h"
#include "base/id.h"
#include "cli/command_line.h"
#include "ev/loop.h"

enum { EXIT_USAGE = 2 };

static int refuse_usage(const char *message)
{
    (void)fprintf(stderr, "antiphon: %s\n", message);
    return EXIT_USAGE;
}

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

static int make_named(str name)
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
    return print_made(&text, api_key_line(name, id_str(&key), &text));
}

static int hash_input(str name)
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
        status = print_made(&text, api_key_line(name, key, &text));
    else
        status =
            refuse_usage("standard input must hold a key: visible ASCII characters without spaces");
    free(line);
    return status;
}

int key_command(int n_args, const char *const *args)
{
    bool is_hash = n_args > 0 && strcmp(args[0], "hash") == 0;
    str name = n_args == 0 ? STR_NONE : str_from_c(args[n_args - 1]);

    if (n_args > 0 && (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0))
        return command_print_help("key", "");
    if ((is_hash ? n_args != 2 : n_args > 1) || str_starts_with(name, STR("-")))
        return refuse_usage("usage: antiphon key [NAME], or antiphon key hash NAME");
    if (n_args == 0)
        return make_nameless();
    if (!api_key_is_name(name))
        return refuse_usage("a name has up to 64 visible ASCII characters, the first not # or -");
    return is_hash ? hash_input(name) : make_named(name);
}
