/* fuzz_text_calls.c -- any text in any format: calls and text are the same in every cutting, what
 * is called has a name and an object, and no text is lost or made up. The first byte chooses the
 * format. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "json/json_read.h"
#include "lib/fixture.h"
#include "text/text_calls.h"

enum { N_FORMATS = TEXT_CALLS_PYTHONIC + 1 };

struct transcript {
    struct text_calls calls;
    struct buf said; /* all, in order */
    struct buf text; /* text alone */
    size_t n_calls;
    bool is_whole; /* the text came uncut, and is well-formed */
};

static void on_text(void *arg, str plain)
{
    struct transcript *t = arg;

    fuzz_promise(plain.len > 0, "no text is empty");
    fuzz_promise(!t->is_whole || utf8_is_valid(plain), "no text ends inside a character");
    buf_append(&t->said, plain);
    buf_append(&t->text, plain);
}

static void on_call(void *arg, const struct text_call *call)
{
    struct transcript *t = arg;

    fuzz_promise(call->name.len > 0, "a call has a name");
    fuzz_promise(jr_is_valid(call->arguments) && jr_type_of(str_trim(call->arguments)) == JR_OBJECT,
                 "arguments are an object");
    buf_append(&t->said, STR("\x01"));
    buf_append(&t->said, call->name);
    buf_append(&t->said, STR("\x02"));
    buf_append(&t->said, call->arguments);
    buf_append(&t->said, STR("\x03"));
    buf_append(&t->said, call->id);
    t->n_calls++;
}

/* Some are, some are not. */
static bool is_function(void *arg, str name)
{
    (void)arg;
    return name.len > 1 && name.p[0] != 'x';
}

static str parameter_type(void *arg, str function, str parameter)
{
    static const str types[] = {STR_INIT(""),       STR_INIT("string"), STR_INIT("integer"),
                                STR_INIT("number"), STR_INIT("array"),  STR_INIT("boolean")};

    (void)arg;
    return types[(function.len + parameter.len) % (sizeof(types) / sizeof(*types))];
}

static const struct text_calls_handler handler = {on_text, on_call, is_function, parameter_type};

static void feed(void *arg, str piece)
{
    struct transcript *t = arg;

    fuzz_promise(text_calls_feed(&t->calls, piece), "memory suffices");
}

static struct transcript read_all(enum text_call_format format, str plain, struct cutting cutting)
{
    struct transcript t = {.is_whole = cutting.first == 0 && utf8_is_valid(plain)};

    text_calls_init(&t.calls, format, &handler, &t);
    feed_pieces(plain, cutting, feed, &t);
    fuzz_promise(text_calls_finish(&t.calls), "memory suffices");
    text_calls_fini(&t.calls);
    return t;
}

static void fini(struct transcript *t)
{
    buf_fini(&t->said);
    buf_fini(&t->text);
}

/* What is said stands in the text, in this order. */
static bool is_left_of(str said, str plain)
{
    size_t n = 0;

    for (size_t i = 0; i < plain.len && n < said.len; i++) {
        if (plain.p[i] == said.p[n])
            n++;
    }
    return n == said.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str in = fuzz_input(bytes, n), plain = str_skip(in, 1);
    enum text_call_format format =
        n == 0 ? TEXT_CALLS_NONE : (enum text_call_format)(bytes[0] % N_FORMATS);
    struct transcript whole = read_all(format, plain, UNCUT);

    fuzz_promise(whole.n_calls > 0 || str_eq(buf_str(&whole.text), plain),
                 "without a call all of it is text");
    fuzz_promise(is_left_of(buf_str(&whole.text), plain), "no text is made up");
    for (size_t piece = 1; piece <= 7; piece += 3) {
        struct transcript cut = read_all(format, plain, (struct cutting){piece, piece});

        fuzz_promise(str_eq(buf_str(&whole.said), buf_str(&cut.said)),
                     "any cutting gives the same");
        fini(&cut);
    }
    fini(&whole);
    return 0;
}
