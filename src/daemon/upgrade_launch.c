/* upgrade_launch.c -- arguments, environment and descriptors of the new process.
 *
 * The program is the file that this process was started from, by the name that it was given then: a
 * package puts another file in its place. */
#include "daemon/upgrade_launch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/listen_spec.h"
#include "config/config.h"
#include "daemon/server_internal.h"
#include "net/listen_address.h"

enum { REPORT_FD = 3, FIRST_SOCKET = 4 };

struct launch {
    struct server *server;
    struct arena memory;
    uv_stdio_container_t *stdio; /* by the number in the new process */
    int n_stdio;
    char **args, **env;
};

/* What is for this process alone. */
static const char *const own_variables[] = {LISTEN_PASSED_VARIABLE, "LISTEN_PID", "LISTEN_FDS",
                                            "LISTEN_FDNAMES", "WATCHDOG_PID"};

static bool is_own(const char *variable)
{
    for (size_t i = 0; i < COUNT_OF(own_variables); i++) {
        size_t n = strlen(own_variables[i]);

        if (strncmp(variable, own_variables[i], n) == 0 && variable[n] == '=')
            return true;
    }
    return false;
}

/* The text for the arrays of libuv, which does not write to it. */
static char *dup_text(struct launch *l, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = arena_alloc(&l->memory, n);

    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

static bool set_args(struct launch *l)
{
    const struct config_sources *from = l->server->sources;
    size_t n = 0;

    l->args = arena_array(&l->memory, (size_t)from->n_args + 3, sizeof(char *));
    if (l->args == NULL)
        return false;
    l->args[n++] = dup_text(l, program_invocation_name);
    l->args[n++] = dup_text(l, "serve");
    for (int i = 0; i < from->n_args; i++)
        l->args[n++] = dup_text(l, from->args[i]);
    for (size_t i = 0; i < n; i++) {
        if (l->args[i] == NULL)
            return false;
    }
    l->args[n] = NULL;
    return true;
}

/* The environment as it is, but for what is only this process's, and with the sockets. */
static bool set_env(struct launch *l, const char *passed)
{
    size_t n = 0, n_own = 0;

    while (environ[n] != NULL)
        n++;
    l->env = arena_array(&l->memory, n + 2, sizeof(char *));
    if (l->env == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_own(environ[i]))
            l->env[n_own++] = environ[i];
    }
    l->env[n_own++] = dup_text(l, passed);
    l->env[n_own] = NULL;
    return l->env[n_own - 1] != NULL;
}

static void pass_fd(struct launch *l, int fd)
{
    l->stdio[l->n_stdio++] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data = {.fd = fd}};
}

static size_t count_sockets(const struct server *s)
{
    size_t n = 0, n_more;

    for (size_t i = 0; i < s->n_addresses; i++) {
        (void)listen_address_sockets(s->addresses[i], &n_more);
        n += n_more;
    }
    return n;
}

/* Gives the new process the sockets, each by the text of its element of `listen`. */
static bool pass_sockets(struct launch *l, int report_fd, struct buf *out)
{
    const struct server *s = l->server;
    const size_t n = count_sockets(s);
    struct listen_passed_list list = {.report_fd = REPORT_FD};

    list.v = arena_array(&l->memory, n + 1, sizeof(*list.v));
    l->stdio = arena_array(&l->memory, n + FIRST_SOCKET, sizeof(*l->stdio));
    if (list.v == NULL || l->stdio == NULL)
        return false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        pass_fd(l, fd);
    pass_fd(l, report_fd);
    for (size_t i = 0; i < s->n_addresses; i++) {
        str address = arena_dup(&l->memory, listen_spec_of(s->listen.items[i]).address);
        size_t n_fds;
        const int *fds = listen_address_sockets(s->addresses[i], &n_fds);

        if (str_is_none(address))
            return false;
        for (size_t k = 0; k < n_fds; k++) {
            list.v[list.n++] = (struct listen_passed){address.p, l->n_stdio};
            pass_fd(l, fds[k]);
        }
    }
    buf_c(out, LISTEN_PASSED_VARIABLE "=");
    listen_passed_write(&list, out);
    return !buf_failed(out);
}

/* A name without a slash was found on the PATH, where another program may be first by now. */
static const char *find_program(char *link, size_t size)
{
    ssize_t n;

    if (strchr(program_invocation_name, '/') != NULL)
        return program_invocation_name;
    n = readlink("/proc/self/exe", link, size - 1);
    if (n == -1)
        return program_invocation_name;
    link[n] = '\0';
    if (str_ends_with(str_from_c(link), STR(" (deleted)")))
        link[n - (ssize_t)strlen(" (deleted)")] = '\0';
    return link;
}

int upgrade_launch(struct server *s, uv_process_t *process, uv_exit_cb on_exit, int report_fd,
                   bool *ret_is_open, struct err *reterr)
{
    struct launch l = {.server = s};
    struct buf passed = {.limit = 0};
    char link[4096];
    int rc = UV_ENOMEM;

    *ret_is_open =
        pass_sockets(&l, report_fd, &passed) && set_args(&l) && set_env(&l, buf_cstr(&passed));
    if (*ret_is_open) {
        const uv_process_options_t options = {.exit_cb = on_exit,
                                              .file = find_program(link, sizeof(link)),
                                              .args = l.args,
                                              .env = l.env,
                                              .stdio_count = l.n_stdio,
                                              .stdio = l.stdio};

        rc = uv_spawn(loop_uv(s->loop), process, &options);
    }
    buf_fini(&passed);
    arena_fini(&l.memory);
    if (rc == 0)
        return 0;
    err_set(reterr, ERR_INTERNAL, "the program cannot be started: %s", uv_strerror(rc));
    return -1;
}
