/* fuzz_child_line.c -- any bytes of a child: its lines are the same however they
 * are cut, within the limit, never blank, and no text but ends and blanks is lost. */
#include "fuzz/fuzz.h"

#include "child/child_line.h"
#include "lib/fixture.h"

enum { LIMIT_BYTES = 16 };

struct transcript {
    struct child_line lines;
    struct buf text;
    bool failed;
};

static void on_line(void *arg, str line)
{
    struct transcript *t = arg;

    fuzz_promise(line.len <= LIMIT_BYTES, "no line is longer than the limit");
    fuzz_promise(str_trim(line).len > 0, "no line is blank");
    fuzz_promise(str_find_char(line, '\n') == line.len, "no line holds its end");
    buf_append(&t->text, line);
    buf_char(&t->text, '\n');
}

static void feed(void *arg, str piece)
{
    struct transcript *t = arg;
    int rc = child_line_feed(&t->lines, piece, on_line, t);

    fuzz_promise(!t->failed || rc == -1, "a failure is for good");
    t->failed = rc == -1;
}

static struct transcript read_all(str bytes, struct cutting cutting, bool cuts)
{
    struct transcript t = {.failed = false};

    child_line_init(&t.lines, LIMIT_BYTES, cuts);
    feed_pieces(bytes, cutting, feed, &t);
    t.failed = child_line_end(&t.lines, on_line, &t) == -1;
    child_line_fini(&t.lines);
    return t;
}

static void check(str bytes, bool cuts)
{
    struct transcript whole = read_all(bytes, UNCUT, cuts);
    struct transcript cut = read_all(bytes, BYTE_BY_BYTE, cuts);
    struct transcript halves = read_all(bytes, CUT_AT(bytes.len / 2), cuts);

    fuzz_promise(!cuts || !whole.failed, "a cutter that cuts does not fail");
    fuzz_promise(whole.failed == cut.failed && whole.failed == halves.failed &&
                     str_eq(buf_str(&whole.text), buf_str(&cut.text)) &&
                     str_eq(buf_str(&whole.text), buf_str(&halves.text)),
                 "any cutting gives the same lines");
    buf_fini(&whole.text);
    buf_fini(&cut.text);
    buf_fini(&halves.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    check(fuzz_input(bytes, n), false);
    check(fuzz_input(bytes, n), true);
    return 0;
}
