/* harmony_fixture.h -- what a Harmony parser reports, as text to compare.
 *
 * A line for each message, with its end, as in
 *
 *     analysis to=python code [end] print(1)
 *
 * where what is not there is left out, and a line "! what: text" for each warning. The order of
 * the reports, and that they are valid UTF-8, is checked on the way. */
#ifndef ANTIPHON_TESTS_UNIT_HARMONY_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_HARMONY_FIXTURE_H

#include "lib/test.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "text/harmony.h"

struct heard {
    struct harmony parser;
    struct buf messages, warnings;
    struct buf head, content; /* of the message at hand */
    bool is_open;
    size_t n_pieces;              /* of content, in all */
    str last_piece;               /* the view that was reported, for comparing the place */
    size_t max_held;              /* bytes that the parser kept between two pieces */
    const char *const *functions; /* declared; ends with NULL */
    void (*on_message)(void *arg, const struct harmony_header *header, str content,
                       enum harmony_end by); /* of a whole message; or NULL */
    void *arg;
    struct harmony_header header; /* of the message at hand, when on_message is there */
    struct buf recipient;
};

static const char *const heard_channels[] = {"no channel", "analysis", "commentary", "final",
                                             "other"};
static const char *const heard_ends[] = {"end", "return", "call", "endoftext", "implicit", "eos"};

static void heard_word(struct buf *out, const char *before, str word)
{
    if (word.len == 0)
        return;
    buf_c(out, before);
    buf_append(out, word);
}

static void heard_message(void *arg, const struct harmony_header *header)
{
    struct heard *t = arg;

    assert_false(t->is_open);
    assert_true(header->is_assistant);
    assert_true(str_starts_with(header->role, STR("assistant")));
    assert_true(utf8_is_valid(header->recipient) && utf8_is_valid(header->content_type));
    t->is_open = true;
    buf_reset(&t->head);
    buf_reset(&t->content);
    buf_c(&t->head, heard_channels[header->channel]);
    heard_word(&t->head, " to=", header->recipient);
    heard_word(&t->head, " ", header->content_type);
    buf_reset(&t->recipient);
    buf_append(&t->recipient, header->recipient);
    t->header = *header;
}

static void heard_content(void *arg, str plain)
{
    struct heard *t = arg;

    assert_true(t->is_open);
    assert_true(plain.len > 0 && utf8_is_valid(plain));
    t->n_pieces++;
    t->last_piece = plain;
    buf_append(&t->content, plain);
}

static void heard_end(void *arg, enum harmony_end by)
{
    struct heard *t = arg;

    assert_true(t->is_open);
    t->is_open = false;
    buf_append(&t->messages, buf_str(&t->head));
    buf_c(&t->messages, " [");
    buf_c(&t->messages, heard_ends[by]);
    buf_c(&t->messages, "] ");
    buf_append(&t->messages, buf_str(&t->content));
    buf_char(&t->messages, '\n');
    if (t->on_message != NULL) {
        t->header.recipient = buf_str(&t->recipient);
        t->on_message(t->arg, &t->header, buf_str(&t->content), by);
    }
}

static void heard_warning(void *arg, const char *what, str text)
{
    struct heard *t = arg;

    assert_true(utf8_is_valid(text));
    buf_c(&t->warnings, what);
    heard_word(&t->warnings, ": ", text);
    buf_char(&t->warnings, '\n');
}

static bool heard_is_function(void *arg, str name)
{
    const struct heard *t = arg;

    for (const char *const *f = t->functions; f != NULL && *f != NULL; f++) {
        if (str_eq(name, str_from_c(*f)))
            return true;
    }
    return false;
}

static const struct harmony_handler heard_handler = {.on_message = heard_message,
                                                     .on_content = heard_content,
                                                     .on_end = heard_end,
                                                     .on_warning = heard_warning,
                                                     .is_function = heard_is_function};

static void heard_init(struct heard *t)
{
    *t = (struct heard){.is_open = false};
    harmony_init(&t->parser, &heard_handler, t);
}

static void heard_fini(struct heard *t)
{
    harmony_fini(&t->parser);
    buf_fini(&t->messages);
    buf_fini(&t->warnings);
    buf_fini(&t->head);
    buf_fini(&t->content);
    buf_fini(&t->recipient);
}

/* For feed_pieces(). */
static void heard_feed(void *arg, str piece)
{
    struct heard *t = arg;
    size_t held;

    assert_true(harmony_feed(&t->parser, piece));
    held = t->parser.held.len + t->parser.n_pending + t->parser.whole.n_begun;
    t->max_held = held > t->max_held ? held : t->max_held;
}

static void heard_finish(struct heard *t)
{
    assert_true(harmony_finish(&t->parser));
    assert_true(harmony_is_done(&t->parser));
    assert_false(t->is_open);
}

#endif
