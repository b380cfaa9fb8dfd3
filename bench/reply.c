/* reply.c -- reads an HTTP answer and checks that it is the expected one.
 *
 *     STATUS -> HEADER* -> BODY ----------------------------------> OVER
 *                       -> SIZE -> CHUNK -> CHUNK_END -> SIZE ... -> TRAILER* -> OVER */
#include "reply.h"

#include <stdlib.h>

#include "bench_sys.h"

enum state {
    STATE_STATUS,
    STATE_HEADER,
    STATE_BODY,
    STATE_SIZE,
    STATE_CHUNK,
    STATE_CHUNK_END,
    STATE_TRAILER,
    STATE_OVER
};

/* What the lines are known by. Where done is empty, the answer is no stream. */
static const struct kind {
    const char *name;
    str delta, end, done;
} kinds[] = {
    [REPLY_RESPONSES] = {"responses", STR_INIT("event: response.output_text.delta"),
                         STR_INIT("event: response.completed"), STR_INIT("data: [DONE]")},
    [REPLY_CHAT] = {"chat", STR_INIT("\"delta\":{\"content\":\""),
                    STR_INIT("\"finish_reason\":\"stop\""), STR_INIT("data: [DONE]")},
    [REPLY_RESPONSES_WHOLE] = {"responses-whole", STR_INIT(""),
                               STR_INIT("\"status\":\"completed\""), STR_INIT("")},
    [REPLY_CHAT_WHOLE] = {"chat-whole", STR_INIT(""), STR_INIT("\"object\":\"chat.completion\""),
                          STR_INIT("")},
};

bool reply_kind_find(const char *name, enum reply_kind *ret)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *ret = (enum reply_kind)i;
            return true;
        }
    }
    return false;
}

void reply_start(struct reply *r, enum reply_kind kind)
{
    r->kind = kind;
    r->state = STATE_STATUS;
    r->is_chunked = r->has_end = r->has_done = false;
    r->left = r->deltas = 0;
    r->framing.len = r->body.len = 0;
}

static void keep(struct reply_line *line, str s)
{
    size_t room = sizeof(line->p) - line->len;
    size_t n = s.len < room ? s.len : room;

    memcpy(line->p + line->len, s.p, n);
    line->len += n;
}

/* Takes the bytes up to the end of the line. Returns the line without LF, or
 * STR_NONE when it goes on in the next read. */
static str take_line(struct reply_line *line, str *bytes)
{
    const char *lf = memchr(bytes->p, '\n', bytes->len);
    str s = str_from(bytes->p, lf == NULL ? bytes->len : (size_t)(lf - bytes->p));

    *bytes = str_skip(*bytes, s.len + 1);
    if (lf == NULL || line->len > 0) {
        keep(line, s);
        s = str_from(line->p, line->len);
    }
    if (lf == NULL)
        return STR_NONE;
    line->len = 0;
    return s;
}

static bool has(str line, str mark)
{
    return mark.len > 0 && memmem(line.p, line.len, mark.p, mark.len) != NULL;
}

static void on_body_line(struct reply *r, str line)
{
    const struct kind *k = &kinds[r->kind];

    if (line.len > REPLY_LINE_BYTES)
        line.len = REPLY_LINE_BYTES;
    if (has(line, k->delta))
        r->deltas++;
    else if (has(line, k->end))
        r->has_end = true;
    else if (has(line, k->done))
        r->has_done = true;
}

static void on_status(struct reply *r, str line)
{
    if (!str_starts_with(line, STR("HTTP/1.1 200")))
        bench_fail("an answer that is not 200: %.*s", STR_ARG(line));
    r->state = STATE_HEADER;
}

static void on_header(struct reply *r, str line)
{
    str length = STR("Content-Length: ");

    if (str_eq(line, STR("\r")))
        r->state = r->is_chunked ? STATE_SIZE : STATE_BODY;
    else if (str_eq_nocase(line, STR("Transfer-Encoding: chunked\r")))
        r->is_chunked = true;
    else if (line.len > length.len && str_eq_nocase(str_from(line.p, length.len), length))
        r->left = strtoull(line.p + length.len, NULL, 10);
    if (r->state == STATE_BODY && r->left == 0)
        bench_fail("an answer without a body");
}

static void on_size(struct reply *r, str line)
{
    char *end;

    r->left = strtoull(line.p, &end, 16);
    if (end == line.p || *end != '\r')
        bench_fail("a chunk without a size: %.*s", STR_ARG(line));
    r->state = r->left == 0 ? STATE_TRAILER : STATE_CHUNK;
}

static void on_framing_line(struct reply *r, str line)
{
    switch ((enum state)r->state) {
    case STATE_STATUS:
        on_status(r, line);
        break;
    case STATE_HEADER:
        on_header(r, line);
        break;
    case STATE_SIZE:
        on_size(r, line);
        break;
    case STATE_CHUNK_END:
        r->state = STATE_SIZE;
        break;
    case STATE_TRAILER:
        if (str_eq(line, STR("\r")))
            r->state = STATE_OVER;
        break;
    case STATE_BODY:
    case STATE_CHUNK:
    case STATE_OVER:
        bench_fail("bytes after the end of an answer");
    }
}

/* Takes what belongs to the body or to the chunk. */
static void on_body_bytes(struct reply *r, str *bytes)
{
    str mine = str_from(bytes->p, r->left < bytes->len ? (size_t)r->left : bytes->len);

    *bytes = str_skip(*bytes, mine.len);
    r->left -= mine.len;
    while (mine.len > 0) {
        str line = take_line(&r->body, &mine);

        if (!str_is_none(line))
            on_body_line(r, line);
    }
    if (r->left > 0)
        return;
    r->state = r->is_chunked ? STATE_CHUNK_END : STATE_OVER;
    if (r->state == STATE_OVER)
        on_body_line(r, str_from(r->body.p, r->body.len)); /* JSON has no line end */
}

void reply_feed(struct reply *r, str bytes)
{
    while (bytes.len > 0) {
        if (r->state == STATE_BODY || r->state == STATE_CHUNK) {
            on_body_bytes(r, &bytes);
        } else {
            str line = take_line(&r->framing, &bytes);

            if (!str_is_none(line))
                on_framing_line(r, line);
        }
    }
}

bool reply_is_over(const struct reply *r)
{
    return r->state == STATE_OVER;
}

void reply_check(const struct reply *r, uint64_t n)
{
    const struct kind *k = &kinds[r->kind];

    if (k->delta.len > 0 && r->deltas != n)
        bench_fail("%llu deltas instead of %llu", (unsigned long long)r->deltas,
                   (unsigned long long)n);
    if (!r->has_end)
        bench_fail("an answer without its terminal event");
    if (k->done.len > 0 && !r->has_done)
        bench_fail("a stream without [DONE]");
}
