/* admin_command.c -- one question to the listener of operators.
 *
 * The key for listeners that ask for one comes from the environment, since every user of the machine can read
 * command lines. It is sent to no listener that asks for none. */
#include "cli/admin_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access/api_key.h"
#include "base/listen_spec.h"
#include "base/secrets.h"
#include "cli/admin_report.h"
#include "cli/command_line.h"
#include "cli/gateway_call.h"
#include "cli/text_table.h"
#include "config/config_key.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "upstream/upstream_table.h"

enum { EXIT_USAGE = 2 };

#define KEY_VARIABLE "ANTIPHON_ADMIN_KEY"

/* A command's question to the gateway. */
struct job {
    const char *method;
    struct buf path;
    bool as_json;
    bool (*report)(str json,
                   struct buf *out); /* NULL: there is nothing to be said but that it is done */
    struct buf authorization;        /* "": there is no key */
};

/* ---- the answer */

/* What the gateway says of an answer that is none of success, or its status. */
static void write_refusal(const struct asked *answer, struct buf *out)
{
    str body = buf_str(&answer->body), message = STR_NONE;
    struct buf text = {.limit = 0};

    if (jr_is_valid(body))
        message = jr_member_string(jr_member(body, STR("error")), STR("message"));
    if (message.len > 0) {
        json_text_decode(message, &text);
        text_table_words(buf_str(&text), out);
    } else {
        buf_c(out, "the answer has the status ");
        buf_int(out, answer->status);
    }
    buf_fini(&text);
}

static int refuse_answer(const struct job *job, const char *listen, const struct asked *answer)
{
    struct buf text = {.limit = 0};

    write_refusal(answer, &text);
    (void)fprintf(stderr, "antiphon: %s: %s\n", listen, buf_cstr(&text));
    buf_fini(&text);
    if (answer->status == 401)
        (void)fputs(job->authorization.len == 0
                        ? "antiphon: give the key of an operator, whose line in api_keys_file has "
                          "`admin`, in the variable " KEY_VARIABLE "\n"
                        : "antiphon: the key is that of the variable " KEY_VARIABLE "\n",
                    stderr);
    return EXIT_FAILURE;
}

static int print_answer(const struct job *job, const char *listen, const struct asked *answer)
{
    str body = str_trim(buf_str(&answer->body));
    struct buf text = {.limit = 0};

    if (job->report == NULL)
        return EXIT_SUCCESS;
    if (job->as_json) {
        buf_append(&text, body);
        buf_char(&text, '\n');
    } else if (!job->report(body, &text)) {
        (void)fprintf(stderr, "antiphon: %s: this is no answer of Antiphon to %s %s\n", listen,
                      job->method, job->path.p);
        return EXIT_FAILURE;
    }
    return command_print(&text, EXIT_SUCCESS);
}

/* ---- asking */

static int ask_listener(const struct job *job, const char *listen, const char *url)
{
    const bool asks_for_key = config_listens_to_others(listen, LISTEN_ADMIN);
    const struct question q = {.method = job->method,
                               .url = url,
                               .authorization = asks_for_key && job->authorization.len > 0
                                                    ? buf_str(&job->authorization)
                                                    : STR_NONE};
    struct asked answer;
    int status = gateway_ask(listen, &q, &answer);

    if (status == EXIT_SUCCESS)
        status = answer.status == 200 || answer.status == 204 ? print_answer(job, listen, &answer)
                                                              : refuse_answer(job, listen, &answer);
    asked_fini(&answer);
    return status;
}

static int complain_of_listeners(const struct config_list *listen)
{
    bool has_any = false;

    for (size_t i = 0; i < listen->n; i++)
        has_any = has_any || (listen_spec_of(listen->items[i]).marks & LISTEN_ADMIN) != 0;
    (void)fputs(has_any
                    ? "antiphon: no address of `listen` with +admin can be asked: give one with a "
                      "port that is not 0 and without +proxy, such as 127.0.0.1:9090+admin\n"
                    : "antiphon: no address of `listen` has +admin: add one to the configuration "
                      "of the gateway, such as 127.0.0.1:9090+admin, and start it again\n",
                stderr);
    return EXIT_USAGE;
}

