/* doctor_visit.c -- the order of the questions, and which of them are worth asking. */
#include "cli/doctor_visit.h"

#include "cli/ask_once.h"
#include "cli/doctor_question.h"
#include "json/json_read.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"
#include "upstream/upstream_window.h"

/* A visit under way. */
struct round_of_visit {
    const struct doctor_visit_conf *conf;
    struct doctor_visit *v;
    struct asker *asker;
    str base, authorization;
    struct doctor_asking asking;
    struct model_profile profile;
    enum doctor_check check; /* whose time runs */
};

static const bool quick_checks[] = {
#define CHECK(symbol, id, is_quick, what) is_quick,
#include "cli/doctor_check.def"
};

static bool is_wanted(struct round_of_visit *r, enum doctor_check check)
{
    r->check = check;
    return !r->conf->is_quick || quick_checks[check];
}

static void add_finding(struct round_of_visit *r, enum doctor_finding_id id, str detail)
{
    doctor_find(&r->v->findings, id, detail);
}

/* ---- requests */

static void request(struct round_of_visit *r, const char *method, str base, const char *path,
                    str body, struct asked *ret)
{
    struct buf url = {.limit = 0};
    struct question q = {.method = method,
                         .authorization = r->authorization,
                         .body = body,
                         .timeout_ms = r->conf->timeout_ms};

    buf_append(&url, base);
    buf_c(&url, path);
    q.url = buf_cstr(&url);
    ask_once(r->asker, &q, ret);
    r->v->ms[r->check] += ret->total_ms;
    buf_fini(&url);
}

/* What a server says of a key may be the key. */
static void hide_key(const struct round_of_visit *r, struct doctor_answer *a)
{
    const str key = str_from_c(r->conf->config->upstream_key);

    if (!str_is_none(key) && str_find(buf_str(&a->error), key) < a->error.len) {
        buf_reset(&a->error);
        buf_c(&a->error, "its words repeat the key");
    }
}

static void ask_model(struct round_of_visit *r, enum doctor_question q, struct doctor_answer *ret)
{
    struct buf body = {.limit = 0};
    struct asked answer;

    doctor_question_write(q, &r->asking, &body);
    request(r, "POST", r->base, "/chat/completions", buf_str(&body), &answer);
    r->v->n_requests++;
    doctor_read(answer.status, buf_str(&answer.body), ret);
    ret->total_ms = answer.total_ms;
    if (answer.has_failed && ret->error.len == 0)
        buf_c(&ret->error, answer.failure.msg);
    hide_key(r, ret);
    asked_fini(&answer);
    buf_fini(&body);
}

/* ---- the server */

static bool is_list(const struct asked *a)
{
    const str data = jr_member(str_trim(buf_str(&a->body)), STR("data"));

    return a->status == 200 && !a->has_failed && !str_is_none(data) && jr_type_of(data) == JR_ARRAY;
}

/* http://host/api and http://host/api/v1 are often taken for each other. */
static str other_base(struct round_of_visit *r)
{
    struct buf text = {.limit = 0};
    str other = STR_NONE;

    if (str_ends_with(r->base, STR("/v1")))
        return str_from(r->base.p, r->base.len - strlen("/v1"));
    buf_append(&text, r->base);
    buf_c(&text, "/v1");
    if (!buf_failed(&text))
        other = arena_dup(&r->v->memory, buf_str(&text));
    buf_fini(&text);
    return other;
}

static void look_elsewhere(struct round_of_visit *r, int status)
{
    const str other = other_base(r);
    struct buf text = {.limit = 0};
    struct asked answer;

    request(r, "GET", other, "/models", STR_NONE, &answer);
    buf_int(&text, status);
    if (is_list(&answer))
        add_finding(r, DOCTOR_FOUND_REACH_OTHER_PATH, other);
    else
        add_finding(r, DOCTOR_FOUND_REACH_NO_API, buf_str(&text));
    buf_fini(&text);
    asked_fini(&answer);
}

static void find_status(struct round_of_visit *r, enum doctor_finding_id id, int status)
{
    struct buf text = {.limit = 0};

    buf_int(&text, status);
    add_finding(r, id, buf_str(&text));
    buf_fini(&text);
}

