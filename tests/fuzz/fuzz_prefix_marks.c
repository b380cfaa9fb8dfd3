/* fuzz_prefix_marks.c -- any body: its marks rise, a copy has the same ones, one more message keeps them,
 * and the mark behind that was foretold.
 *
 * The input is a body. When it is two, with a NUL between them, marks are equal up to the first that is
 * not, and none behind it. */
#include "fuzz/fuzz.h"

#include "affinity/prefix_marks.h"
#include "base/buf.h"
#include "json/json_read.h"
#include "lib/fixture.h"

enum { KEY = 7 };

static struct prefix_marks read_marks(str body, struct arena *a)
{
    struct prefix_marks m;
    char *copy = exact_copy(body);

    fuzz_promise(prefix_marks_read(str_from(copy, body.len), KEY, a, &m), "there is memory");
    free(copy);
    return m;
}

static void check_rising(const struct prefix_marks *m, str body)
{
    for (size_t i = 1; i < m->n; i++)
        fuzz_promise(m->marks[i - 1].bytes <= m->marks[i].bytes, "bytes never fall");
    fuzz_promise(m->n <= PREFIX_MARKS_MAX, "the number of marks is bounded");
    fuzz_promise(m->n == 0 || m->marks[m->n - 1].bytes <= body.len, "no more bytes than there are");
    if (jr_is_valid(body))
        fuzz_promise((m->n > 0) == (jr_type_of(str_trim_start(body)) == JR_OBJECT),
                     "an object has marks, and nothing else has");
}

static size_t n_equal(const struct prefix_marks *a, const struct prefix_marks *b)
{
    size_t i = 0;

    while (i < a->n && i < b->n && a->marks[i].hash == b->marks[i].hash)
        i++;
    return i;
}

static void check_copy(const struct prefix_marks *m, str body, struct arena *a)
{
    struct prefix_marks again = read_marks(body, a);

    fuzz_promise(again.n == m->n && n_equal(&again, m) == m->n, "equal bodies have equal marks");
}

/* Where one more message would be put: before the `]` of the list that ends the body. */
static bool find_place(str body, size_t *ret)
{
    size_t n = body.len;

    if (!str_starts_with(body, STR("{\"messages\":[")) || !str_ends_with(body, STR("]}")))
        return false;
    *ret = n - 2;
    return true;
}

static void check_more(const struct prefix_marks *m, str body, struct arena *a)
{
    const str message = STR("{\"role\":\"user\",\"content\":\"more\"}");
    struct buf longer = {.limit = 0};
    struct prefix_mark behind;
    struct prefix_marks more;
    size_t place;

    if (m->n < 2 || m->n >= PREFIX_MARKS_MAX || !find_place(body, &place))
        return;
    behind = prefix_marks_behind(m, message);
    buf_append(&longer, str_from(body.p, place));
    buf_c(&longer, ",");
    buf_append(&longer, message);
    buf_c(&longer, "]}");
    more = read_marks(buf_str(&longer), a);
    /* The last list of the body may be of another member. */
    if (more.n == m->n + 1) {
        fuzz_promise(n_equal(m, &more) == m->n, "one more message keeps all marks");
        fuzz_promise(behind.hash == more.marks[m->n].hash && behind.bytes == more.marks[m->n].bytes,
                     "the mark behind it is the one that was foretold");
    }
    buf_fini(&longer);
}

/* A hash stands for all that is before it, so what has parted never meets again. */
static void check_parting(const struct prefix_marks *a, const struct prefix_marks *b)
{
    for (size_t i = n_equal(a, b); i < a->n && i < b->n; i++)
        fuzz_promise(a->marks[i].hash != b->marks[i].hash, "marks that have parted stay apart");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str body = fuzz_input(bytes, n), other = body;
    struct arena a = {.limit = 0};
    struct prefix_marks m, second;

    body = str_cut(&other, '\0');
    m = read_marks(body, &a);
    second = read_marks(other, &a);
    check_rising(&m, body);
    check_copy(&m, body, &a);
    check_more(&m, body, &a);
    check_parting(&m, &second);
    arena_fini(&a);
    return 0;
}
