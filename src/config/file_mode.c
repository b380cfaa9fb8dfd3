/* file_mode.c -- the bits of a file and of its folder. */
#include "config/file_mode.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static bool is_changeable(const char *path)
{
    struct statvfs fs;

    return statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY) == 0;
}

/* The bits that let others write. A group with the number of the owner is the owner's alone, as
 * Debian makes one for each user, and such users often let it write. */
static mode_t write_bits(const struct stat *s)
{
    bool is_own_group = s->st_gid == s->st_uid && s->st_uid != 0;

    return s->st_mode & (is_own_group ? S_IWOTH : S_IWGRP | S_IWOTH);
}

static void check_folder(const char *path, struct config_problems *problems)
{
    char *folder = realpath(path, NULL), *slash = folder == NULL ? NULL : strrchr(folder, '/');
    struct stat s;

    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = '\0';
        if (stat(folder, &s) == 0 && write_bits(&s) != 0 && (s.st_mode & S_ISVTX) == 0)
            config_warning(problems,
                           "%s: others may replace it, since they may write its folder (mode "
                           "%04o); run: chmod go-w %s",
                           path, (unsigned)s.st_mode & 07777, folder);
    }
    free(folder);
}

void file_mode_check_writers(const char *path, struct config_problems *problems)
{
    struct stat s;

    if (stat(path, &s) == -1 || !S_ISREG(s.st_mode) || !is_changeable(path))
        return;
    if (write_bits(&s) != 0)
        config_warning(problems, "%s: others may write it (mode %04o); run: chmod go-w %s", path,
                       (unsigned)s.st_mode & 07777, path);
    else
        check_folder(path, problems);
}

void file_mode_check_readers(const char *path, struct config_problems *problems)
{
    struct stat s;

    if (stat(path, &s) == 0 && S_ISREG(s.st_mode) && (s.st_mode & S_IROTH) != 0 &&
        is_changeable(path))
        config_warning(problems, "%s: everybody may read it (mode %04o); run: chmod o-rwx %s", path,
                       (unsigned)s.st_mode & 07777, path);
}
