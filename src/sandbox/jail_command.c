/* jail_command.c -- the command line of bwrap: what a sandbox is, line by line.
 *
 * bwrap works through it from left to right, on an empty root directory in memory, and what comes
 * later lies on top. In the end the root and /dev are read only, so that all that can be written to
 * has a size. */
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/jail_internal.h"

/* The words that each command line begins with. */
static const char *const namespaces[] = {
    "--unshare-all",     /* user (if possible), ipc, pid, net, uts, cgroup (if possible) */
    "--unshare-user",    /* user, or nothing runs */
    "--die-with-parent", /* nothing is left when the gateway is killed */
    "--as-pid-1",        /* the script is what all else ends with; no signal from inside ends it */
    "--new-session",     /* no terminal to write into */
    "--cap-drop",
    "ALL", /* not even in its own namespaces */
    "--uid",
    "1000", /* an ordinary user, whoever it is outside */
    "--gid",
    "1000", /**/
    "--hostname",
    "sandbox",
    "--clearenv",
    NULL,
};

/* The environment of a sandbox, all of it. Programs that keep a cache in the home directory are
 * pointed elsewhere: what appears there is the user's. */
static const char *const environment[][2] = {
    {"PATH", "/usr/local/bin:/usr/bin:/bin"},
    {"HOME", JAIL_WORK_DIRECTORY},
    {"USER", "sandbox"},
    {"LOGNAME", "sandbox"},
    {"LANG", "C.UTF-8"},
    {"TERM", "dumb"},
    {"TMPDIR", "/tmp"},
    {"XDG_CACHE_HOME", "/tmp/.cache"},
    {"XDG_CONFIG_HOME", "/tmp/.config"},
    {"MPLCONFIGDIR", "/tmp/.config/matplotlib"},
    {"MPLBACKEND", "Agg"},
};

/* Directories of programs and libraries. On most systems all but the first are links into it. */
static const char *const system_paths[] = {"/usr",   "/bin",   "/sbin",  "/lib",
                                           "/lib32", "/lib64", "/libx32"};

/* Files of /etc that programs read and that say nothing about this machine. */
static const char *const etc_paths[] = {
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives", /* links from /usr/bin go through it */
    "/etc/localtime",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/fonts",
    "/etc/mime.types",
    "/etc/matplotlibrc", /* without it, Debian's matplotlib does not start */
};

/* The options of the descriptors: most are files that are not taken from this machine. */
static const struct {
    const char *option, *path;
} written[JAIL_FDS] = {
    [JAIL_FD_FILTER] = {"--seccomp", NULL},
    [JAIL_FD_SCRIPT] = {"--ro-bind-data", JAIL_SCRIPT},
    [JAIL_FD_PASSWD] = {"--ro-bind-data", "/etc/passwd"},
    [JAIL_FD_GROUP] = {"--ro-bind-data", "/etc/group"},
    [JAIL_FD_HOSTS] = {"--ro-bind-data", "/etc/hosts"},
    [JAIL_FD_INFO] = {"--info-fd", NULL},
};

/* -I: neither the directory of the script nor one of the user's is searched for modules;
 * -B: nothing is left in the work directory when a module there is imported. */
static const char *const python_flags[] = {"-I", "-B", JAIL_SCRIPT, NULL};

/* ---- a list of words */

struct words {
    struct arena *arena;
    const char **list;
    size_t n, cap;
    bool failed;
};

static void add_word(struct words *w, const char *word)
{
    if (w->n + 1 >= w->cap) {
        size_t cap = w->cap == 0 ? 256 : 2 * w->cap;
        const char **list = arena_array(w->arena, cap, sizeof(*list));

        if (list == NULL) {
            w->failed = true;
            return;
        }
        if (w->n > 0)
            memcpy(list, w->list, w->n * sizeof(*list));
        w->list = list;
        w->cap = cap;
    }
    w->list[w->n++] = word;
}

static void add_option(struct words *w, const char *option, const char *value)
{
    add_word(w, option);
    add_word(w, value);
}

static void add_option_pair(struct words *w, const char *option, const char *from, const char *to)
{
    add_option(w, option, from);
    add_word(w, to);
}

static void add_words(struct words *w, const char *const *list)
{
    for (; *list != NULL; list++)
        add_word(w, *list);
}

/* Copies a text that does not live as long as the list. */
static const char *copy_text(struct words *w, str text)
{
    str kept = arena_dup(w->arena, text);

    w->failed |= str_is_none(kept);
    return kept.p;
}

static const char *number_text(struct words *w, size_t n)
{
    struct buf text = {.limit = 0};
    const char *kept;

    buf_uint(&text, n);
    w->failed |= buf_failed(&text);
    kept = copy_text(w, buf_str(&text));
    buf_fini(&text);
    return kept;
}

