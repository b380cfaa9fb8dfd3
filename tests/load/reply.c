/* reply.c -- heads, chunks and the verdict of the project's own checker. */
#include "load/reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/event_check.h"

static const str CRLF = STR_INIT("\r\n");

static const char *take_head(struct reply *r)
{
    str raw = buf_str(&r->raw);
    size_t end = str_find(raw, STR("\r\n\r\n"));

    if (end == raw.len)
        return NULL;
    if (!str_starts_with(raw, STR("HTTP/1.1 200 ")))
        return "the status is not 200";
    if (str_find(str_from(raw.p, end), STR("\r\nTransfer-Encoding: chunked")) == end)
        return "the answer is not chunked";
    r->has_head = true;
    buf_consume(&r->raw, end + 4);
    return NULL;
}

/* Moves the whole chunks at the beginning of raw into the body. */
static const char *take_chunks(struct reply *r)
{
    str rest = buf_str(&r->raw);

    while (!r->is_whole) {
        size_t line = str_find(rest, CRLF), size;
        char *end;

        if (line == rest.len)
            break;
        size = strtoul(rest.p, &end, 16);
        if (end == rest.p || end != rest.p + line)
            return "a chunk without a size";
        if (rest.len < line + 2 + size + 2)
            break;
        rest = str_skip(rest, line + 2);
        buf_append(&r->body, str_from(rest.p, size));
        rest = str_skip(rest, size);
        if (!str_starts_with(rest, CRLF))
            return "a chunk that is longer than its size";
        rest = str_skip(rest, 2);
        r->is_whole = size == 0;
    }
    if (r->is_whole && rest.len > 0)
        return "bytes after the answer";
    buf_consume(&r->raw, r->raw.len - rest.len);
    return NULL;
}

const char *reply_feed(struct reply *r, str bytes)
{
    const char *fault = NULL;

    r->received += bytes.len;
    buf_append(&r->raw, bytes);
    if (!r->has_head)
        fault = take_head(r);
    if (fault == NULL && r->has_head)
        fault = take_chunks(r);
    if (buf_failed(&r->raw) || buf_failed(&r->body))
        load_die("memory");
    return fault;
}

/* ---- the verdict */

static size_t count(str text, str what)
{
    size_t n = 0;

    for (size_t at; (at = str_find(text, what)) < text.len; n++)
        text = str_skip(text, at + what.len);
    return n;
}

/* The text of the one message in the response object. */
static const char *message_text(json_t *response)
{
    json_t *output = json_object_get(response, "output");
    json_t *content = json_object_get(json_array_get(output, 0), "content");
    const char *text = json_string_value(json_object_get(json_array_get(content, 0), "text"));

    return text == NULL || json_array_size(output) != 1 || json_array_size(content) != 1 ? ""
                                                                                         : text;
}

static const char *check_text(str stream, const struct load_stream *asked)
{
    static char words[200];
    str bytes = event_response(stream);
    json_t *response = json_loadb(bytes.p, bytes.len, 0, NULL);
    struct buf expected = {0};
    str got = str_from_c(message_text(response));
    bool is_same;

    for (unsigned i = 0; i < asked->n_pieces; i++)
        load_piece(asked, i, &expected);
    is_same = str_eq(got, buf_str(&expected));
    if (!is_same)
        (void)snprintf(words, sizeof(words), "stream %u: %zu bytes of text, not its %zu: %.60s",
                       asked->id, got.len, expected.len, got.p);
    buf_fini(&expected);
    json_decref(response);
    return is_same ? NULL : words;
}

const char *reply_check(const struct reply *r, const struct load_stream *asked, size_t *n_deltas)
{
    str stream = buf_str(&r->body);
    const char *fault = event_check(stream);

    if (fault == NULL)
        fault = check_text(stream, asked);
    *n_deltas += count(stream, STR("\nevent: response.output_text.delta\n"));
    return fault;
}

void reply_free(struct reply *r)
{
    buf_fini(&r->raw);
    buf_fini(&r->body);
}
