/* health_command.c -- one question to the gateway of the same configuration, for health checks of
 * containers, which have no other program. */
#include "cli/health_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command_line.h"
#include "cli/gateway_call.h"

enum { EXIT_USAGE = 2 };

static int print_answer(const struct asked *answer)
{
    struct buf text = {.limit = 0};

    buf_append(&text, str_trim(buf_str(&answer->body)));
    buf_char(&text, '\n');
    return command_print(&text, answer->status == 200 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int ask_listener(const char *listen, const char *url)
{
    const struct question q = {.method = "GET", .url = url, .authorization = STR_NONE};
    struct asked answer;
    int status = gateway_ask(listen, &q, &answer);

    if (status == EXIT_SUCCESS)
        status = print_answer(&answer);
    asked_fini(&answer);
    return status;
}

static int ask_gateway(const struct config *config)
{
    struct buf url = {.limit = 0};
    const char *listen = gateway_find(&config->listen, 0, "/ready", &url);
    int status = EXIT_USAGE;

    if (listen != NULL)
        status = ask_listener(listen, buf_cstr(&url));
    else
        (void)fputs("antiphon: no address of `listen` can be asked: give one with a port that is "
                    "not 0 and without +proxy, such as 127.0.0.1:9090+metrics\n",
                    stderr);
    buf_fini(&url);
    return status;
}

int health_command(int n_args, const char *const *args)
{
    return command_run("health", n_args, args, ask_gateway);
}