/* ---- what it sees */

/* Adds a file system in memory; where there is a ground, that has it already. */
static void add_memory(struct words *w, const char *ground, const char *directory, size_t bytes)
{
    if (ground != NULL) {
        add_option_pair(w, "--bind", ground, directory);
        return;
    }
    add_option(w, "--size", number_text(w, bytes));
    add_option(w, "--tmpfs", directory);
}

#define GROUND(name) (jail->has_ground ? JAIL_GROUND_DIRECTORY "/" name : NULL)

static void add_file_systems(struct words *w, const struct jail *jail)
{
    const size_t disk_bytes = jail->conf.disk_bytes;

    add_option(w, "--proc", "/proc");
    add_option(w, "--dev", "/dev");
    add_memory(w, GROUND("shm"), "/dev/shm", JAIL_SHARED_BYTES);
    add_memory(w, GROUND("tmp"), "/tmp", disk_bytes);
    add_memory(w, GROUND("data"), JAIL_WORK_DIRECTORY, disk_bytes);
}

/* A link stays a link, so that paths mean what they mean outside. */
static void add_system_path(struct words *w, const char *path)
{
    char target[256];
    struct stat st;
    ssize_t len;

    if (lstat(path, &st) == -1)
        return;
    if (!S_ISLNK(st.st_mode)) {
        add_option_pair(w, "--ro-bind", path, path);
        return;
    }
    len = readlink(path, target, sizeof(target));
    if (len <= 0 || (size_t)len == sizeof(target))
        return;
    add_option_pair(w, "--symlink", copy_text(w, str_from(target, (size_t)len)), path);
}

static void add_system(struct words *w)
{
    for (size_t i = 0; i < COUNT_OF(system_paths); i++)
        add_system_path(w, system_paths[i]);
    for (size_t i = 0; i < COUNT_OF(etc_paths); i++)
        add_option_pair(w, "--ro-bind-try", etc_paths[i], etc_paths[i]);
}

/* Paths of the configuration come last: they may contain the others. */
static void add_chosen(struct words *w, const struct jail *jail)
{
    const struct jail_python *python = &jail->python;

    if (python->link_to != NULL)
        add_option_pair(w, "--symlink", python->link_to, python->program);
    for (size_t i = 0; python->paths[i] != NULL; i++)
        add_option_pair(w, "--ro-bind", python->paths[i], python->paths[i]);
    for (size_t i = 0; i < jail->conf.n_paths; i++)
        add_option_pair(w, "--ro-bind", jail->conf.paths[i], jail->conf.paths[i]);
}

static void add_written(struct words *w)
{
    for (size_t i = 0; i < JAIL_FDS; i++) {
        add_option(w, written[i].option, number_text(w, JAIL_FIRST_FD + i));
        if (written[i].path != NULL)
            add_word(w, written[i].path);
    }
}

/* ---- all of it */

/* bwrap can make sure itself that no further user namespace is made, from 0.8.0 on and unless it is
 * installed setuid; the filter of system calls sees to that in any case. */
static bool can_disable_user_namespaces(const struct jail_bwrap *bwrap)
{
    return !bwrap->is_setuid && (bwrap->major > 0 || bwrap->minor >= 8);
}

const char *const *jail_command_line(const struct jail *jail, const struct jail_cell_conf *cell,
                                     struct arena *a)
{
    struct words w = {.arena = a};

    add_word(&w, jail->bwrap.program);
    add_words(&w, namespaces);
    if (can_disable_user_namespaces(&jail->bwrap))
        add_word(&w, "--disable-userns");
    for (size_t i = 0; i < COUNT_OF(environment); i++)
        add_option_pair(&w, "--setenv", environment[i][0], environment[i][1]);
    add_file_systems(&w, jail);
    add_system(&w);
    add_written(&w);
    add_chosen(&w, jail);
    if (cell->egress_socket != NULL)
        add_option_pair(&w, "--ro-bind", copy_text(&w, str_from_c(cell->egress_socket)),
                        JAIL_EGRESS_SOCKET);
    add_option(&w, "--remount-ro", "/proc"); /* no memory of another process can be written to */
    add_option(&w, "--remount-ro", "/dev");
    add_option(&w, "--remount-ro", "/");
    add_option(&w, "--chdir", JAIL_WORK_DIRECTORY);
    add_option(&w, "--", jail->python.program);
    add_words(&w, python_flags);
    for (const char *const *args = cell->args; args != NULL && *args != NULL; args++)
        add_word(&w, copy_text(&w, str_from_c(*args)));
    return w.failed ? NULL : w.list;
}
