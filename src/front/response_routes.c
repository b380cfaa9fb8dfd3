/* response_routes.c -- what a GET of a response asks for. */
#include "front/response_routes.h"

#include "base/num.h"
#include "flight/worker.h"
#include "front/refuse.h"
#include "front/state_calls.h"
#include "front/state_list.h"
#include "resume/reader.h"

/* ---- starting_after */

static int reject_starting_after(str text, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, "starting_after",
                  "Invalid 'starting_after': '%.*s'. It is the number of the last event that was "
                  "received: an integer, or -1 for all events.",
                  STR_ARG(text));
    return -1;
}

static bool is_digits(str s)
{
    size_t i = 0;

    while (i < s.len && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return s.len > 0 && i == s.len;
}

/* A number that is larger than any is behind the last event. */
static int read_starting_after(const struct query *q, int64_t *ret, struct err *reterr)
{
    const str text = query_value(q, STR("starting_after"));
    uint64_t n = INT64_MAX;

    *ret = -1;
    if (str_is_none(text) || str_eq(text, STR("-1")))
        return 0;
    if (!is_digits(text))
        return reject_starting_after(text, reterr);
    (void)num_uint(text, &n);
    *ret = n < INT64_MAX ? (int64_t)n : INT64_MAX;
    return 0;
}

/* ---- the dialect */

/* Events of the legacy dialect have no numbers, and nothing of them is kept (CONTRACT 4.9). */
static int check_dialect(const struct http_request *r, struct err *reterr)
{
    const str word = http_request_header(r, STR("x-gateway-dialect"));

    if (!str_eq_nocase(word, STR("ors")))
        return 0;
    err_set_param(
        reterr, ERR_INVALID_VALUE, "stream",
        "Streams cannot be read again in the dialect 'ors', whose events have no numbers: "
        "leave out the header 'X-Gateway-Dialect'.");
    return -1;
}

/* ---- GET */

struct get_request {
    struct query query;
    str id[PATH_MAX_IDS];
    bool wants_stream;
    struct reader_want want;
};

static int read_want(struct get_request *get, const struct http_request *r, struct err *reterr)
{
    get->want = (struct reader_want){.id = get->id[0]};
    if (state_include_check(&get->query, reterr) == -1 ||
        read_starting_after(&get->query, &get->want.after, reterr) == -1 ||
        state_flag_read(&get->query, STR("include_obfuscation"), &get->want.obfuscate, reterr) ==
            -1)
        return -1;
    return check_dialect(r, reterr);
}

static int read_get(struct get_request *get, struct http_exchange *x, const struct http_request *r,
                    const struct path_ids *ids, struct err *reterr)
{
    struct arena *a = http_exchange_arena(x);

    if (!query_read(r->query, a, &get->query))
        return err_set_no_memory(reterr);
    if (state_flag_read(&get->query, STR("stream"), &get->wants_stream, reterr) == -1)
        return -1;
    if (!get->wants_stream)
        return 0;
    if (!path_ids_decode(ids, a, get->id))
        return err_set_no_memory(reterr);
    return read_want(get, r, reterr);
}

void response_routes_get(struct worker *w, struct http_exchange *x, const struct http_request *r,
                         const struct caller *caller, const struct path_ids *ids)
{
    struct get_request get = {.wants_stream = false};
    struct err e;

    if (read_get(&get, x, r, ids, &e) == -1)
        refuse_request(x, r, REJECT_BAD_REQUEST, &e);
    else if (get.wants_stream)
        reader_start(w, peer_of_exchange(x), r, caller, &get.want);
    else
        state_request_start(w, x, r, caller, ids, &state_response_get);
}
