/* turn_call_web_search.c -- calls of the web search, and what the answer may cite of them. */
#include "call/turn_call.h"
#include "call/turn_search_mcp.h"
#include "flight/builtin_tools.h"
#include "flight/worker.h"
#include "json/json_text.h"
#include "response/response.h"
#include "search/web_session.h"

enum { MAX_HELD_BYTES = 16 * 1024 * 1024, MAX_REDIRECTS = 5 };

struct web_work {
    struct turn_call *call;
    struct web_call *web;
    struct web_action action;
};

/* ---- the session of its turn */

/* Elements of a raw array of texts, plain. */
static bool read_domains(struct arena *a, str raw, const str **ret, size_t *ret_n)
{
    struct jr j;
    str *list;
    size_t n = 0;

    *ret = NULL;
    *ret_n = 0;
    if (str_is_none(raw))
        return true;
    jr_init(&j, raw);
    for (bool in = jr_enter(&j, JR_ARRAY); in && jr_next_element(&j); jr_skip(&j))
        n++;
    list = arena_array(a, n + 1, sizeof(*list));
    if (list == NULL)
        return false;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    for (*ret = list; jr_next_element(&j); (*ret_n)++) {
        list[*ret_n] = json_text_dup(a, jr_string(&j));
        if (str_is_none(list[*ret_n]))
            return false;
    }
    return true;
}

static enum search_size size_of(str escaped)
{
    if (str_is_none(escaped))
        return SEARCH_MEDIUM;
    if (json_text_eq(escaped, STR("low")))
        return SEARCH_LOW;
    return json_text_eq(escaped, STR("high")) ? SEARCH_HIGH : SEARCH_MEDIUM;
}

static str plain_text(struct arena *a, str escaped)
{
    return str_is_none(escaped) ? STR_NONE : json_text_dup(a, escaped);
}

static bool read_query(const struct search_declaration *d, struct arena *a,
                       struct search_query *ret)
{
    *ret = (struct search_query){
        .query = STR(""),
        .size = size_of(d->size),
        .country = plain_text(a, d->country),
        .region = plain_text(a, d->region),
        .city = plain_text(a, d->city),
        .timezone = plain_text(a, d->timezone),
    };
    return read_domains(a, d->allowed_domains, &ret->allowed_domains, &ret->n_allowed) &&
           read_domains(a, d->blocked_domains, &ret->blocked_domains, &ret->n_blocked);
}

static struct web_session *open_session(const struct turn_calls *of)
{
    const struct worker *w = of->flight->worker;
    struct web_session_conf conf = {
        .loop = w->loop,
        .searcher = w->search != NULL ? search_http_searcher(w->search)
                                      : turn_search_mcp(of->flight->worker),
        .pages = of->search->opens_pages ? w->pages : NULL,
        .fetch = {.policy = builtin_page_policy(w->config),
                  .timeout_ms = w->config->search_timeout_ms,
                  .max_bytes = w->config->max_page_bytes,
                  .max_redirects = MAX_REDIRECTS},
        .first_cursor = of->first_cursor,
        .max_held_bytes = MAX_HELD_BYTES,
    };

    return read_query(of->search, &of->flight->arena, &conf.query) ? web_session_new(&conf) : NULL;
}

static struct web_session *session_of(struct turn_calls *of)
{
    if (of->web == NULL && of->search != NULL)
        of->web = open_session(of);
    return of->web;
}

/* ---- what comes out */

static void write_source(const struct web_source *s, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "type", STR("url"));
    jw_key_string(w, "url", s->url);
    jw_object_end(w);
}

static void write_search(const struct turn_calls *of, const struct web_action *a,
                         const struct web_outcome *o, struct jw *w)
{
    jw_key_string(w, "type", STR("search"));
    jw_key_string(w, "query", a->query);
    jw_key(w, "queries");
    jw_array(w);
    jw_string(w, a->query);
    jw_array_end(w);
    if (!of->shows_sources)
        return;
    jw_key(w, "sources");
    jw_array(w);
    for (size_t i = 0; i < o->n_sources; i++)
        write_source(&o->sources[i], w);
    jw_array_end(w);
}

/* Where the model has said which page, by a number, the client gets its URL. */
static void write_action(const struct turn_calls *of, const struct web_action *a,
                         const struct web_outcome *o, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    if (a->op == WEB_SEARCH) {
        write_search(of, a, o, &w);
    } else {
        jw_key_string(&w, "type", a->op == WEB_OPEN ? STR("open_page") : STR("find_in_page"));
        jw_key_string(&w, "url", o->url);
        if (a->op == WEB_FIND)
            jw_key_string(&w, "pattern", a->pattern);
    }
    jw_object_end(&w);
}

static void on_done(void *arg, const struct web_outcome *outcome)
{
    struct web_work *work = arg;
    struct turn_call_result result = {.is_failed = outcome->is_failed};

    json_text_escape(outcome->output, &result.output);
    if (!outcome->is_failed)
        write_action(work->call->of, &work->action, outcome, &result.shown);
    turn_call_ended(work->call, &result);
}

/* ---- running */

static int read_action(struct turn_call *c, struct web_action *ret, struct err *reterr)
{
    struct arena *a = &c->of->flight->arena;
    str arguments = json_text_dup(a, c->text);

    if (!str_is_none(arguments))
        return web_action_read(arguments, a, ret, reterr);
    return err_set_no_memory(reterr);
}

static void *start_web_call(struct turn_call *c, struct turn_call_result *ret)
{
    static const struct web_handler handler = {on_done};
    struct web_session *session = session_of(c->of);
    struct web_work *work = arena_alloc(&c->of->flight->arena, sizeof(*work));
    struct err e;

    err_set_no_memory(&e);
    if (work != NULL && session != NULL && read_action(c, &work->action, &e) == 0) {
        work->call = c;
        work->web = web_session_start(session, &work->action, &handler, work, &e);
        if (work->web != NULL)
            return work;
    }
    turn_call_fail(ret, str_from_c(e.msg));
    return NULL;
}

static void cancel_web_call(void *arg)
{
    struct web_work *work = arg;

    web_call_cancel(work->web);
}

const struct turn_call_kind turn_call_web_search = {
    .start = start_web_call, .cancel = cancel_web_call, .name = "web_search"};

/* ---- citations */

static str escape_into(struct buf *buf, str text)
{
    buf_reset(buf);
    json_text_escape(text, buf);
    return buf_str(buf);
}

bool turn_calls_find_source(void *arg, const struct cite_marker *marker, struct citation *ret)
{
    struct turn_calls *of = arg;
    struct web_source source;

    if (of->web == NULL ||
        !web_session_source(of->web, marker->cursor, marker->first_line, &source))
        return false;
    ret->url = escape_into(&of->cited_url, source.url);
    ret->title = escape_into(&of->cited_title, source.title);
    return !buf_failed(&of->cited_url) && !buf_failed(&of->cited_title);
}
