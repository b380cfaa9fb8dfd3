/* seal_secret.c -- the file beside the database: read, or made whole before it has its name. */
#include "daemon/seal_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ev/log.h"
#include "ev/loop.h"

enum { SECRET_BYTES = 32, SECRET_CHARS = 2 * SECRET_BYTES };

struct secret {
    char text[SECRET_CHARS + 1]; /* and a newline in the file, in place of the end */
};

static bool is_secret(const struct secret *s, ssize_t n_read)
{
    return n_read == (ssize_t)sizeof(s->text) &&
           strspn(s->text, "0123456789abcdef") == SECRET_CHARS && s->text[SECRET_CHARS] == '\n';
}

/* 1 when it is there, 0 when there is no such file. */
static int read_secret(const char *path, struct secret *ret, struct err *reterr)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n;

    if (fd == -1 && errno == ENOENT)
        return 0;
    if (fd == -1) {
        err_set(reterr, ERR_STORE, "Cannot read %s, which encrypted_content is sealed with: %s.",
                path, strerror(errno));
        return -1;
    }
    n = read(fd, ret->text, sizeof(ret->text));
    (void)close(fd);
    if (!is_secret(ret, n)) {
        err_set(reterr, ERR_STORE,
                "%s is not what encrypted_content was sealed with: bring it back from a backup, or "
                "remove it, and what was sealed before is lost.",
                path);
        return -1;
    }
    ret->text[SECRET_CHARS] = '\0';
    return 1;
}

static void make_secret(struct secret *ret)
{
    unsigned char bytes[SECRET_BYTES];

    random_fill(NULL, bytes, sizeof(bytes));
    for (size_t i = 0; i < SECRET_BYTES; i++)
        (void)snprintf(ret->text + 2 * i, 3, "%02x", bytes[i]);
    ret->text[SECRET_CHARS] = '\n';
}

static bool write_whole(int fd, const struct secret *s)
{
    const bool is_written =
        write(fd, s->text, sizeof(s->text)) == (ssize_t)sizeof(s->text) && fsync(fd) == 0;

    return close(fd) == 0 && is_written;
}

/* Another gateway may have been quicker: then its file stays. */
static bool keep_new_secret(const char *path)
{
    char draft[PATH_MAX];
    struct secret s;
    bool is_kept;
    int fd;

    if (snprintf(draft, sizeof(draft), "%s-XXXXXX", path) >= (int)sizeof(draft))
        return false;
    fd = mkostemp(draft, O_CLOEXEC); /* for its user alone */
    if (fd == -1)
        return false;
    make_secret(&s);
    is_kept = write_whole(fd, &s) && (link(draft, path) == 0 || errno == EEXIST);
    (void)unlink(draft);
    return is_kept;
}

/* 1 when there is one, 0 when none can be kept. */
static int find_beside(const char *path, struct secret *ret, struct err *reterr)
{
    int rc = read_secret(path, ret, reterr);

    if (rc != 0)
        return rc;
    if (keep_new_secret(path))
        return read_secret(path, ret, reterr);
    log_msg(LOG_WARN, "cannot make %s: encrypted_content is lost with a restart", path);
    return 0;
}

bool seal_secret_path(const char *store_url, char *out, size_t size)
{
    static const char scheme[] = "sqlite:";

    return strncmp(store_url, scheme, strlen(scheme)) == 0 &&
           snprintf(out, size, "%s-key", store_url + strlen(scheme)) < (int)size;
}

int seal_secret_find(const struct config *c, const char *store_url, struct arena *a,
                     struct config_list *ret, struct err *reterr)
{
    char path[PATH_MAX];
    struct secret s;
    str kept;
    int rc;

    *ret = c->encryption_keys;
    if (ret->n > 0 || !seal_secret_path(store_url, path, sizeof(path)))
        return 0;
    rc = find_beside(path, &s, reterr);
    if (rc != 1)
        return rc;
    kept = arena_dup(a, str_from(s.text, SECRET_CHARS + 1));
    explicit_bzero(&s, sizeof(s));
    ret->items = arena_array(a, 1, sizeof(*ret->items));
    if (str_is_none(kept) || ret->items == NULL)
        return err_set_no_memory(reterr);
    ret->items[0] = kept.p;
    ret->n = 1;
    return 0;
}
