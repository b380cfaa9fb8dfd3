/* script.c -- the bytes of the mock upstream's answers. */
#include "script.h"

#include <stdio.h>

#include "bench_sys.h"

#define CREATED "\"created\":1763734371,"
#define MODEL   "\"model\":\"meta-llama/Llama-3.1-8B-Instruct\","
#define ID      "{\"id\":\"chatcmpl-3f0d8a6b5c7e4f21a9d4c0b2e8f61735\","
#define CHUNK   ID "\"object\":\"chat.completion.chunk\"," CREATED MODEL
#define USAGE                                                                                      \
    "\"usage\":{\"prompt_tokens\":217,\"total_tokens\":345,\"completion_tokens\":128,"             \
    "\"prompt_tokens_details\":null}"

/* As they stand in the JSON. Tokens of one to ten letters, a few with escapes
 * or outside of ASCII, as in an answer that is prose with some code. */
static const char *const words[SCRIPT_CYCLE] = {
    "The",
    " gate",
    "way",
    " reads",
    " one",
    " chunk",
    ",",
    " writes",
    " an",
    " event",
    " and",
    " waits",
    " for",
    " the",
    " next",
    ".",
    "\\n\\n",
    "```",
    "c",
    "\\n",
    "for",
    " (;;)",
    "\\n\\t",
    "turn",
    "(",
    "\\\"now\\\"",
    ");",
    "\\n",
    " caf\xC3\xA9",
    " \xE2\x80\x94",
    " translation",
    "!",
};

static void put_http_chunk(const char *before, const char *word, const char *after, struct buf *out)
{
    size_t len = strlen(before) + strlen(word) + strlen(after);
    char size[32];

    (void)snprintf(size, sizeof(size), "%zx\r\n", len);
    buf_c(out, size);
    buf_c(out, before);
    buf_c(out, word);
    buf_c(out, after);
    buf_c(out, "\r\n");
}

static void put_content(const char *word, struct buf *out)
{
    put_http_chunk("data: " CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"", word,
                   "\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", out);
}

static void put_tail(struct buf *out)
{
    put_http_chunk("data: " CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,"
                   "\"finish_reason\":\"stop\",\"stop_reason\":null}]}\n\n",
                   "", "", out);
    put_http_chunk("data: " CHUNK "\"choices\":[]," USAGE "}\n\n", "", "", out);
    put_http_chunk("data: [DONE]\n\n", "", "", out);
    buf_c(out, "0\r\n\r\n");
}

void script_init(struct script *s)
{
    *s = (struct script){.at = {0}};
    buf_c(&s->head, "HTTP/1.1 200 OK\r\nserver: uvicorn\r\n"
                    "content-type: text/event-stream; charset=utf-8\r\n"
                    "transfer-encoding: chunked\r\n\r\n");
    put_http_chunk("data: " CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                   "\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n",
                   "", "", &s->head);
    for (size_t i = 0; i < SCRIPT_CYCLE + SCRIPT_MAX_BURST; i++) {
        s->at[i] = s->content.len;
        put_content(words[i % SCRIPT_CYCLE], &s->content);
    }
    s->at[SCRIPT_CYCLE + SCRIPT_MAX_BURST] = s->content.len;
    put_tail(&s->tail);
    if (buf_failed(&s->head) || buf_failed(&s->content) || buf_failed(&s->tail))
        bench_fail("out of memory");
}

str script_content(const struct script *s, size_t i, size_t n)
{
    size_t first = i % SCRIPT_CYCLE;

    return str_from(s->content.p + s->at[first], s->at[first + n] - s->at[first]);
}

void script_whole(size_t n, struct buf *out)
{
    struct buf body = {0};

    buf_c(&body, ID "\"object\":\"chat.completion\"," CREATED MODEL "\"choices\":[{\"index\":0,"
                    "\"message\":{\"role\":\"assistant\",\"content\":\"");
    for (size_t i = 0; i < n; i++)
        buf_c(&body, words[i % SCRIPT_CYCLE]);
    buf_c(&body,
          "\"},\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null}]," USAGE "}");
    buf_c(out, "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: application/json\r\n"
               "content-length: ");
    buf_uint(out, body.len);
    buf_c(out, "\r\n\r\n");
    buf_append(out, buf_str(&body));
    if (buf_failed(&body) || buf_failed(out))
        bench_fail("out of memory");
    buf_fini(&body);
}