static void find_server(struct round_of_visit *r)
{
    const struct upstream_watch_conf server = {.config = r->conf->config,
                                               .base = r->base,
                                               .authorization = r->authorization,
                                               .client_cert = r->conf->certificate.cert,
                                               .client_key = r->conf->certificate.key};
    struct upstream_facts *facts = upstream_watch_look(&server);
    struct buf text = {.limit = 0};

    r->v->facts = facts;
    r->v->subject.facts = facts;
    buf_append(&text, upstream_kind_profile(r->conf->config, facts)->word);
    if (facts != NULL && facts->finding.version[0] != '\0') {
        buf_char(&text, ' ');
        buf_c(&text, facts->finding.version);
    }
    add_finding(r, DOCTOR_FOUND_REACHED, buf_str(&text));
    buf_fini(&text);
}

/* False when there is nobody to ask more. */
static bool look_for_server(struct round_of_visit *r, struct asked *list)
{
    r->check = DOCTOR_CHECK_REACH;
    request(r, "GET", r->base, "/models", STR_NONE, list);
    if (list->status == 0) {
        add_finding(r, DOCTOR_FOUND_UNREACHABLE, str_from_c(list->failure.msg));
        return false;
    }
    if (list->status == 401 || list->status == 403) {
        find_server(r);
        find_status(r, DOCTOR_FOUND_AUTH_REFUSED, list->status);
        return false;
    }
    if (!is_list(list)) {
        look_elsewhere(r, list->status);
        return false;
    }
    find_server(r);
    add_finding(r, DOCTOR_FOUND_AUTH_OK, STR(""));
    return true;
}

/* ---- the model */

/* The configured one, else the first that is listed. */
static str choose_model(struct round_of_visit *r, const struct upstream_models *models)
{
    const struct config *c = r->conf->config;

    if (c->model != NULL) {
        const str name = upstream_name_of(c, str_from_c(c->model));

        if (models->n > 0 && upstream_models_find(models, name) == NULL)
            add_finding(r, DOCTOR_FOUND_MODEL_MISSING, name);
        else
            add_finding(r, DOCTOR_FOUND_MODEL_CHOSEN, name);
        return name;
    }
    if (models->n == 0)
        return STR_NONE;
    add_finding(r, models->n == 1 ? DOCTOR_FOUND_MODEL_ONLY : DOCTOR_FOUND_MODEL_CHOSEN,
                models->v[0].id);
    return models->v[0].id;
}

static bool has_field(const struct upstream_profile *p, str name)
{
    for (size_t i = 0; i < p->fields.n; i++) {
        if (str_eq(str_from_c(p->fields.names[i]), name))
            return true;
    }
    return false;
}

static void look_for_window(struct round_of_visit *r)
{
    const struct upstream_window w =
        upstream_window_of(r->conf->config, r->v->facts, r->asking.model);
    struct buf text = {.limit = 0};

    buf_int(&text, w.tokens);
    if (w.tokens == 0)
        add_finding(r, DOCTOR_FOUND_WINDOW_UNKNOWN, STR(""));
    else
        add_finding(r, w.is_guess ? DOCTOR_FOUND_WINDOW_GUESS : DOCTOR_FOUND_WINDOW_TOLD,
                    buf_str(&text));
    buf_fini(&text);
}

static bool look_for_model(struct round_of_visit *r, const struct asked *list)
{
    struct upstream_models models = {NULL, 0};

    (void)upstream_models_read(buf_str(&list->body), &r->v->memory, &models);
    r->asking.model = choose_model(r, &models);
    if (str_is_none(r->asking.model)) {
        add_finding(r, DOCTOR_FOUND_NO_MODELS, STR(""));
        return false;
    }
    r->v->subject.model = r->asking.model;
    r->profile = upstream_named_profile(r->conf->config, r->v->facts, r->asking.model);
    r->asking.token_field = r->profile.token_field == CHAT_MAX_COMPLETION_TOKENS
                                ? "max_completion_tokens"
                                : "max_tokens";
    r->asking.has_seed =
        has_field(upstream_kind_profile(r->conf->config, r->v->facts), STR("seed"));
    look_for_window(r);
    return true;
}

/* ---- questions, by check */

/* False when nothing else is worth asking. */
static bool look_at_streams(struct round_of_visit *r)
{
    struct doctor_answer with, without = {.status = 0};
    const struct doctor_answer *good = &with;
    bool is_good;

    r->check = DOCTOR_CHECK_STREAM;
    ask_model(r, DOCTOR_ASKS_STREAM, &with);
    if (doctor_is_refused(&with)) {
        ask_model(r, DOCTOR_ASKS_STREAM_PLAIN, &without);
        good = &without;
    }
    doctor_judge_stream(good, &r->v->findings);
    doctor_judge_usage(&with, good == &without ? &without : NULL, &r->v->findings);
    is_good = doctor_is_good(good);
    doctor_answer_fini(&without);
    doctor_answer_fini(&with);
    return is_good;
}

