/* chat_space.c -- hold back, join or drop. */
#include "wire/chunk/chat_space.h"

/* A model that writes nothing but white space is not waited for any longer. */
enum { MAX_WAITING_BYTES = 1024 };

void chat_space_init(struct chat_space *s, enum chat_space_mode mode, struct chat_reader *reader,
                     chat_on_delta *on_delta, void *arg)
{
    *s = (struct chat_space){.reader = reader,
                             .on_delta = on_delta,
                             .arg = arg,
                             .holds = mode == CHAT_SPACE_HELD,
                             .in_text = mode != CHAT_SPACE_HELD};
}

void chat_space_fini(struct chat_space *s)
{
    buf_fini(&s->text);
    buf_fini(&s->logprobs);
}

/* Length of the character at the start of escaped text, or 0 when it is no
 * white space. */
static size_t space_at(str escaped)
{
    static const str spaces[] = {
        STR_INIT(" "),       STR_INIT("\\n"),     STR_INIT("\\r"),     STR_INIT("\\t"),
        STR_INIT("\\u000a"), STR_INIT("\\u000A"), STR_INIT("\\u000d"), STR_INIT("\\u000D"),
        STR_INIT("\\u0009"), STR_INIT("\\u0020"),
    };

    for (size_t i = 0; i < COUNT_OF(spaces); i++) {
        if (str_starts_with(escaped, spaces[i]))
            return spaces[i].len;
    }
    return 0;
}

static bool is_space(str escaped)
{
    size_t n = 1;

    while (escaped.len > 0 && n > 0) {
        n = space_at(escaped);
        escaped = str_skip(escaped, n);
    }
    return escaped.len == 0;
}

static void drop_space(struct chat_space *s)
{
    s->text.len = 0;
    s->logprobs.len = 0;
}

static void say_space(struct chat_space *s)
{
    if (s->text.len > 0) {
        const struct delta d = {
            .kind = DELTA_TEXT, .text = buf_str(&s->text), .logprobs = buf_str(&s->logprobs)};

        s->on_delta(s->arg, &d);
    }
    drop_space(s);
}

static void wait_with(struct chat_space *s, const struct delta *d)
{
    buf_append(&s->text, d->text);
    if (s->logprobs.len > 0 && d->logprobs.len > 0)
        buf_char(&s->logprobs, ',');
    buf_append(&s->logprobs, d->logprobs);
    if (buf_failed(&s->text) || buf_failed(&s->logprobs)) {
        chat_reader_out_of_memory(s->reader);
        buf_reset(&s->text);
        buf_reset(&s->logprobs);
    }
}

static void begin_text(struct chat_space *s, const struct delta *d)
{
    wait_with(s, d);
    s->in_text = !is_space(d->text) || s->text.len > MAX_WAITING_BYTES;
    if (s->in_text)
        say_space(s);
}

static void begin_other(struct chat_space *s, const struct delta *d)
{
    if (d->kind == DELTA_CALL)
        drop_space(s);
    say_space(s);
    s->holds = s->holds || d->kind == DELTA_REASONING;
    if (d->kind == DELTA_CALL || d->kind == DELTA_REASONING)
        s->in_text = !s->holds;
    s->on_delta(s->arg, d);
}

/* Kept apart, so that the usual way needs no room on the stack. */
__attribute__((noinline)) static void begin(struct chat_space *s, const struct delta *d)
{
    if (d->kind == DELTA_TEXT && d->phase == PHASE_NONE)
        begin_text(s, d);
    else
        begin_other(s, d);
}

/* More of what the delta before was; nothing waits. Nearly all deltas are. */
static bool goes_on(const struct chat_space *s, const struct delta *d)
{
    switch (d->kind) {
    case DELTA_TEXT:
        return s->in_text;
    case DELTA_REASONING:
        return !s->in_text && s->text.len == 0;
    case DELTA_CALL:
        return s->in_text != s->holds && s->text.len == 0;
    default:
        return false;
    }
}

void chat_space_delta(void *arg, const struct delta *d)
{
    struct chat_space *s = arg;

    if (goes_on(s, d))
        s->on_delta(s->arg, d);
    else
        begin(s, d);
}

void chat_space_end(struct chat_space *s)
{
    say_space(s);
}
