/* parsers.c -- what reads the text of models, and what reads bodies before they are sent, alone.
 *
 *     parsers NAME BYTES
 *
 * Feeds BYTES of a text of a MiB to the parser NAME, in pieces as long as a few tokens, and prints
 * how many bytes it reported. Run under a profiler, with no bytes and with all: the difference is
 * what they cost. */
#include <stdio.h>
#include <string.h>

#include "affinity/prefix_marks.h"
#include "base/buf.h"
#include "bench_sys.h"
#include "text/harmony.h"
#include "text/text_calls.h"
#include "text/think.h"

enum { PIECE_BYTES = 16, TEXT_BYTES = 1024 * 1024 };

/* Prose with a little code in it, so that now and then a `<` is no marker. */
static const char PROSE[] =
    "The list is sorted first, because a search in a sorted list needs only as many steps as its "
    "length has digits. Every step looks at the middle and throws one half away; \"not found\" is "
    "an answer like any other. In C this is `while (low < high)`, and the mean is taken as low + "
    "(high - low) / 2, which cannot overflow - for n elements, at most log2(n) + 1 turns.\n\n";

static void append_prose(struct buf *text, size_t n_bytes)
{
    for (size_t until = text->len + n_bytes; text->len < until;)
        buf_c(text, PROSE);
}

/* The next piece, which is taken off the text. */
static str next_piece(str *text)
{
    str piece = str_from(text->p, text->len < PIECE_BYTES ? text->len : PIECE_BYTES);

    *text = str_skip(*text, piece.len);
    return piece;
}

/* ---- harmony: thoughts and answers, of a page each */

enum { PAGE_BYTES = 2048 };

static void on_message(void *arg, const struct harmony_header *header)
{
    (void)arg;
    (void)header;
}

static void on_content(void *arg, str plain)
{
    size_t *n_reported = arg;

    *n_reported += plain.len;
}

static void on_end(void *arg, enum harmony_end by)
{
    (void)arg;
    (void)by;
}

static void on_warning(void *arg, const char *what, str text)
{
    (void)arg;
    bench_fail("harmony: %s: %.*s", what, (int)text.len, text.p);
}

static bool is_function(void *arg, str name)
{
    (void)arg;
    (void)name;
    return false;
}

static void write_harmony(struct buf *text)
{
    static const char *const channels[] = {"analysis", "commentary"};

    for (size_t i = 0; text->len < TEXT_BYTES; i++) {
        buf_c(text, i == 0 ? "<|channel|>" : "<|end|><|start|>assistant<|channel|>");
        buf_c(text, channels[i % 2]);
        buf_c(text, "<|message|>");
        append_prose(text, PAGE_BYTES);
    }
}

static size_t feed_harmony(str text)
{
    static const struct harmony_handler handler = {on_message, on_content, on_end, on_warning,
                                                   is_function};
    struct harmony h;
    size_t n_reported = 0;

    harmony_init(&h, &handler, &n_reported);
    while (text.len > 0)
        (void)harmony_feed(&h, next_piece(&text));
    (void)harmony_finish(&h);
    harmony_fini(&h);
    return n_reported;
}

/* ---- think: one block as long as the answer behind it */

static void write_think(struct buf *text)
{
    buf_c(text, "<think>");
    append_prose(text, TEXT_BYTES / 2);
    buf_c(text, "</think>");
    append_prose(text, TEXT_BYTES / 2);
}

static size_t feed_think(str text)
{
    struct think t = {.start = THINK_FROM_TAG};
    struct buf reasoning = {0}, answer = {0};
    size_t n_reported = 0;

    while (text.len > 0) {
        think_feed(&t, next_piece(&text), &reasoning, &answer);
        n_reported += reasoning.len + answer.len;
        reasoning.len = answer.len = 0;
    }
    think_end(&t, &reasoning, &answer);
    n_reported += reasoning.len + answer.len;
    think_fini(&t);
    buf_fini(&reasoning);
    buf_fini(&answer);
    return n_reported;
}

/* ---- calls: text that has none, as most has, in which they are looked for */

static void write_calls(struct buf *text)
{
    append_prose(text, TEXT_BYTES);
}

static void on_call(void *arg, const struct text_call *call)
{
    (void)arg;
    bench_fail("calls: there is none of %.*s", (int)call->name.len, call->name.p);
}

