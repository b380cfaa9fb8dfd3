/* memory_size.c -- ask the system, and the files of the control groups.
 *
 * A group may take no more than those above it, so all of them are asked. In version 1 one
 * without a limit shows a number near 2^63, in version 2 the word "max". */
#include "memory/memory_size.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"
#include "sandbox/jail_tree.h"

enum { FILE_BYTES = 256 * 1024 };

static void read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 1;

    buf_init(out, FILE_BYTES);
    while (fd != -1 && n > 0) {
        char piece[4096];

        n = read(fd, piece, sizeof(piece));
        buf_append(out, str_from(piece, n > 0 ? (size_t)n : 0));
        if (buf_failed(out))
            break;
    }
    if (fd != -1)
        (void)close(fd);
}

static size_t limit_in_file(const char *directory, const char *name)
{
    char path[JAIL_TREE_BYTES + 32];
    struct buf text;
    uint64_t n;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    read_file(path, &text);
    if (!num_uint(str_trim(buf_str(&text)), &n) || n > SIZE_MAX)
        n = SIZE_MAX;
    buf_fini(&text);
    return (size_t)n;
}

/* The least limit of the group and all above it. */
static size_t least_limit(struct jail_tree *tree, const char *name)
{
    size_t least = SIZE_MAX;
    char *end;

    do {
        size_t limit = limit_in_file(tree->path, name);

        least = limit < least ? limit : least;
        end = strrchr(tree->path, '/');
        if (end != NULL)
            *end = '\0';
    } while (end != NULL && end != tree->path);
    return least;
}

size_t memory_size_of_groups(str cgroup, str mountinfo)
{
    size_t v1 = SIZE_MAX, v2 = SIZE_MAX;
    struct jail_tree tree;

    if (jail_tree_find_v1(cgroup, mountinfo, JAIL_MEMORY, &tree))
        v1 = least_limit(&tree, "memory.limit_in_bytes");
    if (jail_tree_find_v2(cgroup, mountinfo, &tree))
        v2 = least_limit(&tree, "memory.max");
    return v1 < v2 ? v1 : v2;
}

static size_t size_of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    if (pages <= 0 || page_bytes <= 0 || (size_t)pages > SIZE_MAX / (size_t)page_bytes)
        return 0;
    return (size_t)pages * (size_t)page_bytes;
}

size_t memory_size(void)
{
    size_t machine = size_of_machine(), groups;
    struct buf cgroup, mountinfo;

    read_file("/proc/self/cgroup", &cgroup);
    read_file("/proc/self/mountinfo", &mountinfo);
    groups = memory_size_of_groups(buf_str(&cgroup), buf_str(&mountinfo));
    buf_fini(&cgroup);
    buf_fini(&mountinfo);
    if (groups == SIZE_MAX)
        return machine;
    return machine != 0 && machine < groups ? machine : groups;
}
