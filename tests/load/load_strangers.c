/* load_strangers.c -- many connections without a key, which send all the same.
 *
 *     load_strangers PORT CONNECTIONS HEAD_BYTES BODY_BYTES
 *
 * Opens the connections, sends on each a head of about HEAD_BYTES and BODY_BYTES of a
 * body of 1 MiB in pieces, each connection a piece in turn. With no body the heads
 * stay unfinished. Prints {"open":N,"unauthorized":N,"overloaded":N,"other":N,"silent":N}
 * when everything is sent and read, keeps the connections open, and ends with its input.
 *
 * The connections come from several addresses of the loopback network, so that none
 * runs out of ports. What the other end does not take is not sent again. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load/load.h"

enum {
    PER_ADDRESS = 4000,
    PIECE_BYTES = 4096,
    ANSWER_MS = 20000,   /* patience with an answer */
    BODY_TOTAL = 1 << 20 /* announced, never sent whole */
};

static struct {
    unsigned unauthorized, overloaded, other, silent;
} heard;

static int dial(unsigned i, uint16_t port)
{
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + i / PER_ADDRESS)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1 || bind(fd, (struct sockaddr *)&from, sizeof(from)) == -1 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1) {
        perror("load_strangers: connect");
        exit(EXIT_FAILURE);
    }
    return fd;
}

/* What the peer does not take at once is lost to it, and so be it. */
static void send_now(int fd, str bytes)
{
    (void)send(fd, bytes.p, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void head_write(size_t n_bytes, bool whole, struct buf *out)
{
    buf_c(out, "POST /v1/responses HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
               "Content-Length: ");
    buf_uint(out, BODY_TOTAL);
    buf_c(out, "\r\nX-Long: ");
    while (out->len < n_bytes)
        buf_char(out, 'x');
    if (whole)
        buf_c(out, "\r\n\r\n");
}

static void note_answer(int fd)
{
    char bytes[2048];
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&readable, 1, ANSWER_MS) == 1 ? recv(fd, bytes, sizeof(bytes) - 1, 0) : 0;

    bytes[n > 0 ? n : 0] = '\0';
    if (n <= 0)
        heard.silent++;
    else if (strstr(bytes, "HTTP/1.1 401 ") == bytes &&
             strstr(bytes, "\"invalid_api_key\"") != NULL)
        heard.unauthorized++;
    else if (strstr(bytes, "HTTP/1.1 503 ") == bytes)
        heard.overloaded++;
    else
        heard.other++;
}

int main(int argc, char **argv)
{
    unsigned n = argc == 5 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    size_t head_bytes = argc == 5 ? strtoul(argv[3], NULL, 10) : 0;
    size_t body_bytes = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    static char piece[PIECE_BYTES];
    struct buf head = {.limit = 0};
    int *fds = calloc(n + 1, sizeof(*fds));

    if (n == 0 || fds == NULL) {
        (void)fputs("usage: load_strangers PORT CONNECTIONS HEAD_BYTES BODY_BYTES\n", stderr);
        return 2;
    }
    memset(piece, 'x', sizeof(piece));
    load_raise_limit();
    head_write(head_bytes, body_bytes > 0, &head);
    for (unsigned i = 0; i < n; i++) {
        fds[i] = dial(i, (uint16_t)strtoul(argv[1], NULL, 10));
        send_now(fds[i], buf_str(&head));
    }
    for (size_t sent = 0; sent < body_bytes; sent += PIECE_BYTES)
        for (unsigned i = 0; i < n; i++)
            send_now(fds[i], str_from(piece, PIECE_BYTES));
    for (unsigned i = 0; i < n && body_bytes > 0; i++)
        note_answer(fds[i]);
    (void)printf("{\"open\":%u,\"unauthorized\":%u,\"overloaded\":%u,\"other\":%u,\"silent\":%u}\n",
                 n, heard.unauthorized, heard.overloaded, heard.other, heard.silent);
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
    for (unsigned i = 0; i < n; i++)
        (void)close(fds[i]);
    free(fds);
    buf_fini(&head);
    return EXIT_SUCCESS;
}