static str parameter_type(void *arg, str function, str parameter)
{
    (void)arg;
    (void)function;
    (void)parameter;
    return STR("");
}

static size_t feed_calls(str text)
{
    static const struct text_calls_handler handler = {on_content, on_call, is_function,
                                                      parameter_type};
    struct text_calls t;
    size_t n_reported = 0;

    text_calls_init(&t, TEXT_CALLS_HERMES, &handler, &n_reported);
    while (text.len > 0)
        (void)text_calls_feed(&t, next_piece(&text));
    (void)text_calls_finish(&t);
    text_calls_fini(&t);
    return n_reported;
}

/* ---- marks: bodies of an agent, of 64 KiB each: prose, tools, calls and files that were read */

enum { BODY_BYTES = 64 * 1024, BODY_REST = 2048 };

static const char TOOL[] =
    "{\"type\":\"function\",\"function\":{\"name\":\"shell\",\"description\":\"Runs a command and "
    "returns its output.\",\"parameters\":{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
    "\"array\",\"items\":{\"type\":\"string\"}},\"timeout_ms\":{\"type\":\"integer\"}},\"required\":"
    "[\"command\"]}}}";
static const char CALL[] =
    ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\","
    "\"function\":{\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":[\\\"cat\\\",\\\"a.c\\\"]}\"}}]}"
    ",{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"";
static const char CODE[] =
    "static void note_text(void *arg, str text)\\n{\\n    struct buf *out = arg;\\n\\n"
    "    buf_c(out, \\\"t:\\\");\\n    buf_append(out, text); /* as it stands */\\n}\\n\\n";

static void write_body(struct buf *text)
{
    size_t end = text->len + BODY_BYTES;

    buf_c(text, "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"");
    for (size_t i = 0; i < 64; i++)
        buf_c(text, "You work on the files of a project. Read them first.\\n");
    buf_c(text, "\"}");
    while (text->len + 3 * BODY_REST < end) {
        buf_c(text, CALL);
        for (size_t until = text->len + BODY_REST; text->len < until;)
            buf_c(text, CODE);
        buf_c(text, "\"}");
    }
    buf_c(text, "],\"stream\":true,\"tools\":[");
    for (size_t i = 0; i < 8; i++) {
        buf_c(text, i == 0 ? "" : ",");
        buf_c(text, TOOL);
    }
    buf_c(text, "]}");
    while (text->len < end)
        buf_char(text, ' ');
}

static void write_bodies(struct buf *text)
{
    while (text->len < TEXT_BYTES)
        write_body(text);
}

static size_t feed_marks(str text)
{
    size_t n_reported = 0;

    for (; text.len >= BODY_BYTES; text = str_skip(text, BODY_BYTES)) {
        struct arena a = {.limit = 0};
        struct prefix_marks m;

        if (!prefix_marks_read(str_from(text.p, BODY_BYTES), 1, &a, &m) || m.n < 2)
            bench_fail("marks: the body has none");
        n_reported += m.marks[m.n - 1].bytes;
        arena_fini(&a);
    }
    return n_reported;
}

/* ---- all of them */

static const struct parser {
    const char *name;
    void (*write)(struct buf *text); /* at least TEXT_BYTES */
    size_t (*feed)(str text);
} parsers[] = {
    {"harmony", write_harmony, feed_harmony},
    {"think", write_think, feed_think},
    {"calls", write_calls, feed_calls},
    {"marks", write_bodies, feed_marks},
};

static const struct parser *find_parser(const char *name)
{
    for (size_t i = 0; i < sizeof(parsers) / sizeof(*parsers); i++) {
        if (strcmp(parsers[i].name, name) == 0)
            return &parsers[i];
    }
    bench_fail("%s: no such parser", name);
}

/* The text is always written whole, so that it costs the same however much of it is fed. */
int main(int argc, char **argv)
{
    const struct parser *parser = argc == 3 ? find_parser(argv[1]) : NULL;
    struct buf text = {0};
    uint64_t n_bytes;

    if (parser == NULL)
        bench_fail("usage: parsers harmony|think|calls|marks BYTES");
    n_bytes = bench_number(argv[2], "BYTES");
    if (n_bytes > TEXT_BYTES)
        bench_fail("BYTES: at most %d", TEXT_BYTES);
    parser->write(&text);
    (void)printf("%zu\n", parser->feed(str_from(text.p, n_bytes)));
    buf_fini(&text);
    return 0;
}
