/* sql_sqlite_space.c -- giving disk space back, and removing when there is none.
 *
 * What is removed leaves free pages, which the next that is stored takes. More than
 * an eighth of the file is given back to the file system, in small pieces, since it
 * means to move pages from the end of the file into the gaps.
 *
 * To remove something takes space before it gives any: the changed pages go to the
 * journal (-wal) first, and what is in the journal may yet have to make the file
 * longer. So a part of the disk is kept for that in a file of its own (-reserve),
 * while there is plenty; it goes when the disk is full, and what is in the journal is
 * copied before anything else is written. It is twice as long as the journal becomes
 * before it is copied: once for that, and once for what came when this had failed.
 * A journal on a small file system is shorter for it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ev/log.h"
#include "store/sql_sqlite.h"

enum {
    PAGE_BYTES = 4096,
    PIECE_PAGES = 256,
    RESERVE_MOST_BYTES = 32 * 1024 * 1024,
    RESERVE_PART = 16, /* of the file system, at most */
    SLACK_PART = 8     /* of the file */
};

/* ---- the file system */

struct disk {
    uint64_t all_bytes, free_bytes; /* free for us; 0, 0: unknown */
};

static struct disk disk_of(const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) == -1)
        return (struct disk){0, 0};
    return (struct disk){(uint64_t)fs.f_blocks * fs.f_frsize, (uint64_t)fs.f_bavail * fs.f_frsize};
}

static uint64_t reserve_bytes(const struct disk *disk)
{
    uint64_t part = disk->all_bytes / RESERVE_PART;

    return disk->all_bytes == 0 || part > RESERVE_MOST_BYTES ? RESERVE_MOST_BYTES : part;
}

unsigned sqlite_journal_pages(const char *path)
{
    enum { LEAST = 256 };
    const struct disk disk = disk_of(path);
    const uint64_t pages = reserve_bytes(&disk) / 2 / PAGE_BYTES;

    return pages < LEAST ? LEAST : (unsigned)pages;
}

/* ---- the reserve */

static bool reserve_name(const char *path, char name[PATH_MAX])
{
    return snprintf(name, PATH_MAX, "%s-reserve", path) < PATH_MAX;
}

void sqlite_reserve_keep(const char *path)
{
    const struct disk disk = disk_of(path);
    const uint64_t wanted = reserve_bytes(&disk);
    char name[PATH_MAX];
    struct stat st;
    int fd;

    if (!reserve_name(path, name) || (stat(name, &st) == 0 && (uint64_t)st.st_size >= wanted) ||
        disk.free_bytes < 4 * wanted)
        return;
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd == -1)
        return;
    /* Blocks of its own, or nothing: some file systems cannot give them. */
    if (fallocate(fd, 0, 0, (off_t)wanted) == -1)
        (void)unlink(name);
    (void)close(fd);
}

/* Copies the journal into the file as far as readers, who may hold it, let it: without waiting. */
static void empty_journal(sqlite3 *db)
{
    (void)sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

static bool disk_is_full(const char *path)
{
    const struct disk disk = disk_of(path);

    return disk.all_bytes > 0 && disk.free_bytes < reserve_bytes(&disk);
}

bool sqlite_reserve_release(const char *path)
{
    char name[PATH_MAX];

    return disk_is_full(path) && reserve_name(path, name) && unlink(name) == 0;
}

bool sqlite_make_room(sqlite3 *db, const char *path, bool with_reserve)
{
    if (!disk_is_full(path))
        return false;
    if (with_reserve)
        (void)sqlite_reserve_release(path);
    empty_journal(db);
    return true;
}

/* ---- giving back */

static int64_t read_pragma(sqlite3 *db, const char *text)
{
    sqlite3_stmt *st = NULL;
    int64_t n = -1;

    if (sqlite3_prepare_v2(db, text, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return n;
}

/* Only a file that is empty is prepared: another one would be written whenever somebody
 * connects. */
int sqlite_prepare_new(sqlite3 *db, struct err *reterr)
{
    int rc = SQLITE_OK;

    if (read_pragma(db, "PRAGMA page_count") == 0)
        rc = sqlite3_exec(db, "PRAGMA auto_vacuum = INCREMENTAL", NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_failed(db, rc, reterr);
}

static int64_t spare_pages(sqlite3 *db)
{
    int64_t slack = read_pragma(db, "PRAGMA page_count") / SLACK_PART;

    return read_pragma(db, "PRAGMA freelist_count") - (slack > PIECE_PAGES ? slack : PIECE_PAGES);
}

int sqlite_give_back(sqlite3 *db, bool *ret_more, struct err *reterr)
{
    int64_t spare = spare_pages(db);
    int rc;

    *ret_more = false;
    if (spare <= 0 || read_pragma(db, "PRAGMA auto_vacuum") != 2)
        return 0;
    rc = sqlite3_exec(db, "PRAGMA incremental_vacuum(256)", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        return sqlite_failed(db, rc, reterr);
    *ret_more = spare > PIECE_PAGES;
    if (!*ret_more)
        empty_journal(db); /* which makes the file shorter */
    return 0;
}

/* A file of before there was incremental vacuum is written anew, all of it, once. */
void sqlite_convert(sqlite3 *db, const char *path)
{
    enum { AT_ONCE_BYTES = 16 * 1024 * 1024 };
    const struct disk disk = disk_of(path);
    const int64_t bytes = read_pragma(db, "PRAGMA page_count") * PAGE_BYTES;

    if (read_pragma(db, "PRAGMA auto_vacuum") == 2)
        return;
    if (bytes <= AT_ONCE_BYTES && disk.free_bytes > 4 * (uint64_t)bytes &&
        sqlite3_exec(db, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", NULL, NULL, NULL) == SQLITE_OK)
        return;
    log_line(LOG_INFO, "store_keeps_space",
             (struct log_field[]){
                 LOG_STR("reason", STR("the file is of an earlier version, and too large to be "
                                       "converted at start: space in it is used again, but not "
                                       "given back before antiphon store vacuum has run once")),
                 LOG_END});
}
