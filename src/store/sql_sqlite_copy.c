/* sql_sqlite_copy.c -- copies a database that others use into a file of its own.
 *
 * A connection of its own reads, in one transaction of SQLite's backup: it sees what was committed
 * when it began, also while the caller holds the database for a write that has not changed
 * anything yet. What is written is NAME.partial until it is whole and on the disk; then it gets its
 * name, so that a file of that name is always a copy that can be used. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/sql_sqlite.h"

struct copy {
    const char *to;
    char partial[PATH_MAX], journal[PATH_MAX];
    sqlite3 *source, *target;
};

static int fail_with(struct err *reterr, const char *what, const char *path)
{
    err_set(reterr, ERR_STORE, "The copy %s cannot be %s: %s.", path, what, strerror(errno));
    return -1;
}

static int name_files(struct copy *c, struct err *reterr)
{
    if (snprintf(c->partial, sizeof(c->partial), "%s.partial", c->to) < (int)sizeof(c->partial) &&
        snprintf(c->journal, sizeof(c->journal), "%s-journal", c->partial) <
            (int)sizeof(c->journal))
        return 0;
    errno = ENAMETOOLONG;
    return fail_with(reterr, "made", c->to);
}

/* Also clears what a copy has left that was interrupted. */
static int create_partial(const struct copy *c, struct err *reterr)
{
    int fd;

    (void)unlink(c->journal);
    (void)unlink(c->partial);
    fd = open(c->partial, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd == -1)
        return fail_with(reterr, "made", c->partial);
    return close(fd);
}

static int open_both(struct copy *c, const char *from, struct err *reterr)
{
    enum { BUSY_MS = 10000 };
    int rc = sqlite3_open_v2(from, &c->source, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return sqlite_failed(c->source, rc, reterr);
    (void)sqlite3_busy_timeout(c->source, BUSY_MS);
    rc = sqlite3_open_v2(c->partial, &c->target, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return sqlite_failed(c->target, rc, reterr);
    /* The half of a copy is of no use, and a whole one is written to the disk below. */
    rc = sqlite3_exec(c->target, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL,
                      NULL);
    return rc == SQLITE_OK ? 0 : sqlite_failed(c->target, rc, reterr);
}

static int copy_pages(const struct copy *c, struct err *reterr)
{
    sqlite3_backup *b = sqlite3_backup_init(c->target, "main", c->source, "main");
    int rc;

    if (b == NULL)
        return sqlite_failed(c->target, sqlite3_errcode(c->target), reterr);
    (void)sqlite3_backup_step(b, -1);
    rc = sqlite3_backup_finish(b);
    return rc == SQLITE_OK ? 0 : sqlite_failed(c->target, rc, reterr);
}

static int sync_path(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    int rc = fd == -1 ? -1 : fsync(fd);
    int error = errno;

    if (fd != -1)
        (void)close(fd);
    errno = error;
    return rc;
}

static int sync_folder_of(const char *path)
{
    char folder[PATH_MAX];

    (void)snprintf(folder, sizeof(folder), "%s", path);
    return sync_path(dirname(folder), O_RDONLY | O_DIRECTORY);
}

static int refuse_existing(const char *to, struct err *reterr)
{
    err_set(reterr, ERR_INVALID_VALUE, "there is already something at %s; name a new file", to);
    return -1;
}

/* A file that has the name is left alone, but not every file system knows how: there somebody who makes
 * it in this very moment loses it. */
static int give_name(const struct copy *c, enum sql_copy how, struct err *reterr)
{
    unsigned flags = how == SQL_COPY_IS_NEW ? RENAME_NOREPLACE : 0;
    struct stat st;
    int rc = renameat2(AT_FDCWD, c->partial, AT_FDCWD, c->to, flags);

    if (rc == -1 && errno == EEXIST)
        return refuse_existing(c->to, reterr);
    if (rc == -1 && (errno == EINVAL || errno == ENOSYS)) {
        if (flags != 0 && lstat(c->to, &st) == 0)
            return refuse_existing(c->to, reterr);
        rc = rename(c->partial, c->to);
    }
    return rc == 0 && sync_folder_of(c->to) == 0 ? 0 : fail_with(reterr, "written", c->to);
}

static int make_copy(struct copy *c, const char *from, struct err *reterr)
{
    int rc = open_both(c, from, reterr) == 0 ? copy_pages(c, reterr) : -1;

    (void)sqlite3_close(c->source);
    if (sqlite3_close(c->target) != SQLITE_OK && rc == 0)
        rc = fail_with(reterr, "written", c->partial);
    if (rc == 0 && sync_path(c->partial, O_RDWR) == -1)
        rc = fail_with(reterr, "written", c->partial);
    return rc;
}

int sqlite_copy(const char *from, const char *to, enum sql_copy how, struct err *reterr)
{
    struct copy c = {.to = to};
    struct stat st;
    int rc;

    if (how == SQL_COPY_IS_NEW && lstat(to, &st) == 0)
        return refuse_existing(to, reterr);
    if (name_files(&c, reterr) == -1 || create_partial(&c, reterr) == -1)
        return -1;
    rc = make_copy(&c, from, reterr) == 0 ? give_name(&c, how, reterr) : -1;
    if (rc == -1)
        (void)unlink(c.partial);
    return rc;
}
