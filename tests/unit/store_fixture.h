/* store_fixture.h -- the same tests for every database.
 *
 * Each test gets an empty store and a session on it. ANTIPHON_TEST_POSTGRES names
 * a PostgreSQL database for the tests alone: what is in it is removed. */
#ifndef ANTIPHON_TESTS_UNIT_STORE_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_STORE_FIXTURE_H

#include <ftw.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "lib/test.h"
#include "store/store.h"

struct fixture {
    struct store_session *s;
    struct arena arena;
    struct err err;
};

static const str alice = STR_INIT("alice"), bob = STR_INIT("bob");

static char backend_dir[] = "/tmp/antiphon-store-XXXXXX";
static char backend_url[256];
static struct store_conf backend_conf = {
    .url = backend_url, .connections = 3, .timeout_ms = 10000, .lock_ms = 30000};

static inline void check_ok(int rc, const struct err *e, const char *file, int line)
{
    if (rc == 0)
        return;
    print_error("failed: %s\n", e->msg);
    _fail(file, line);
}

static inline void check_fails(int rc, const struct err *e, enum err_code code, const char *file,
                               int line)
{
    if (rc == -1 && e->code == code)
        return;
    print_error("returned %d with \"%s\"\n", rc, rc == -1 ? e->msg : "");
    _fail(file, line);
}

/* For calls that end in &f->err. */
#define assert_ok(call)          check_ok((call), &f->err, __FILE__, __LINE__)
#define assert_fails(call, code) check_fails((call), &f->err, (code), __FILE__, __LINE__)

/* Whatever an earlier test has left: everything is too old in a hundred years. */
static inline void store_empty(struct store_session *s)
{
    const struct store_limits limits = {.max_age_s = 1};
    struct store_purged purged;

    assert_int_equal(store_purge(s, &limits, INT64_C(8000000000000), SIZE_MAX, &purged, NULL), 0);
}

static inline int store_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->s = store_session_open(&backend_conf, &f->err);
    if (f->s == NULL) {
        print_error("%s: %s\n", backend_url, f->err.msg);
        return -1;
    }
    store_empty(f->s);
    return 0;
}

static inline int store_teardown(void **state)
{
    struct fixture *f = *state;

    /* which a test may have left locked, and then it cannot be purged */
    (void)store_delete_conversation(f->s, alice, STR("c1"), NULL);
    store_session_close(f->s);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* Runs a group for memory, a file, and PostgreSQL when it is there. Returns how
 * many tests failed. */
static inline int backends_run(int (*group)(const char *name))
{
    const char *postgres = getenv("ANTIPHON_TEST_POSTGRES");
    int failed;

    if (mkdtemp(backend_dir) == NULL)
        return 1;
    (void)snprintf(backend_url, sizeof(backend_url), "memory");
    failed = group("memory");
    (void)snprintf(backend_url, sizeof(backend_url), "sqlite:%s/store.db", backend_dir);
    failed += group("sqlite");
    if (postgres != NULL) {
        (void)snprintf(backend_url, sizeof(backend_url), "%s", postgres);
        failed += group("postgres");
    }
    (void)nftw(backend_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}

#define ON_STORE(test) cmocka_unit_test_setup_teardown(test, store_setup, store_teardown)

/* ---- making things */

static inline str text(struct fixture *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A text in the arena. */
static inline str text(struct fixture *f, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    return arena_dup(&f->arena, str_from_c(line));
}

/* Items from words: "<id" is one of the request, ">id" of the output, "-id" a
 * hidden one of the output, "@id" a reference, "*id" a hidden one to a hidden item. The body of an
 * item is {id}. */
static inline struct store_items items_from(struct fixture *f, const char *words)
{
    struct store_items items = {.v = arena_array(&f->arena, strlen(words) + 1, sizeof(*items.v))};
    str rest = str_trim(str_from_c(words));

    while (rest.len > 0) {
        str word = str_from(rest.p, str_find_char(rest, ' '));
        str id = str_skip(word, 1);
        const bool is_reference = word.p[0] == '@' || word.p[0] == '*';

        items.v[items.n++] =
            (struct store_item){.id = id,
                                .body = is_reference ? STR_NONE : text(f, "{%.*s}", STR_ARG(id)),
                                .is_output = word.p[0] == '>' || word.p[0] == '-',
                                .is_hidden = word.p[0] == '-' || word.p[0] == '*',
                                .is_reference = is_reference};
        rest = str_trim_start(str_skip(rest, word.len));
    }
    return items;
}

static inline struct store_response response_from(struct fixture *f, const char *id,
                                                  const char *parent, const char *words)
{
    return (struct store_response){.id = str_from_c(id),
                                   .parent_id = str_from_c(parent),
                                   .status = STORE_COMPLETED,
                                   .created_at = 1700000000,
                                   .head = text(f, "head of %s", id),
                                   .tail = text(f, "tail of %s", id),
                                   .items = items_from(f, words)};
}

static inline void save(struct fixture *f, const char *id, const char *parent, const char *words)
{
    struct store_response r = response_from(f, id, parent, words);

    assert_ok(store_save_response(f->s, alice, &r, &f->err));
}

static inline void create(struct fixture *f, const char *id, const char *words)
{
    struct store_conversation c = {
        .id = str_from_c(id), .created_at = 1700000000, .metadata = STR("{}")};
    struct store_items items = items_from(f, words);

    assert_ok(store_create_conversation(f->s, alice, &c, &items, &f->err));
}

static inline void save_in(struct fixture *f, const char *id, const char *conversation,
                           const char *words)
{
    struct store_response r = response_from(f, id, NULL, words);

    r.conversation_id = str_from_c(conversation);
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
}

static inline struct store_stats stats(struct fixture *f)
{
    struct store_stats st;

    assert_ok(store_stats(f->s, &st, &f->err));
    return st;
}

/* The bodies of items, joined. */
static inline str bodies(struct fixture *f, const struct store_items *items)
{
    struct buf all = {0};
    str copy;

    for (size_t i = 0; i < items->n; i++)
        buf_append(&all, items->v[i].body);
    copy = arena_dup(&f->arena, buf_str(&all));
    buf_fini(&all);
    return copy;
}

static inline void assert_context(struct fixture *f, const char *id, const char *expected)
{
    struct store_history h;

    assert_ok(store_load_history(f->s, alice, str_from_c(id), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), expected);
}

static inline void assert_no_context(struct fixture *f, const char *id)
{
    struct store_history h;

    assert_fails(store_load_history(f->s, alice, str_from_c(id), &f->arena, &h, &f->err),
                 ERR_PREVIOUS_NOT_FOUND);
}

static inline void assert_no_response(struct fixture *f, const char *id)
{
    struct store_response r;

    assert_fails(store_get_response(f->s, alice, str_from_c(id), &f->arena, &r, &f->err),
                 ERR_NOT_FOUND);
}

static inline void assert_conversation(struct fixture *f, const char *id, const char *expected)
{
    const struct store_page all = {.limit = 1000, .ascending = true};
    struct store_list list;

    assert_ok(store_list_items(f->s, alice, str_from_c(id), &all, &f->arena, &list, &f->err));
    assert_str_c(bodies(f, &list.items), expected);
}

#endif
