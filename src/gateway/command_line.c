/* command_line.c -- what the commands besides `serve` have in common on the terminal. */
#include "gateway/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool command_asks_for_help(int n_args, const char *const *args)
{
    for (int i = 0; i < n_args; i++) {
        if (strcmp(args[i], "--help") == 0 || strcmp(args[i], "-h") == 0)
            return true;
    }
    return false;
}

int command_print(struct buf *text, int status)
{
    bool is_printed = !buf_failed(text) && fwrite(text->p, 1, text->len, stdout) == text->len &&
                      fflush(stdout) != EOF;

    buf_fini(text);
    if (is_printed)
        return status;
    (void)fputs("antiphon: cannot write to standard output\n", stderr);
    return EXIT_FAILURE;
}

void command_print_problems(const struct config_problems *problems)
{
    struct buf text = {.limit = 0};

    config_problems_print(problems, &text);
    (void)fputs(buf_cstr(&text), stderr);
    buf_fini(&text);
}
