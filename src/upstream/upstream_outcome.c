/* upstream_outcome.c -- an answer and an error become one word.
 *
 * What the HTTP client and the reader of chunks report is an error in words for people. The words that tell
 * failures apart are macros beside the code that says them, and are looked for in the message. */
#include "upstream/upstream_outcome.h"

#include "http/http_call.h"
#include "upstream/upstream_answer.h"
#include "wire/chunk/chat_body.h"
#include "wire/dialect/upstream_error.h"

static const struct upstream_outcome_row rows[] = {
#define UPSTREAM_OUTCOME(symbol, result, failure, retry, same, other)                              \
    {METRIC_ATTEMPT_##result, METRIC_EJECTION_##failure, METRIC_RETRY_##retry,                     \
     UPSTREAM_SAME_##same, UPSTREAM_OTHER_##other},
#include "upstream/upstream_outcome.def"
};

const struct upstream_outcome_row *upstream_outcome_row(enum upstream_outcome outcome)
{
    return &rows[outcome];
}

/* ---- by a status */

static enum upstream_outcome of_number(int status)
{
    switch (status) {
    case 429:
        return UPSTREAM_OUTCOME_429;
    case 501:
        return UPSTREAM_OUTCOME_501;
    case 502:
        return UPSTREAM_OUTCOME_502;
    case 503:
        return UPSTREAM_OUTCOME_503;
    case 504:
        return UPSTREAM_OUTCOME_504;
    default:
        return status >= 500   ? UPSTREAM_OUTCOME_500
               : status >= 400 ? UPSTREAM_OUTCOME_4XX
                               : UPSTREAM_OUTCOME_BAD_ANSWER;
    }
}

/* The model is missing when its client would be told so. */
static enum upstream_outcome of_status(int status, str body)
{
    const enum upstream_outcome outcome = of_number(status);
    struct err e;

    if (outcome == UPSTREAM_OUTCOME_503 && upstream_error_is_loading(body))
        return UPSTREAM_OUTCOME_LOADING;
    if (outcome != UPSTREAM_OUTCOME_4XX)
        return outcome;
    upstream_error_from_answer(status, 0, body, &e);
    return e.code == ERR_MODEL_NOT_FOUND ? UPSTREAM_OUTCOME_NO_MODEL : outcome;
}

/* An error object in an answer with 2xx, as the first thing that it says: an answer with the status that it
 * tells or that its words stand for; without one, an answer that broke off. */
static enum upstream_outcome of_told(const struct err *e)
{
    if (e->code == ERR_MODEL_NOT_FOUND)
        return UPSTREAM_OUTCOME_NO_MODEL;
    if (e->told_status == 503 && upstream_error_is_loading(str_from_c(e->msg)))
        return UPSTREAM_OUTCOME_LOADING;
    if (e->told_status >= 400)
        return of_number(e->told_status);
    if (e->code == ERR_RATE_LIMIT)
        return UPSTREAM_OUTCOME_429;
    return e->code == ERR_UPSTREAM_ERROR ? UPSTREAM_OUTCOME_BROKEN : UPSTREAM_OUTCOME_4XX;
}

/* ---- by what went wrong */

static bool says(const struct err *e, const char *words)
{
    return str_has_nocase(str_from_c(e->msg), str_from_c(words));
}

static bool was_connecting(const struct upstream_answer *a)
{
    return a->status == 0 && str_eq(str_from_c(a->phase), STR("connecting"));
}

static enum upstream_outcome of_timeout(const struct upstream_answer *a, const struct err *e)
{
    if (says(e, CALL_NOT_COMPLETE))
        return UPSTREAM_OUTCOME_TOTAL;
    if (was_connecting(a) || says(e, CALL_NOT_CONNECTED))
        return UPSTREAM_OUTCOME_CONNECT;
    return a->status == 0 ? UPSTREAM_OUTCOME_FIRST_BYTE : UPSTREAM_OUTCOME_IDLE;
}

/* libcurl's words for TLS are its own, and that of its libraries. */
static enum upstream_outcome of_no_head(const struct upstream_answer *a, const struct err *e)
{
    static const struct {
        const char *words;
        enum upstream_outcome outcome;
    } causes[] = {
        {CAUSE_NO_NAME, UPSTREAM_OUTCOME_DNS},
        {CAUSE_NOT_HTTP, UPSTREAM_OUTCOME_BAD_ANSWER},
        {CAUSE_LARGE_HEAD, UPSTREAM_OUTCOME_BAD_ANSWER},
        {"certificate", UPSTREAM_OUTCOME_TLS},
        {"SSL", UPSTREAM_OUTCOME_TLS},
        {"TLS", UPSTREAM_OUTCOME_TLS},
    };

    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        if (says(e, causes[i].words))
            return causes[i].outcome;
    }
    return was_connecting(a) ? UPSTREAM_OUTCOME_CONNECT : UPSTREAM_OUTCOME_RESET;
}

/* Cut off by the connection or by the server; all else was whole, and no good. */
static enum upstream_outcome of_body(const struct err *e)
{
    return says(e, CALL_BROKE_OFF) || says(e, CHAT_BODY_UNFINISHED) ? UPSTREAM_OUTCOME_BROKEN
                                                                    : UPSTREAM_OUTCOME_BAD_ANSWER;
}

static enum upstream_outcome of_failure(const struct upstream_answer *a, const struct err *e)
{
    if (e->told_status != 0)
        return of_told(e);
    switch (e->code) {
    case ERR_RESPONSE_CANCELLED:
        return UPSTREAM_OUTCOME_CLIENT_GONE;
    case ERR_UPSTREAM_TIMEOUT:
        return of_timeout(a, e);
    case ERR_UPSTREAM_UNAVAILABLE:
        return of_no_head(a, e);
    case ERR_UPSTREAM_ERROR:
        return of_body(e);
    default:
        return UPSTREAM_OUTCOME_OWN;
    }
}

enum upstream_outcome upstream_outcome_of(const struct upstream_answer *answer,
                                          const struct err *failure)
{
    if (answer->status != 0 && !upstream_answer_is_good(answer))
        return of_status(answer->status, buf_str(&answer->error_body));
    if (failure != NULL)
        return of_failure(answer, failure);
    return answer->status == 0 ? UPSTREAM_OUTCOME_OWN : UPSTREAM_OUTCOME_OK;
}
