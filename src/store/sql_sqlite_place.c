/* sql_sqlite_place.c -- why a database cannot be opened at its place.
 *
 * SQLite says that it cannot be opened. The person who started the program wants to know
 * which of a dozen reasons it is and what to do, so the place is looked at, from the folder
 * to the files that SQLite keeps beside the database. Only those who start programs read
 * this: it names paths and users. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/sql_sqlite.h"

enum { USER_BYTES = 96 };

struct place {
    const char *path;
    char folder[PATH_MAX];
    char me[USER_BYTES];
};

/* "nobody (uid 65534)", or the number alone. */
static void write_user(uid_t uid, char text[USER_BYTES])
{
    char memory[2048];
    struct passwd entry, *found = NULL;

    if (getpwuid_r(uid, &entry, memory, sizeof(memory), &found) == 0 && found != NULL)
        (void)snprintf(text, USER_BYTES, "%s (uid %lu)", found->pw_name, (unsigned long)uid);
    else
        (void)snprintf(text, USER_BYTES, "uid %lu", (unsigned long)uid);
}

static void write_folder(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);

    if (slash == NULL)
        (void)snprintf(folder, PATH_MAX, ".");
    else
        (void)snprintf(folder, PATH_MAX, "%.*s", n == 0 ? 1 : (int)n, path);
}

static bool may_access(const char *path, int what)
{
    return faccessat(AT_FDCWD, path, what, AT_EACCESS) == 0;
}

/* ---- the folder */

static bool explain_no_folder(const struct place *p, int why, struct err *reterr)
{
    switch (why) {
    case ENOENT:
        err_set(reterr, ERR_STORE,
                "The folder %s does not exist: make it (mkdir -p), or name another path.",
                p->folder);
        return true;
    case ENOTDIR:
        err_set(reterr, ERR_STORE, "A part of the path %s is no folder: name another path.",
                p->folder);
        return true;
    case EACCES:
        err_set(reterr, ERR_STORE,
                "The permissions of a folder above keep user %s from entering %s: change them, "
                "or name another path.",
                p->me, p->folder);
        return true;
    default:
        return false;
    }
}

static bool explain_folder(const struct place *p, struct err *reterr)
{
    struct stat st;

    if (stat(p->folder, &st) == -1)
        return explain_no_folder(p, errno, reterr);
    if (!S_ISDIR(st.st_mode))
        return explain_no_folder(p, ENOTDIR, reterr);
    if (!may_access(p->folder, X_OK))
        return explain_no_folder(p, EACCES, reterr);
    return false;
}

/* Beside the database SQLite makes two more files, so the folder has to be writable even
 * when the database itself is. */
static bool explain_closed_folder(const struct place *p, struct err *reterr)
{
    struct stat st;
    char owner[USER_BYTES];

    if (may_access(p->folder, W_OK | X_OK) || stat(p->folder, &st) == -1)
        return false;
    write_user(st.st_uid, owner);
    err_set(reterr, ERR_STORE,
            "The permissions (mode %04o) of the folder %s, which belongs to user %s, keep user %s "
            "from making files in it, and SQLite needs two beside the database: change its owner "
            "or permissions (chown, chmod), or name another path.",
            (unsigned)st.st_mode & 07777, p->folder, owner, p->me);
    return true;
}

/* ---- the file system */

static bool explain_file_system(const struct place *p, struct err *reterr)
{
    struct statvfs fs;

    if (statvfs(p->folder, &fs) == -1)
        return false;
    if ((fs.f_flag & ST_RDONLY) != 0)
        err_set(reterr, ERR_STORE,
                "The file system of the folder %s is mounted read-only: name a path on another "
                "one, or mount it for writing.",
                p->folder);
    else if (fs.f_blocks > 0 && fs.f_bavail == 0)
        err_set(reterr, ERR_STORE, "The disk of the folder %s is full: make space on it.",
                p->folder);
    else if (fs.f_files > 0 && fs.f_favail == 0)
        err_set(reterr, ERR_STORE,
                "The file system of the folder %s has no room for another file (no free inode).",
                p->folder);
    else
        return false;
    return true;
}

/* ---- files */

static bool explain_rights(const struct place *p, const char *name, const struct stat *st,
                           struct err *reterr)
{
    char owner[USER_BYTES];

    if (may_access(name, R_OK | W_OK))
        return false;
    write_user(st->st_uid, owner);
    if (st->st_uid == geteuid())
        err_set(reterr, ERR_STORE,
                "The permissions (mode %04o) of the file %s keep its owner, user %s, from reading "
                "and writing it: give them back (chmod u+rw).",
                (unsigned)st->st_mode & 07777, name, owner);
    else
        err_set(reterr, ERR_STORE,
                "The file %s belongs to user %s and its permissions (mode %04o) keep user %s from "
                "reading and writing it: give it to that user (chown), or run the gateway as its "
                "owner.",
                name, owner, (unsigned)st->st_mode & 07777, p->me);
    return true;
}

static bool explain_kind(const char *path, const struct stat *st, struct err *reterr)
{
    if (S_ISREG(st->st_mode))
        return false;
    if (S_ISDIR(st->st_mode))
        err_set(reterr, ERR_STORE,
                "%s is a folder, not a file: name a file in it, such as %s/antiphon.db.", path,
                path);
    else
        err_set(reterr, ERR_STORE, "%s is no regular file: name another path.", path);
    return true;
}

static bool explain_file(const struct place *p, struct err *reterr)
{
    struct stat st;

    if (stat(p->path, &st) == 0)
        return explain_kind(p->path, &st, reterr) || explain_rights(p, p->path, &st, reterr);
    if (lstat(p->path, &st) == -1)
        return false;
    err_set(reterr, ERR_STORE,
            "%s is a link to a place that does not exist or may not be entered: make it, or name "
            "another path.",
            p->path);
    return true;
}

static bool explain_beside(const struct place *p, const char *suffix, struct err *reterr)
{
    char name[PATH_MAX];
    struct stat st;

    return snprintf(name, sizeof(name), "%s%s", p->path, suffix) < (int)sizeof(name) &&
           stat(name, &st) == 0 && explain_rights(p, name, &st, reterr);
}

/* A pipe is not opened: that would wait for somebody at its other end. */
int sqlite_place_check(const char *path, struct err *reterr)
{
    struct stat st;

    return stat(path, &st) == 0 && explain_kind(path, &st, reterr) ? -1 : 0;
}

bool sqlite_place_explain(const char *path, struct err *reterr)
{
    struct place p = {.path = path};

    write_folder(path, p.folder);
    write_user(geteuid(), p.me);
    return explain_folder(&p, reterr) || explain_file(&p, reterr) ||
           explain_file_system(&p, reterr) || explain_closed_folder(&p, reterr) ||
           explain_beside(&p, "-wal", reterr) || explain_beside(&p, "-shm", reterr);
}
