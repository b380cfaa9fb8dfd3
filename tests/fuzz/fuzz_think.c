/* fuzz_think.c -- any text: what is reasoning and what is text is the same in every cutting, and
 * is what a search in the whole text says. The first byte chooses where reasoning begins. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "text/think.h"

struct split {
    struct think think;
    struct buf reasoning, text;
};

static void feed(void *arg, str piece)
{
    struct split *s = arg;

    think_feed(&s->think, piece, &s->reasoning, &s->text);
}

static struct split split(str plain, enum think_start start, struct cutting cutting)
{
    struct split s = {.think = {.start = start}};

    feed_pieces(plain, cutting, feed, &s);
    think_end(&s.think, &s.reasoning, &s.text);
    fuzz_promise(!buf_failed(&s.reasoning) && !buf_failed(&s.text), "memory suffices");
    return s;
}

static void fini(struct split *s)
{
    think_fini(&s->think);
    buf_fini(&s->reasoning);
    buf_fini(&s->text);
}

/* ---- the same, slowly, on the whole text */

static const struct think_tag tags[] = {
#define THINK_TAG(open, close) {STR_INIT(open), STR_INIT(close)},
#include "text/think_tag.def"
};

enum { N_TAGS = sizeof(tags) / sizeof(*tags) };

static const struct think_tag *tag_that_opens(str plain)
{
    for (size_t i = 0; i < N_TAGS; i++) {
        if (str_starts_with(plain, tags[i].open))
            return &tags[i];
    }
    return NULL;
}

static void check_block(const struct split *s, const struct think_tag *tag, str block)
{
    size_t at = block.len, len = 0;

    for (size_t i = 0; i < N_TAGS; i++) {
        size_t found = str_find(block, tags[i].close);

        if ((tag == NULL || tag == &tags[i]) && found < at) {
            at = found;
            len = tags[i].close.len;
        }
    }
    fuzz_promise(str_eq(buf_str(&s->reasoning), str_trim(str_from(block.p, at))),
                 "reasoning is what stands before the closing tag, without its edges");
    fuzz_promise(str_eq(buf_str(&s->text), str_trim_start(str_skip(block, at + len))),
                 "text is what stands behind it");
}

/* The length of the tag and the white space behind it. */
static size_t stray_tag(str rest)
{
    for (size_t i = 0; i < N_TAGS; i++) {
        str behind = str_skip(rest, tags[i].close.len);

        if (str_starts_with(rest, tags[i].close))
            return behind.len == 0 || behind.p[0] == '\n' || behind.p[0] == '\r'
                       ? rest.len - str_trim_start(behind).len
                       : 0;
    }
    return 0;
}

static void check_text(const struct split *s, str plain)
{
    str body = str_trim_start(plain);
    size_t dropped = stray_tag(body);

    fuzz_promise(s->reasoning.len == 0, "without an opening tag nothing is reasoning");
    if (dropped > 0) {
        fuzz_promise(str_eq(buf_str(&s->text), str_skip(body, dropped)),
                     "a closing tag at the beginning is dropped");
        return;
    }
    for (size_t i = 1; i < body.len; i++) {
        str before = str_from(plain.p, plain.len - body.len + i), got = buf_str(&s->text);

        dropped = body.p[i - 1] == '\n' ? stray_tag(str_skip(body, i)) : 0;
        if (dropped == 0)
            continue;
        fuzz_promise(str_starts_with(got, before) &&
                         str_eq(str_skip(got, before.len), str_skip(body, i + dropped)),
                     "a closing tag alone in its line is dropped");
        return;
    }
    fuzz_promise(str_eq(buf_str(&s->text), plain), "without a tag everything is text");
}

static void check(str plain, enum think_start start)
{
    struct split s = split(plain, start, UNCUT);
    str body = str_trim_start(plain);
    const struct think_tag *tag = tag_that_opens(body);

    if (tag != NULL)
        check_block(&s, tag, str_skip(body, tag->open.len));
    else if (start == THINK_FROM_HERE)
        check_block(&s, NULL, body);
    else
        check_text(&s, plain);
    for (size_t piece = 1; piece <= 3; piece++) {
        struct split cut = split(plain, start, (struct cutting){piece, piece});

        fuzz_promise(str_eq(buf_str(&s.reasoning), buf_str(&cut.reasoning)) &&
                         str_eq(buf_str(&s.text), buf_str(&cut.text)),
                     "any cutting gives the same");
        fini(&cut);
    }
    fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str in = fuzz_input(bytes, n);

    if (n > 0)
        check(str_skip(in, 1), in.p[0] % 2 == 0 ? THINK_FROM_TAG : THINK_FROM_HERE);
    return 0;
}
