/* search_read.c -- finds the list in an answer and the parts of each result, whatever they are
 * called there.
 *
 * An answer is one JSON value or several in a row, as an MCP server gives them that makes each
 * result a part of its content. */
#include "search/search_read.h"

#include "json/json_read.h"
#include "json/json_text.h"
#include "search/search_domains.h"
#include "search/search_text.h"

enum { MAX_URL_BYTES = 2048, MAX_NESTING = 2 };

enum part { TITLE, URL, SNIPPET, DATE, N_PARTS };
enum { MAX_NAMES = 6 };

/* The names of each part; of several that a result has the first is taken. */
static const struct {
    str names[MAX_NAMES];
    size_t limit_bytes;
} parts[N_PARTS] = {
    [TITLE] = {{STR_INIT("title"), STR_INIT("name")}, 300},
    [URL] = {{STR_INIT("url"), STR_INIT("link"), STR_INIT("href")}, MAX_URL_BYTES},
    [SNIPPET] = {{STR_INIT("snippet"), STR_INIT("content"), STR_INIT("description"),
                  STR_INIT("highlights"), STR_INIT("text"), STR_INIT("summary")},
                 2000},
    [DATE] = {{STR_INIT("publishedDate"), STR_INIT("published_date"), STR_INIT("page_age"),
               STR_INIT("age"), STR_INIT("date")},
              40},
};

/* Members that hold the list; "web" is Brave's, and holds an object with results. */
static const str list_names[] = {STR_INIT("results"), STR_INIT("web"), STR_INIT("organic"),
                                 STR_INIT("items"), STR_INIT("data")};

struct reader {
    const struct search_query *query;
    struct arena *arena;
    struct search_results *out;
    struct buf text; /* of the part being read */
    bool has_list, has_url, has_other;
    bool failed;
};

unsigned search_max_results(const struct search_query *query)
{
    static const unsigned by_size[] = {[SEARCH_LOW] = 5, [SEARCH_MEDIUM] = 8, [SEARCH_HIGH] = 15};
    unsigned n = query->max_results == 0 ? by_size[query->size] : query->max_results;

    return n < SEARCH_MAX_RESULTS ? n : SEARCH_MAX_RESULTS;
}

/* ---- one result */

/* Strings of an array, such as Exa's highlights, are joined. */
static void append_strings(str raw, struct buf *out)
{
    struct jr j;
    str s;

    jr_init(&j, raw);
    if (jr_peek(&j) == JR_STRING) {
        json_text_decode(jr_string(&j), out);
        return;
    }
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        s = jr_string(&j);
        if (str_is_none(s))
            continue;
        if (out->len > 0)
            buf_c(out, " ... ");
        json_text_decode(s, out);
    }
}

/* The text of a part of a result; "" when there is none. */
static str read_part(struct reader *r, str raw, enum part part)
{
    str plain;

    buf_reset(&r->text);
    for (size_t i = 0; i < MAX_NAMES && parts[part].names[i].len > 0 && r->text.len == 0; i++) {
        str member = jr_member(raw, parts[part].names[i]);

        if (!str_is_none(member))
            append_strings(member, &r->text);
    }
    if (part == URL)
        return buf_str(&r->text);
    plain = search_text_plain(buf_str(&r->text), parts[part].limit_bytes, r->arena);
    r->failed = r->failed || str_is_none(plain);
    return str_is_none(plain) ? STR("") : plain;
}

/* The URL as it can be sent: what is not ASCII behind the host is written as %XX. STR_NONE when it
 * is no URL of a web page. */
static str plain_url(struct reader *r, str url)
{
    struct buf out = {.limit = MAX_URL_BYTES};
    str host, result = STR_NONE;

    url = str_trim(url);
    if (!search_url_host(url, &host))
        return STR_NONE;
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c >= 0x80) {
            buf_char(&out, '%');
            buf_hex(&out, &c, 1);
        } else {
            buf_char(&out, url.p[i]);
        }
    }
    if (!buf_failed(&out)) {
        result = arena_dup(r->arena, buf_str(&out));
        r->failed = r->failed || str_is_none(result);
    }
    r->failed = r->failed || (buf_failed(&out) && !out.is_full);
    buf_fini(&out);
    return result;
}

