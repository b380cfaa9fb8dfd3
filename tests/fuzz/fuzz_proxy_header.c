/* fuzz_proxy_header.c -- any bytes: a PROXY header is the same at every split point, ends within its bound,
 * and names an address or nobody. */
#include "fuzz/fuzz.h"

#include <arpa/inet.h>

#include "lib/fixture.h"
#include "net/proxy_header.h"

static void check_client(const struct proxy_header *h)
{
    unsigned char address[16];
    bool is_address =
        inet_pton(AF_INET, h->client, address) == 1 || inet_pton(AF_INET6, h->client, address) == 1;

    fuzz_promise(h->keeps_peer == (h->client[0] == '\0'), "either the peer counts or a client");
    fuzz_promise(h->keeps_peer || is_address || strcmp(h->client, PEER_TEXT_UNIX) == 0,
                 "a client is an address or a socket");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n);
    struct proxy_header whole, part;
    ssize_t used = proxy_header_read(input, &whole, NULL);

    fuzz_promise(used <= PROXY_HEADER_MOST && used <= (ssize_t)n, "a header has its bound");
    if (used > 0)
        check_client(&whole);
    for (size_t i = 0; i < n && i < 2 * PROXY_HEADER_MOST; i = i < 300 ? i + 1 : i * 2) {
        char *exact = exact_copy(str_from(input.p, i));
        ssize_t got = proxy_header_read(str_from(exact, i), &part, NULL);

        if (used > 0)
            fuzz_promise(got == ((ssize_t)i < used ? 0 : used), "a header ends where it ends");
        else if (used == 0)
            fuzz_promise(got == 0, "what may become a header never was refused");
        free(exact);
    }
    return 0;
}