static int ask_gateway(struct job *job, const struct config *config)
{
    struct buf url = {.limit = 0};
    const char *listen = gateway_find(&config->listen, LISTEN_ADMIN, buf_cstr(&job->path), &url);
    int status = listen == NULL ? complain_of_listeners(&config->listen)
                                : ask_listener(job, listen, buf_cstr(&url));

    buf_fini(&url);
    return status;
}

/* ---- the command line */

static void read_key(struct job *job, struct config_problems *problems)
{
    str key = config_env_get((const char *const *)environ, STR(KEY_VARIABLE));

    if (str_is_none(key))
        return;
    if (!api_key_is_key(key)) {
        config_error(problems,
                     KEY_VARIABLE " must hold a key: visible ASCII characters without spaces");
        return;
    }
    buf_c(&job->authorization, "Bearer ");
    buf_append(&job->authorization, key);
}

/* The words that are not the command's are those of the configuration. */
static int load_job(struct job *job, int n_args, const char *const *args, struct config *config,
                    struct config_problems *problems)
{
    const char **rest = arena_array(&problems->memory, (size_t)n_args + 1, sizeof(*rest));
    struct config_sources sources = {.args = rest, .env = (const char *const *)environ};

    if (rest == NULL) {
        config_error(problems, "out of memory");
        return -1;
    }
    for (int i = 0; i < n_args; i++) {
        if (strcmp(args[i], "--check-config") == 0)
            config_error(problems, "--check-config goes with antiphon serve");
        else if (job->report != NULL && strcmp(args[i], "--json") == 0)
            job->as_json = true;
        else
            rest[sources.n_args++] = args[i];
    }
    read_key(job, problems);
    (void)config_load(config, &sources, problems);
    return problems->n_errors == 0 ? 0 : -1;
}

static int run_job(struct job *job, int n_args, const char *const *args)
{
    struct config_problems problems = {.n_kept = 0};
    struct config config = {.memory = {.limit = 0}};
    int status = EXIT_USAGE;

    if (load_job(job, n_args, args, &config, &problems) == -1)
        command_print_problems(&problems);
    else
        status = ask_gateway(job, &config);
    config_fini(&config);
    config_problems_fini(&problems);
    buf_fini(&job->path);
    secret_buf_fini(&job->authorization);
    return status;
}

static int print_help(const char *name)
{
    return command_print_help(
        name,
        "\n"
        "The other flags, the variables and the file are those of antiphon serve: the\n"
        "gateway is found by the same configuration, at an address of --listen with\n"
        "+admin. One that is for other machines asks for a key, which the variable\n" KEY_VARIABLE
        " holds. The exit status is 0, 1 when the gateway\n"
        "does not answer or refuses, and 2 for a mistake on the command line.\n");
}

static int run_list(const char *path, bool (*report)(str json, struct buf *out), int n_args,
                    const char *const *args)
{
    struct job job = {.method = "GET", .report = report};

    buf_c(&job.path, path);
    return run_job(&job, n_args, args);
}

/* ---- keys */

int admin_command_keys(int n_args, const char *const *args)
{
    if (command_asks_for_help(n_args, args))
        return print_help("keys");
    return run_list("/admin/keys", admin_report_keys, n_args, args);
}

/* ---- upstreams */

static bool is_order(const char *word)
{
    static const str orders[] = {STR_INIT("drain"), STR_INIT("resume"), STR_INIT("check")};

    return str_is_one_of(str_from_c(word), LIST_OF(orders));
}

/* args: the order, the name of an upstream, flags. */
static int order_upstream(int n_args, const char *const *args)
{
    struct job job = {.method = "POST"};

    if (n_args < 2 || !upstream_table_is_name(str_from_c(args[1])))
        return command_refuse_usage("which upstream? antiphon upstreams lists their names");
    buf_c(&job.path, "/admin/upstreams/");
    buf_c(&job.path, args[1]);
    buf_char(&job.path, '/');
    buf_c(&job.path, args[0]);
    return run_job(&job, n_args - 2, args + 2);
}

int admin_command_upstreams(int n_args, const char *const *args)
{
    if (command_asks_for_help(n_args, args))
        return print_help("upstreams");
    if (n_args == 0 || args[0][0] == '-')
        return run_list("/admin/upstreams", admin_report_upstreams, n_args, args);
    if (is_order(args[0]))
        return order_upstream(n_args, args);
    return command_refuse_usage(
        "what with upstreams: drain, resume or check? See antiphon upstreams --help");
}
