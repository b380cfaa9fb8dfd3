/* fuzz_response_read.c -- whatever is stored of a response is refused, or written again as it was.
 *
 * The input is a head, a tail and bodies of items, a line each; an item alone is read as well. What is
 * read has the same events whatever cuts there are, or none. Behind a NUL cuts may follow. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "response/replay.h"
#include "response/response_read.h"

enum { MAX_ITEMS = 16 };

static void read_item(str body)
{
    struct arena a = {.used = 0};
    struct output_item item;
    struct buf again = {.limit = 0};
    struct err e = {.code = ERR_NONE};

    if (output_item_read(body, &a, &item, &e) == 0) {
        output_item_write(&item, &again);
        fuzz_promise(str_eq(buf_str(&again), body), "an item is written as it was read");
        output_item_fini(&item);
    } else {
        fuzz_promise(e.code == ERR_STORE, "an item that is refused is not the client's fault");
    }
    buf_fini(&again);
    arena_fini(&a);
}

static void compare(const struct response *r, str head, const str *items, size_t n, str tail)
{
    struct buf read = {.limit = 0}, written = {.limit = 0};
    const bool shows_items = r->status != RESPONSE_QUEUED && r->status != RESPONSE_IN_PROGRESS;

    buf_append(&read, head);
    for (size_t i = 0; shows_items && i < n; i++) {
        if (i > 0)
            buf_char(&read, ',');
        buf_append(&read, items[i]);
    }
    buf_append(&read, tail);
    response_object(r, &written);
    fuzz_promise(str_eq(buf_str(&read), buf_str(&written)), "an object is written as it was read");
    buf_fini(&read);
    buf_fini(&written);
}

/* In one piece, and event by event: the same. */
static void replay(const struct response *r, str cuts)
{
    struct buf whole = {.limit = 0}, pieces = {.limit = 0};
    struct replay p;
    uint64_t before;
    int rc;

    replay_init(&p);
    rc = replay_events(&p, r, cuts, UINT64_MAX, -1, false, SIZE_MAX, &whole);
    replay_init(&p);
    do {
        struct buf piece = {.limit = 0};

        before = p.next;
        if (replay_events(&p, r, cuts, UINT64_MAX, -1, false, 1, &piece) == -1)
            fuzz_promise(rc == -1, "what is damaged is so in any pieces");
        buf_append(&pieces, buf_str(&piece));
        buf_fini(&piece);
    } while (p.next > before);
    fuzz_promise(str_eq(buf_str(&whole), buf_str(&pieces)), "any pieces give the same events");
    buf_fini(&whole);
    buf_fini(&pieces);
}

static size_t cut_lines(str text, str *lines, size_t n_most)
{
    size_t n = 0;

    while (n < n_most && text.len > 0)
        lines[n++] = str_cut(&text, '\n');
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const struct response_conf conf = {.error_event = true};
    str rest = fuzz_input(bytes, n_bytes), lines[MAX_ITEMS + 2];
    char *copy = exact_copy(rest);
    struct response r;
    struct err e = {.code = ERR_NONE};
    size_t n;

    rest = str_from(copy, rest.len);
    n = cut_lines(str_cut(&rest, '\0'), lines, COUNT_OF(lines));
    for (size_t i = 2; i < n; i++)
        read_item(lines[i]);
    if (n == 1)
        read_item(lines[0]);
    if (n >= 2 && response_read(&conf, lines[0], lines[1], lines + 2, n - 2, &r, &e) == 0) {
        compare(&r, lines[0], lines + 2, n - 2, lines[1]);
        replay(&r, rest);
        response_fini(&r);
    }
    fuzz_promise(e.code == ERR_NONE || e.code == ERR_STORE,
                 "what is stored is no fault of clients");
    free(copy);
    return 0;
}
