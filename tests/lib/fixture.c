/* fixture.c -- files, pieces and repeatable chance. */
#include "lib/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/failing_malloc.h"

static void give_up(const char *what, const char *name)
{
    fprintf(stderr, "%s %s: %s\n", what, name, strerror(errno));
    exit(2);
}

/* ---- files */

const char *fixture_path(const char *name)
{
    static char path[4096];
    const char *root = getenv("ANTIPHON_TEST_DATA");

    snprintf(path, sizeof(path), "%s/%s", root == NULL ? "tests/data" : root, name);
    return path;
}

struct buf fixture_read(const char *name)
{
    struct buf out = {.limit = 0};
    FILE *f = fopen(fixture_path(name), "rb");
    size_t n = 1;

    if (f == NULL)
        give_up("open", fixture_path(name));
    while (n > 0) {
        char *to = buf_reserve(&out, 65536);

        if (to == NULL)
            give_up("read", name);
        n = fread(to, 1, 65536, f);
        out.len += n;
    }
    fclose(f);
    return out;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **fixture_list(const char *folder, const char *suffix)
{
    DIR *dir = opendir(fixture_path(folder));
    char **names = calloc(1, sizeof(*names));
    size_t n = 0;

    if (dir == NULL)
        give_up("open", fixture_path(folder));
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (!str_ends_with(str_from_c(e->d_name), str_from_c(suffix)) || e->d_name[0] == '.')
            continue;
        names = realloc(names, (n + 2) * sizeof(*names));
        if (names == NULL || asprintf(&names[n], "%s/%s", folder, e->d_name) == -1)
            give_up("list", folder);
        names[++n] = NULL;
    }
    closedir(dir);
    qsort(names, n, sizeof(*names), by_name);
    return names;
}

void fixture_list_free(char **names)
{
    for (char **name = names; *name != NULL; name++)
        free(*name);
    free(names);
}

/* ---- pieces */

char *exact_copy(str s)
{
    char *p = sure_malloc(s.len);

    if (s.len > 0)
        memcpy(p, s.p, s.len);
    return p;
}

void feed_pieces(str bytes, struct cutting cutting, void (*feed)(void *arg, str piece), void *arg)
{
    size_t most = cutting.first;

    while (bytes.len > 0) {
        size_t n = most == 0 || most > bytes.len ? bytes.len : most;
        char *piece = exact_copy(str_from(bytes.p, n));

        feed(arg, str_from(piece, n));
        free(piece);
        bytes = str_skip(bytes, n);
        most = cutting.piece;
    }
}

/* ---- chance */

uint32_t chance_below(struct chance *c, uint32_t n)
{
    if (c->state == 0)
        c->state = 0x9E3779B97F4A7C15U;
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return (uint32_t)(c->state >> 32) % n;
}

static void fill(void *arg, void *p, size_t n)
{
    struct test_ids *ids = arg;
    unsigned char *bytes = p;

    while (n-- > 0)
        *bytes++ = (unsigned char)chance_below(&ids->chance, 256);
}

void test_ids_reset(struct test_ids *ids)
{
    *ids = (struct test_ids){.source = {fill, ids}};
}
