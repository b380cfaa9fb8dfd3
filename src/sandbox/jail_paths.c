/* jail_paths.c -- look for programs, and at what may be shown of the file system. */
#include "sandbox/jail_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child/child_spawn.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

/* ---- who may see what */

static bool user_may(const struct stat *st, const struct jail_user *user, mode_t wanted)
{
    unsigned shift = st->st_uid == user->uid ? 6 : st->st_gid == user->gid ? 3 : 0;

    return ((st->st_mode >> shift) & wanted) == wanted;
}

/* True when the user may enter all directories of a path without links. */
static bool may_walk(char *path, const struct jail_user *user)
{
    enum { SEARCH = 1 };
    struct stat st;

    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        bool is_open;

        *slash = '\0';
        is_open = stat(path, &st) == 0 && user_may(&st, user, SEARCH);
        *slash = '/';
        if (!is_open)
            return false;
    }
    return true;
}

/* True when the user may enter all directories above path, and read it. Access control lists are
 * only heeded for the user that the gateway is itself. */
static bool path_is_open(const char *path, const struct jail_user *user)
{
    enum { SEARCH = 1, READ = 4 };
    char *real = realpath(path, NULL);
    bool is_open = false;
    struct stat st;

    if (real != NULL && stat(real, &st) == 0) {
        mode_t wanted = S_ISDIR(st.st_mode) ? READ | SEARCH : READ;

        is_open = user->uid == 0
                      ? faccessat(AT_FDCWD, real, wanted == READ ? R_OK : R_OK | X_OK, 0) == 0
                      : may_walk(real, user) && user_may(&st, user, wanted);
    }
    free(real);
    return is_open;
}

static bool is_below(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    return strncmp(path, directory, len) == 0 &&
           (path[len] == '/' || path[len] == '\0' || (len > 0 && directory[len - 1] == '/'));
}

int jail_check_path(const char *path, const struct jail_user *user, struct err *reterr)
{
    static const char *const own[] = {"/mnt/data", "/tmp", "/proc", "/dev", "/run", "/etc"};

    if (*path != '/') {
        err_set(reterr, ERR_INTERNAL, "--code-paths: %s is not an absolute path", path);
        return -1;
    }
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (is_below(own[i], path)) {
            err_set(reterr, ERR_INTERNAL, "--code-paths: %s would hide the sandbox's own %s", path,
                    own[i]);
            return -1;
        }
    }
    if (!path_is_open(path, user)) {
        err_set(
            reterr, ERR_INTERNAL,
            "--code-paths: %s does not exist, or the user that sandboxes run as may not read it",
            path);
        return -1;
    }
    return 0;
}

/* ---- texts */

static const char *join_path(struct arena *a, str directory, const char *name)
{
    str rest = str_from_c(name);
    char *path = arena_alloc(a, directory.len + 1 + rest.len + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, directory.p, directory.len);
    path[directory.len] = '/';
    memcpy(path + directory.len + 1, rest.p, rest.len);
    return path;
}

/* The path before the last slash; "" for what lies in the root directory. */
static str directory_of(str path)
{
    while (path.len > 0 && path.p[path.len - 1] != '/')
        path.len--;
    if (path.len > 0)
        path.len--;
    return path;
}

static const char *real_path(const char *path, struct arena *a)
{
    char *real = realpath(path, NULL);
    str copy = real == NULL ? STR_NONE : arena_dup(a, str_from_c(real));

    free(real);
    return copy.p;
}

/* ---- programs */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111) != 0;
}

typedef bool is_wanted(const char *path, const void *arg);

/* The first program on a PATH that is wanted. */
static const char *search_places(str places, const char *name, is_wanted *wanted, const void *arg,
                                 struct arena *a)
{
    while (places.len > 0) {
        size_t len = str_find_char(places, ':');
        const char *path = join_path(a, str_from(places.p, len), name);

        if (path == NULL)
            return NULL;
        if (*path == '/' && is_program(path) && wanted(path, arg))
            return path;
        places = str_skip(places, len < places.len ? len + 1 : len);
    }
    return NULL;
}

static const char *search_env(const char *const *env, const char *name, is_wanted *wanted,
                              const void *arg, struct arena *a)
{
    str places = child_env_get(env, STR("PATH"));
    const char *path = str_is_none(places) ? NULL : search_places(places, name, wanted, arg, a);

    return path != NULL ? path : search_places(STR(USUAL_PATH), name, wanted, arg, a);
}