/* Two questions, the second only when the first was refused. */
struct pair {
    struct doctor_answer first, second;
    bool has_second;
};

static const struct doctor_answer *second_of(const struct pair *p)
{
    return p->has_second ? &p->second : NULL;
}

static void ask_pair(struct round_of_visit *r, enum doctor_question q, enum doctor_question instead,
                     struct pair *ret)
{
    ask_model(r, q, &ret->first);
    ret->has_second = !doctor_is_good(&ret->first);
    if (ret->has_second)
        ask_model(r, instead, &ret->second);
}

static void pair_fini(struct pair *p)
{
    if (p->has_second)
        doctor_answer_fini(&p->second);
    doctor_answer_fini(&p->first);
}

static void look_at_tokens(struct round_of_visit *r)
{
    struct doctor_answer one, other;

    ask_model(r, DOCTOR_ASKS_MAX_TOKENS, &one);
    ask_model(r, DOCTOR_ASKS_MAX_COMPLETION_TOKENS, &other);
    doctor_judge_tokens(&one, &other, &r->v->findings);
    doctor_answer_fini(&one);
    doctor_answer_fini(&other);
}

static void look_at_roles(struct round_of_visit *r)
{
    struct doctor_answer late, two;
    struct pair p;

    ask_pair(r, DOCTOR_ASKS_SYSTEM, DOCTOR_ASKS_DEVELOPER, &p);
    ask_model(r, DOCTOR_ASKS_LATE_SYSTEM, &late);
    ask_model(r, DOCTOR_ASKS_TWO_USERS, &two);
    doctor_judge_roles(&p.first, second_of(&p), &late, &two, &r->v->findings);
    doctor_answer_fini(&late);
    doctor_answer_fini(&two);
    pair_fini(&p);
}

/* False when requests with tools are refused: then all about calls would be. */
static bool look_at_call(struct round_of_visit *r)
{
    struct doctor_answer a;
    bool is_good;

    r->check = DOCTOR_CHECK_TOOL;
    ask_model(r, DOCTOR_ASKS_TOOL, &a);
    doctor_judge_tool(&a, r->profile.text_calls, &r->v->findings);
    is_good = doctor_is_good(&a);
    doctor_answer_fini(&a);
    return is_good;
}

static void look_at_result(struct round_of_visit *r)
{
    struct doctor_answer empty = {.status = 0};
    struct pair p;
    bool has_third;

    ask_pair(r, DOCTOR_ASKS_RESULT, DOCTOR_ASKS_RESULT_SHORT_ID, &p);
    has_third = p.has_second && !doctor_is_good(&p.second);
    if (has_third)
        ask_model(r, DOCTOR_ASKS_RESULT_EMPTY, &empty);
    doctor_judge_result(&p.first, second_of(&p), has_third ? &empty : NULL, &r->v->findings);
    doctor_answer_fini(&empty);
    pair_fini(&p);
}

static void look_at_parallel(struct round_of_visit *r)
{
    struct pair p;

    ask_pair(r, DOCTOR_ASKS_PARALLEL, DOCTOR_ASKS_PARALLEL_SINGLE, &p);
    doctor_judge_parallel(&p.first, second_of(&p), &r->v->findings);
    pair_fini(&p);
}

static void look_at_choice(struct round_of_visit *r)
{
    struct doctor_answer required, named;

    ask_model(r, DOCTOR_ASKS_CHOICE_REQUIRED, &required);
    ask_model(r, DOCTOR_ASKS_CHOICE_NAMED, &named);
    doctor_judge_choice(&required, &named, &r->v->findings);
    doctor_answer_fini(&required);
    doctor_answer_fini(&named);
}

static void look_at_one(struct round_of_visit *r, enum doctor_question q,
                        void (*judge)(const struct doctor_answer *a, struct doctor_findings *f))
{
    struct doctor_answer a;

    ask_model(r, q, &a);
    judge(&a, &r->v->findings);
    doctor_answer_fini(&a);
}

