/* sql_sqlite_files.c -- the files of a database on disk, as others see them.
 *
 * SQLite goes on with a file that was deleted, moved or replaced: what it writes then is
 * gone when it is closed, and everything was acknowledged. So the place is compared with
 * the file that was opened. Nothing is made anew at the place by itself: an empty store
 * in place of a lost one would look well to everybody, and whoever has taken the file
 * away may be about to bring it back, or another one. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/sql_sqlite.h"

static int stat_beside(const char *path, const char *suffix, struct stat *ret)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return stat(name, ret);
}

static void note_file(struct sqlite_file_id *id, const char *path, const char *suffix)
{
    struct stat st;

    if (!id->is_known && stat_beside(path, suffix, &st) == 0)
        *id = (struct sqlite_file_id){true, st.st_dev, st.st_ino};
}

void sqlite_files_note(struct sqlite_files *f, const char *path)
{
    note_file(&f->database, path, "");
    note_file(&f->log, path, "-wal");
}

enum fate { FATE_THERE, FATE_GONE, FATE_REPLACED };

/* A folder that cannot be looked into just now tells nothing. */
static enum fate fate_of(const struct sqlite_file_id *id, const char *path, const char *suffix)
{
    struct stat st;

    if (!id->is_known)
        return FATE_THERE;
    if (stat_beside(path, suffix, &st) == -1)
        return errno == ENOENT || errno == ENOTDIR ? FATE_GONE : FATE_THERE;
    return st.st_dev == id->device && st.st_ino == id->inode ? FATE_THERE : FATE_REPLACED;
}

#define LATER                                                                                      \
    " while the gateway uses it. Put the one it had back, or restart the gateway to go on with "   \
    "what is there now."

int sqlite_files_check(struct sqlite_files *f, const char *path, struct err *reterr)
{
    static const char *const words[] = {
        [FATE_GONE] = "The store's file was deleted or moved away" LATER,
        [FATE_REPLACED] = "The store's file was replaced by another one" LATER,
    };
    enum fate fate = fate_of(&f->database, path, "");

    note_file(&f->log, path, "-wal");
    if (fate != FATE_THERE) {
        err_set(reterr, ERR_STORE, "%s", words[fate]);
        return -1;
    }
    if (fate_of(&f->log, path, "-wal") == FATE_THERE)
        return 0;
    err_set(reterr, ERR_STORE,
            "The store's -wal file was deleted or replaced while the gateway uses it. Restart "
            "the gateway, and leave the files beside the database alone.");
    return -1;
}

bool sqlite_files_belong_together(const struct sqlite_files *f, const char *path)
{
    return fate_of(&f->database, path, "") != FATE_THERE ||
           fate_of(&f->log, path, "-wal") != FATE_REPLACED;
}

int sqlite_files_check_space(const char *path, struct err *reterr)
{
    enum { LEAST_BYTES = 1024 * 1024 };
    struct statvfs fs;
    uint64_t blocks;

    if (statvfs(path, &fs) == -1 || fs.f_blocks == 0)
        return 0;
    blocks = geteuid() == 0 ? fs.f_bfree : fs.f_bavail;
    if (blocks * fs.f_frsize >= LEAST_BYTES)
        return 0;
    err_set(reterr, ERR_STORE, "The store is full: its disk has less than 1 MiB left.");
    return -1;
}

static uint64_t bytes_beside(const char *path, const char *suffix)
{
    struct stat st;

    return stat_beside(path, suffix, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

uint64_t sqlite_files_bytes(const char *path)
{
    return bytes_beside(path, "") + bytes_beside(path, "-wal");
}
