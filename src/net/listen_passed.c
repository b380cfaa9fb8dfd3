/* listen_passed.c -- the variables, and the sockets that they name. */
#include "net/listen_passed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/num.h"

enum { FIRST_FD = 3, MAX_FD = 1000000, MAX_COUNT = 1024 };

/* The next piece up to a separator, which is taken off with it. */
static str next_piece(str *rest, char separator)
{
    str piece = str_from(rest->p, str_find_char(*rest, separator));

    *rest = str_skip(*rest, piece.len < rest->len ? piece.len + 1 : piece.len);
    return piece;
}

static const char *join_texts(struct arena *a, str before, str text)
{
    char *joined = arena_alloc(a, before.len + text.len + 1);

    if (joined == NULL)
        return NULL;
    memcpy(joined, before.p, before.len);
    memcpy(joined + before.len, text.p, text.len);
    joined[before.len + text.len] = '\0';
    return joined;
}

int listen_passed_read_manager(const char *count, const char *names, struct arena *a,
                               struct listen_passed_list *ret, struct err *reterr)
{
    str rest = str_from_c(names == NULL ? "" : names);
    uint64_t n = 0;

    *ret = (struct listen_passed_list){.report_fd = -1};
    if (!num_uint(str_from_c(count), &n) || n > MAX_COUNT) {
        err_set(reterr, ERR_INTERNAL, "LISTEN_FDS: a number of descriptors is expected");
        return -1;
    }
    ret->v = arena_array(a, n + 1, sizeof(*ret->v));
    if (ret->v == NULL)
        return err_set_no_memory(reterr);
    for (; ret->n < n; ret->n++) {
        str name = next_piece(&rest, ':');
        const char *address = join_texts(a, STR("fd:"), name.len == 0 ? STR("unknown") : name);

        if (address == NULL)
            return err_set_no_memory(reterr);
        ret->v[ret->n] = (struct listen_passed){address, FIRST_FD + (int)ret->n};
    }
    return 0;
}

/* Descriptor numbers are positive, and small. */
static bool read_fd(str text, int *ret)
{
    uint64_t n;

    if (!num_uint(text, &n) || n < FIRST_FD || n > MAX_FD)
        return false;
    *ret = (int)n;
    return true;
}

/* "4,5=127.0.0.1:8080" */
static bool read_line(str line, struct arena *a, struct listen_passed_list *list)
{
    str numbers = next_piece(&line, '=');
    const char *address = line.len == 0 ? NULL : join_texts(a, STR(""), line);

    if (address == NULL || numbers.len == 0 || str_ends_with(numbers, STR(",")))
        return false;
    while (numbers.len > 0) {
        struct listen_passed *p = &list->v[list->n];

        p->address = address;
        if (!read_fd(next_piece(&numbers, ','), &p->fd))
            return false;
        list->n++;
    }
    return true;
}

int listen_passed_read_upgrade(const char *text, struct arena *a, struct listen_passed_list *ret,
                               struct err *reterr)
{
    str rest = str_from_c(text);
    bool is_good;

    *ret = (struct listen_passed_list){.report_fd = -1};
    ret->v = arena_array(a, rest.len + 1, sizeof(*ret->v));
    if (ret->v == NULL)
        return err_set_no_memory(reterr);
    is_good = read_fd(next_piece(&rest, '\n'), &ret->report_fd);
    while (is_good && rest.len > 0)
        is_good = read_line(next_piece(&rest, '\n'), a, ret);
    if (is_good)
        return 0;
    err_set(reterr, ERR_INTERNAL,
            LISTEN_PASSED_VARIABLE ": it is set by a gateway that is replaced, and by nobody else");
    return -1;
}

void listen_passed_write(const struct listen_passed_list *list, struct buf *out)
{
    const char *former = "";

    buf_int(out, list->report_fd);
    for (size_t i = 0; i < list->n; i++) {
        const struct listen_passed *p = &list->v[i];
        const bool is_more = i > 0 && strcmp(former, p->address) == 0;
        const bool is_last = i + 1 == list->n || strcmp(list->v[i + 1].address, p->address) != 0;

        buf_char(out, is_more ? ',' : '\n');
        buf_int(out, p->fd);
        if (is_last) {
            buf_char(out, '=');
            buf_c(out, p->address);
        }
        former = p->address;
    }
}

static bool has_option(int fd, int option, int expected)
{
    int value = 0;
    socklen_t size = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == expected;
}

int listen_passed_check(const struct listen_passed_list *list, struct err *reterr)
{
    for (size_t i = 0; i < list->n; i++) {
        const int fd = list->v[i].fd, flags = fcntl(fd, F_GETFL);

        if (flags == -1 || !has_option(fd, SO_TYPE, SOCK_STREAM) ||
            !has_option(fd, SO_ACCEPTCONN, 1)) {
            err_set(reterr, ERR_INTERNAL, "descriptor %d (%s) was passed, but does not listen", fd,
                    list->v[i].address);
            return -1;
        }
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
    return 0;
}
