/* fuzz_harmony.c -- any bytes: the messages and warnings are the same in every cutting, in order,
 * and valid UTF-8; little is kept between two pieces, and nothing is reported after the end.
 *
 * The first byte says where the text begins. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "text/harmony.h"
#include "text/harmony_route.h"

enum { MAX_HELD = 4096 + 32 };

struct transcript {
    struct harmony parser;
    struct buf text, content;
    bool is_open, is_over;
};

static bool is_function(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("f")) || str_eq(name, STR("get_weather"));
}

static void note(struct transcript *t, str s)
{
    fuzz_promise(!t->is_over, "nothing is reported when the turn is over");
    fuzz_promise(utf8_is_valid(s), "all reports are valid UTF-8");
    buf_append(&t->text, s);
    buf_char(&t->text, '|');
}

static void on_message(void *arg, const struct harmony_header *header)
{
    static const struct harmony_route_tools tools = {.is_function = is_function,
                                                     .has_python = true};
    const struct harmony_route route = harmony_route(header, &tools);
    struct transcript *t = arg;

    fuzz_promise(!t->is_open, "a message ends before the next one begins");
    fuzz_promise(header->is_assistant, "only the assistant's messages are reported");
    fuzz_promise(route.target < HARMONY_TO_FUNCTION || route.name.len > 0, "every call has a name");
    t->is_open = true;
    buf_reset(&t->content);
    buf_char(&t->text, (char)('0' + header->channel));
    note(t, header->role);
    note(t, header->recipient);
    note(t, header->content_type);
    note(t, route.label);
    note(t, route.name);
}

static void on_content(void *arg, str plain)
{
    struct transcript *t = arg;

    fuzz_promise(t->is_open && !t->is_over, "content is inside of a message");
    fuzz_promise(plain.len > 0 && utf8_is_valid(plain), "each piece of content is valid UTF-8");
    buf_append(&t->content, plain);
}

static void on_end(void *arg, enum harmony_end by)
{
    struct transcript *t = arg;

    fuzz_promise(t->is_open, "a message ends once");
    t->is_open = false;
    buf_char(&t->text, (char)('0' + by));
    note(t, buf_str(&t->content));
}

static void on_warning(void *arg, const char *what, str text)
{
    note(arg, str_from_c(what));
    note(arg, text);
}

static const struct harmony_handler handler = {.on_message = on_message,
                                               .on_content = on_content,
                                               .on_end = on_end,
                                               .on_warning = on_warning,
                                               .is_function = is_function};

static void feed(void *arg, str piece)
{
    struct transcript *t = arg;
    const struct harmony *h = &t->parser;

    fuzz_promise(harmony_feed(&t->parser, piece), "there is memory");
    fuzz_promise(h->held.len + h->n_pending + h->whole.n_begun <= MAX_HELD, "little is kept");
    t->is_over = harmony_is_done(h);
}

static void begin(struct transcript *t, uint8_t start)
{
    static const struct harmony_header header = {.is_assistant = true,
                                                 .role = STR_INIT("assistant"),
                                                 .channel = HARMONY_COMMENTARY,
                                                 .recipient = STR_INIT("functions.f"),
                                                 .content_type = STR_INIT("json")};

    harmony_init(&t->parser, &handler, t);
    if (start % 4 == 1)
        harmony_expect_start(&t->parser);
    else if (start % 4 == 2)
        harmony_begin_content(&t->parser, &header);
}

static struct buf read_all(str bytes, uint8_t start, struct cutting cutting)
{
    struct transcript t = {.is_open = false};

    begin(&t, start);
    feed_pieces(bytes, cutting, feed, &t);
    fuzz_promise(harmony_finish(&t.parser), "there is memory");
    fuzz_promise(!t.is_open && harmony_is_done(&t.parser), "the end is an end");
    buf_char(&t.text, t.parser.is_cut_off ? 'x' : '.');
    t.is_over = true;
    feed(&t, STR("<|start|>assistant<|channel|>final<|message|>more<|end|>"));
    (void)harmony_finish(&t.parser);
    harmony_fini(&t.parser);
    buf_fini(&t.content);
    return t.text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const uint8_t start = n == 0 ? 0 : bytes[0];
    const struct cutting pieces = {start / 4 + 1U, start / 8 + 1U};
    str text = str_skip(fuzz_input(bytes, n), 1);
    struct buf whole = read_all(text, start, UNCUT);
    struct buf cut = read_all(text, start, BYTE_BY_BYTE);
    struct buf in_pieces = read_all(text, start, pieces);

    fuzz_promise(str_eq(buf_str(&whole), buf_str(&cut)) &&
                     str_eq(buf_str(&whole), buf_str(&in_pieces)),
                 "any cutting gives the same messages");
    buf_fini(&whole);
    buf_fini(&cut);
    buf_fini(&in_pieces);
    return 0;
}
