/* fuzz_cuts.c -- any cuts, with a response that they may not fit: they are read alike at once, event by
 * event and as rows, noted again they mean the same, and a replay writes whole events or ends. */
#include "fuzz/fuzz.h"

#include "lib/round_run.h"
#include "response/replay.h"
#include "response/response_hosted.h"

static struct tool page = {.kind = TOOL_MCP,
                           .name = STR_INIT("read"),
                           .upstream_name = STR_INIT("read"),
                           .server_label = STR_INIT("docs"),
                           .sent = true};
static struct tool search = {.kind = TOOL_HOSTED,
                             .hosted_kind = HOSTED_WEB_SEARCH,
                             .name = STR_INIT("web_search"),
                             .upstream_name = STR_INIT("web_search"),
                             .sent = true,
                             .next = &page};
static const struct tool_set tools = {.first = &search, .last = &page, .n = 2, .n_sent = 2};

static void say(struct response *r, const struct delta *d)
{
    (void)response_delta(r, d, NULL);
}

static void call(struct response *r, unsigned n, str name, str arguments)
{
    say(r, &(const struct delta){
               .kind = DELTA_CALL, .call = n, .name = name, .call_id = name, .text = arguments});
}

/* Some of everything; the last items are open. */
static void make_response(struct response *r)
{
    static const struct citation citation = {STR_INIT("https://a"), STR_INIT("t"), 0, 1};
    static const struct hosted_outcome outcome = {.output = STR_INIT("ok"),
                                                  .shown = STR_INIT("{\"type\":\"search\"}")};

    response_start(r, NULL);
    say(r, &(const struct delta){.kind = DELTA_REASONING, .text = STR("why")});
    say(r, &(const struct delta){
               .kind = DELTA_TEXT, .text = STR("abc"), .logprobs = STR("{\"token\":\"abc\"}")});
    say(r, &(const struct delta){
               .kind = DELTA_TEXT, .text = STR("\\u00e9"), .logprobs = STR("{},{}")});
    say(r, &(const struct delta){.kind = DELTA_CITATION, .citation = citation});
    say(r, &(const struct delta){.kind = DELTA_REFUSAL, .text = STR("no")});
    call(r, 0, STR("f"), STR("{\\\"x\\\":1}"));
    call(r, 1, STR("web_search"), STR("{\\\"query\\\":\\\"a\\\"}"));
    call(r, 2, STR("read"), STR("{}"));
    response_end_round(r, FINISH_TOOL_CALLS, NULL);
    (void)response_call_ended(r, response_next_call(r, NULL), &outcome, NULL);
}

static bool is_same(const struct event_cut *a, const struct event_cut *b)
{
    const bool is_delta = (event_members(a->type) & EV_DELTA) != 0;

    return a->type == b->type && a->item == b->item && a->part == b->part &&
           (!is_delta ||
            (a->from == b->from && a->len == b->len && a->logprobs_len == b->logprobs_len &&
             (a->logprobs_len == 0 || a->logprobs_from == b->logprobs_from))) &&
           a->annotation == b->annotation;
}

/* What was read is noted again, and read from there. */
static void check_noted_again(str bytes)
{
    struct cuts_reader first = {.at = 0}, second = {.at = 0};
    struct event_cut cut, same;
    struct cuts again = {.n = 0};

    while (cuts_next(&first, bytes, &cut))
        cuts_note(&again, &cut);
    first = (struct cuts_reader){.at = 0};
    while (cuts_next(&first, bytes, &cut))
        fuzz_promise(cuts_next(&second, buf_str(&again.bytes), &same) && is_same(&cut, &same),
                     "cuts that are noted again mean the same");
    fuzz_promise(second.at == again.bytes.len, "nothing else is noted");
    fuzz_promise(first.n == again.n, "all are counted");
    cuts_fini(&again);
}

static void check_rows(str bytes)
{
    struct cuts_reader r = {.at = 0};
    struct event_cut cut;
    struct cuts rows = {.n = 0};
    size_t from = 0;

    for (; cuts_next(&r, bytes, &cut); from = r.at)
        fuzz_promise(cuts_append(&rows, str_from(bytes.p + from, r.at - from)),
                     "an event that was read is a row");
    fuzz_promise(str_eq(buf_str(&rows.bytes), str_from(bytes.p, r.at)), "rows are all of the cuts");
    cuts_fini(&rows);
}

/* Packed they mean the same, whatever wrote them; and whatever is packed can be unpacked or refused. */
static void check_packed(str bytes)
{
    struct cuts_reader r = {.at = 0}, other = {.at = 0};
    struct buf packed = {.limit = 0}, anything = {.limit = 0};
    struct cuts again = {.n = 0};
    struct event_cut cut, same;

    cuts_pack(bytes, &packed);
    if (!buf_failed(&packed)) {
        fuzz_promise(cuts_append(&again, buf_str(&packed)), "what was packed can be unpacked");
        while (cuts_next(&r, bytes, &cut))
            fuzz_promise(cuts_next(&other, buf_str(&again.bytes), &same) && is_same(&cut, &same),
                         "cuts that were packed mean the same");
        fuzz_promise(other.at == again.bytes.len, "nothing else was packed");
    }
    (void)cuts_unpack(bytes, &anything);
    cuts_fini(&again);
    buf_fini(&packed);
    buf_fini(&anything);
}

static int replay(const struct response *r, str cuts, size_t max, struct buf *out)
{
    struct replay p;
    uint64_t before;
    int rc;

    replay_init(&p);
    do {
        struct buf piece = {.limit = 0};

        before = p.next;
        rc = replay_events(&p, r, cuts, UINT64_MAX, -1, false, max, &piece);
        buf_append(out, buf_str(&piece));
        buf_fini(&piece);
    } while (rc == 0 && p.next > before);
    return rc;
}

static void check_replay(const struct response *r, str cuts)
{
    struct buf whole = {.limit = 0}, pieces = {.limit = 0};
    struct journal_row row;
    struct replay journal;

    fuzz_promise(replay(r, cuts, SIZE_MAX, &whole) == replay(r, cuts, 1, &pieces) &&
                     str_eq(buf_str(&whole), buf_str(&pieces)),
                 "a replay in pieces is the same");
    fuzz_promise(whole.len == 0 || str_ends_with(buf_str(&whole), STR("}\n\n")),
                 "only whole events are written");
    replay_init(&journal);
    (void)replay_journal(&journal, r, cuts, &row);
    journal_row_fini(&row);
    buf_fini(&whole);
    buf_fini(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const str cuts = fuzz_input(bytes, n);
    struct response_conf conf = {
        .tools = &tools, .echo = STR("\"model\":\"m\""), .error_event = true};
    struct response r;
    struct test_ids ids;
    struct err e;

    test_ids_reset(&ids);
    conf.ids = &ids.source;
    check_noted_again(cuts);
    check_rows(cuts);
    check_packed(cuts);
    response_init(&r, &conf);
    make_response(&r);
    check_replay(&r, cuts);
    err_set(&e, ERR_INTERNAL, "It has failed.");
    response_fail(&r, &e, NULL);
    check_replay(&r, cuts);
    response_fini(&r);
    return 0;
}