static void read_result(struct reader *r, str raw)
{
    struct search_results *out = r->out;
    str url = plain_url(r, read_part(r, raw, URL));

    if (str_is_none(url)) {
        r->has_other = true;
        return;
    }
    r->has_url = true;
    if (out->n == search_max_results(r->query) || !search_allows(r->query, url))
        return;
    out->v[out->n] = (struct search_result){.title = read_part(r, raw, TITLE),
                                            .url = url,
                                            .snippet = read_part(r, raw, SNIPPET),
                                            .date = read_part(r, raw, DATE)};
    out->n++;
}

/* ---- the list */

static str find_list(str raw, unsigned nesting)
{
    str list = STR_NONE;

    if (jr_type_of(raw) == JR_ARRAY)
        return raw;
    if (jr_type_of(raw) != JR_OBJECT || nesting == 0)
        return STR_NONE;
    for (size_t i = 0; i < COUNT_OF(list_names) && str_is_none(list); i++)
        list = find_list(jr_member(raw, list_names[i]), nesting - 1);
    return list;
}

static void read_value(struct reader *r, str raw)
{
    str list = find_list(raw, MAX_NESTING);
    struct jr j;

    if (str_is_none(list)) {
        read_result(r, raw);
        return;
    }
    r->has_list = true;
    jr_init(&j, list);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j) && !r->failed)
        read_result(r, jr_raw(&j));
}

/* Reads values in a row; false when the text is not JSON to its end. */
static bool read_values(struct reader *r, str text)
{
    text = str_trim(text);
    if (text.len == 0)
        return false;
    while (text.len > 0) {
        struct jr j;
        str raw;

        jr_init(&j, text);
        raw = jr_raw(&j);
        if (!jr_ok(&j))
            return false;
        read_value(r, raw);
        text = str_trim(str_skip(text, jr_offset(&j)));
    }
    return true;
}

/* True when these are results; what has no URL is something else, which happens to be JSON. */
static bool is_list(const struct reader *r)
{
    return r->has_url || (r->has_list && !r->has_other);
}

static bool reader_init(struct reader *r, const struct search_query *query, struct arena *a,
                        struct search_results *ret)
{
    *r = (struct reader){.query = query, .arena = a, .out = ret};
    *ret = (struct search_results){.text = STR_NONE};
    ret->v = arena_array(a, search_max_results(query), sizeof(*ret->v));
    return ret->v != NULL;
}

static bool reader_fini(struct reader *r)
{
    bool ok = !r->failed && !(buf_failed(&r->text) && !r->text.is_full);

    buf_fini(&r->text);
    return ok;
}

int search_results_read(str answer, const struct search_query *query, struct arena *a,
                        struct search_results *ret)
{
    struct reader r;

    if (!reader_init(&r, query, a, ret))
        return -1;
    if (!read_values(&r, answer) || !is_list(&r)) {
        ret->n = 0;
        ret->text = arena_dup(a, answer);
        r.failed = r.failed || str_is_none(ret->text);
    }
    return reader_fini(&r) ? 0 : -1;
}

/* Brave leaves the list out when it is empty. */
static bool is_without_list(str raw)
{
    return str_eq(jr_member_string(raw, STR("type")), STR("search")) &&
           str_is_none(jr_member(raw, STR("web")));
}

/* SearXNG asks others, which turn away who asks too often; without them "nothing found" is not
 * true. */
static bool is_without_engines(str raw)
{
    return jr_count(jr_member(raw, STR("results"))) == 0 &&
           jr_count(jr_member(raw, STR("unresponsive_engines"))) > 0;
}

/* Reads the answer of a service. NULL, or what is wrong. */
static const char *read_answer(struct reader *r, str answer)
{
    if (!jr_is_valid(answer))
        return "it is not JSON";
    answer = str_trim(answer);
    if (is_without_engines(answer))
        return "none of its engines has answered";
    if (is_without_list(answer))
        return NULL;
    read_value(r, answer);
    return r->has_list ? NULL : "it holds no list of results";
}

int search_list_read(str answer, const struct search_query *query, struct arena *a,
                     struct search_results *ret, struct err *reterr)
{
    const char *fault = NULL;
    bool has_memory;
    struct reader r;

    has_memory = reader_init(&r, query, a, ret);
    if (has_memory)
        fault = read_answer(&r, answer);
    has_memory = reader_fini(&r) && has_memory;
    if (!has_memory)
        err_set_no_memory(reterr);
    else if (fault != NULL)
        err_set(reterr, ERR_UPSTREAM_ERROR, "%s", fault);
    return has_memory && fault == NULL ? 0 : -1;
}
