/* upstream_answer.c -- good answers and refusals. */
#include "upstream/upstream_answer.h"

#include <stdint.h>
#include <stdio.h>

#include "base/num.h"
#include "base/utf8.h"
#include "http/http_client.h"
#include "wire/dialect/upstream_error.h"

enum { MAX_ERROR_BODY_BYTES = 64 * 1024 };

void upstream_answer_init(struct upstream_answer *a)
{
    *a = (struct upstream_answer){.status = 0};
    buf_init(&a->error_body, MAX_ERROR_BODY_BYTES);
}

void upstream_answer_fini(struct upstream_answer *a)
{
    buf_fini(&a->error_body);
}

void upstream_answer_reset(struct upstream_answer *a)
{
    a->status = a->retry_after_s = 0;
    a->n_bytes = 0;
    a->phase = NULL;
    buf_reset(&a->error_body);
}

static int retry_after(const struct http_header *headers, size_t n)
{
    uint64_t seconds;

    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(headers[i].name, STR("retry-after")) &&
            num_uint(headers[i].value, &seconds))
            return seconds > INT32_MAX ? INT32_MAX : (int)seconds;
    }
    return 0;
}

void upstream_answer_head(struct upstream_answer *a, int status, const struct http_header *headers,
                          size_t n_headers)
{
    a->status = status;
    a->retry_after_s = retry_after(headers, n_headers);
}

bool upstream_answer_is_good(const struct upstream_answer *a)
{
    return a->status >= 200 && a->status < 300;
}

bool upstream_answer_keep(struct upstream_answer *a, str bytes)
{
    buf_append(&a->error_body, bytes);
    return !buf_failed(&a->error_body);
}

void upstream_answer_failed(struct upstream_answer *a, const struct http_call *call)
{
    if (a->status == 0)
        a->phase = call == NULL ? "connecting" : http_call_phase(call);
    else if (!upstream_answer_is_good(a))
        a->phase = "refused";
    else
        a->phase = a->n_bytes == 0 ? "first_byte" : "answer";
}

struct upstream_words upstream_words(const struct err *e)
{
    /* pydantic, and with it vLLM and SGLang, shows the value that it refuses. */
    static const str quotes[] = {STR_INIT("'input':"), STR_INIT("\"input\":"),
                                 STR_INIT("input_value=")};
    struct upstream_words words;
    str said = e == NULL ? STR("") : str_from_c(e->msg);

    for (size_t i = 0; i < COUNT_OF(quotes); i++)
        said.len = str_find(said, quotes[i]);
    said.len = utf8_cut(said, sizeof(words.text) - 1);
    (void)snprintf(words.text, sizeof(words.text), "%.*s", STR_ARG(said));
    return words;
}

void upstream_answer_error(const struct upstream_answer *a, bool is_clients_key, struct err *ret)
{
    upstream_error_from_answer(a->status, a->retry_after_s, buf_str(&a->error_body), ret);
    if (ret->code == ERR_UPSTREAM_AUTH && is_clients_key)
        ret->code = a->status == 401 ? ERR_INVALID_API_KEY : ERR_PERMISSION_DENIED;
}