static bool is_any(const char *path, const void *arg)
{
    (void)path;
    (void)arg;
    return true;
}

const char *jail_find_program(const char *name, const char *const *env, struct arena *a)
{
    return search_env(env, name, is_any, NULL, a);
}

/* ---- Python */

/* True for an ELF file; what a script that starts one needs is unknown. */
static bool is_binary(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char magic[4];
    bool is_elf;

    if (fd == -1)
        return false;
    is_elf = read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
             memcmp(magic, "\177ELF", sizeof(magic)) == 0;
    (void)close(fd);
    return is_elf;
}

static bool is_usable_python(const char *path, const void *arg)
{
    return is_binary(path) && path_is_open(path, arg);
}

static bool is_of_system(const char *path)
{
    static const char *const seen[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64"};

    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        if (is_below(path, seen[i]))
            return true;
    }
    return false;
}

struct additions {
    struct jail_python *python;
    struct arena *arena;
    size_t n;
    bool failed;
};

/* Adds directory/name, if it exists and is not seen anyway. */
static void add_path(struct additions *more, str directory, const char *name)
{
    const char *path = join_path(more->arena, directory, name);

    more->failed |= path == NULL || more->n + 1 >= JAIL_PYTHON_PATHS;
    if (more->failed || access(path, F_OK) == -1 || is_of_system(path))
        return;
    more->python->paths[more->n++] = path;
}

/* Adds the libraries beside the "bin" that Python lies in. */
static void add_libraries(struct additions *more, str prefix)
{
    add_path(more, prefix, "lib");
    add_path(more, prefix, "lib64");
}

static bool has_file(str directory, const char *name, struct arena *a)
{
    const char *path = join_path(a, directory, name);

    return path != NULL && access(path, F_OK) == 0;
}

/* found is the path as it is to be called, whose last part may be a link. */
static int describe_python(const char *found, struct arena *a, struct jail_python *ret,
                           struct err *reterr)
{
    const char *real = real_path(found, a);
    str prefix = directory_of(directory_of(str_from_c(found)));
    struct additions more = {.python = ret, .arena = a, .failed = real == NULL};

    *ret = (struct jail_python){.program = real};
    if (!more.failed) {
        str real_directory = directory_of(str_from_c(real));

        if (has_file(prefix, "pyvenv.cfg", a)) {
            ret->program = found;
            ret->link_to = strcmp(found, real) == 0 || is_of_system(found) ? NULL : real;
            add_libraries(&more, prefix);
            add_path(&more, prefix, "pyvenv.cfg");
        }
        add_path(&more, real_directory, real + real_directory.len + 1);
        add_libraries(&more, directory_of(real_directory));
    }
    if (more.failed)
        err_set_no_memory(reterr);
    return more.failed ? -1 : 0;
}

static const char *why_not_usable(const char *path)
{
    if (!is_program(path))
        return "is not a program";
    if (!is_binary(path))
        return "is a script, not an interpreter: give the path of the one it starts";
    return "may not be read by the user that sandboxes run as";
}

/* A Python that is named by its path is taken or refused, whatever else there is. */
static int find_named(const char *path, const struct jail_user *user, struct arena *a,
                      struct jail_python *ret, struct err *reterr)
{
    if (*path != '/')
        err_set(reterr, ERR_INTERNAL, "--code-python: %s is not an absolute path", path);
    else if (!is_program(path) || !is_usable_python(path, user))
        err_set(reterr, ERR_INTERNAL, "--code-python: %s %s", path, why_not_usable(path));
    else
        return describe_python(path, a, ret, reterr);
    return -1;
}

int jail_find_python(const char *name, const char *const *env, const struct jail_user *user,
                     struct arena *a, struct jail_python *ret, struct err *reterr)
{
    const char *found;

    if (strchr(name, '/') != NULL)
        return find_named(name, user, a, ret, reterr);
    found = search_env(env, name, is_usable_python, user, a);
    if (found != NULL)
        return describe_python(found, a, ret, reterr);
    err_set(reterr, ERR_INTERNAL,
            "there is no %s that sandboxes can use on the PATH: install the package python3, or "
            "name one with --code-python",
            name);
    return -1;
}