static void look_at_thinking(struct round_of_visit *r)
{
    struct doctor_answer riddle, back, off;

    (void)is_wanted(r, DOCTOR_CHECK_REASONING);
    ask_model(r, DOCTOR_ASKS_RIDDLE, &riddle);
    ask_model(r, DOCTOR_ASKS_REASONING_BACK, &back);
    doctor_judge_reasoning(&riddle, &back, &r->v->findings);
    if (is_wanted(r, DOCTOR_CHECK_EFFORT)) {
        off = (struct doctor_answer){.status = 0};
        if (doctor_thinks(&riddle))
            ask_model(r, DOCTOR_ASKS_NO_THINKING, &off);
        doctor_judge_effort(&riddle, &off, &r->v->findings);
        doctor_answer_fini(&off);
    }
    doctor_answer_fini(&riddle);
    doctor_answer_fini(&back);
}

static void look_at_cache(struct round_of_visit *r)
{
    struct doctor_answer first, second;

    ask_model(r, DOCTOR_ASKS_CACHE, &first);
    ask_model(r, DOCTOR_ASKS_CACHE, &second);
    doctor_judge_cache(&first, &second, &r->v->findings);
    doctor_answer_fini(&first);
    doctor_answer_fini(&second);
}

static void look_at_slots(struct round_of_visit *r)
{
    struct asked props;

    request(r, "GET", upstream_root(r->base), "/props", STR_NONE, &props);
    doctor_judge_slots(props.status == 200 ? buf_str(&props.body) : STR_NONE, &r->v->findings);
    asked_fini(&props);
}

static void look_at_tools(struct round_of_visit *r)
{
    if (!look_at_call(r))
        return;
    if (is_wanted(r, DOCTOR_CHECK_TOOL_RESULT))
        look_at_result(r);
    if (is_wanted(r, DOCTOR_CHECK_PARALLEL))
        look_at_parallel(r);
    if (is_wanted(r, DOCTOR_CHECK_TOOL_CHOICE))
        look_at_choice(r);
    if (is_wanted(r, DOCTOR_CHECK_ARGUMENTS))
        look_at_one(r, DOCTOR_ASKS_ARGUMENTS, doctor_judge_arguments);
}

static void look_at_model(struct round_of_visit *r)
{
    if (!look_at_streams(r))
        return;
    if (is_wanted(r, DOCTOR_CHECK_TOKENS))
        look_at_tokens(r);
    if (is_wanted(r, DOCTOR_CHECK_ROLES))
        look_at_roles(r);
    look_at_tools(r);
    if (is_wanted(r, DOCTOR_CHECK_SCHEMA))
        look_at_one(r, DOCTOR_ASKS_SCHEMA, doctor_judge_schema);
    look_at_thinking(r);
    if (is_wanted(r, DOCTOR_CHECK_VISION))
        look_at_one(r, DOCTOR_ASKS_VISION, doctor_judge_vision);
    if (is_wanted(r, DOCTOR_CHECK_FILES))
        look_at_one(r, DOCTOR_ASKS_FILES, doctor_judge_files);
    if (is_wanted(r, DOCTOR_CHECK_CACHE))
        look_at_cache(r);
    if (is_wanted(r, DOCTOR_CHECK_SLOTS))
        look_at_slots(r);
}

/* ---- the visit */

int doctor_visit(const struct doctor_visit_conf *conf, struct doctor_visit *ret, struct err *reterr)
{
    const struct config *c = conf->config;
    const struct http_client_conf client = {.max_idle_connections = 1,
                                            .ca_file = c->ca_file,
                                            .proxy = c->proxy,
                                            .client_cert = conf->certificate.cert,
                                            .client_key = conf->certificate.key,
                                            .verify_tls = c->tls_verify};
    struct round_of_visit r = {.conf = conf, .v = ret};
    struct asked list;

    *ret = (struct doctor_visit){.subject = {.config = c, .model = STR("")}};
    r.base = config_upstream_base(&ret->memory, str_from_c(c->upstream));
    r.authorization = config_upstream_authorization(&ret->memory, c);
    r.asker = asker_open(&client, reterr);
    if (r.asker == NULL)
        return -1;
    if (look_for_server(&r, &list) && look_for_model(&r, &list))
        look_at_model(&r);
    asked_fini(&list);
    ret->is_resolving = asker_is_resolving(r.asker);
    if (!ret->is_resolving)
        asker_close(r.asker);
    return 0;
}

void doctor_visit_fini(struct doctor_visit *v)
{
    upstream_facts_unref(v->facts);
    v->facts = NULL;
    arena_fini(&v->memory);
}
