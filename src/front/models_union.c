/* models_union.c -- the models of several upstreams as one list (OPERATIONS 4.3).
 *
 *     the lists that are missing are waited for -> written -> answered
 *                ^                                    |
 *                +-- new ones, once, for one model ---+  nobody has it
 *
 * No upstream is asked by the request itself: what each has answered last is among its facts. A name is looked up
 * as that of a request would be, so that what is shown of a model is what its candidates say of it. */
#include "access/allowance.h"
#include "flight/flight_admission.h"
#include "front/relay_internal.h"
#include "json/json_write.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_watch.h"
#include "upstream/upstream_window.h"
#include "wire/dialect/codex_model.h"
#include "wire/dialect/model_merge.h"

/* The facts of all upstreams, at one time. */
struct known {
    const struct upstream_table *table;
    struct upstream_facts **facts; /* references, one of each entry or NULL */
    bool is_any_listed;            /* at least one has answered with a list */
};

/* A list while it is written. */
struct union_writer {
    const struct relay *relay;
    struct known *known;
    struct jw list, catalogue;
    size_t n_catalogue;
    bool has_extras, wants_catalogue;
};

/* A model of it. */
struct union_model {
    const struct known *known;
    struct upstream_route route;
    str *elements; /* of its candidates; STR_NONE: it is not listed there */
};

/* ---- which models */

/* True when the caller may know of the model, by the name that clients say (OPERATIONS 5.2). */
static bool shows_model(const struct caller *caller, str name)
{
    return allowance_has_model(caller->allowance, name);
}

static const struct upstream_list *list_of(const struct known *k, size_t entry)
{
    return k->facts[entry] == NULL ? NULL : k->facts[entry]->list;
}

static bool has_listed(void *arg, size_t entry, str name)
{
    return upstream_list_has(list_of(arg, entry), name);
}

static bool take_known(struct known *k, const struct upstream_table *t, struct arena *a)
{
    *k = (struct known){.table = t, .facts = arena_array(a, t->n, sizeof(struct upstream_facts *))};
    for (size_t i = 0; k->facts != NULL && i < t->n; i++) {
        k->facts[i] = upstream_watch_facts(t->entries[i].live->watch);
        k->is_any_listed = k->is_any_listed || list_of(k, i) != NULL;
    }
    return k->facts != NULL;
}

static void leave_known(struct known *k)
{
    for (size_t i = 0; k->facts != NULL && i < k->table->n; i++)
        upstream_facts_unref(k->facts[i]);
}

/* Views of the table and of the lists. */
static bool gather_names(const struct known *k, struct arena *a, const str **ret, size_t *ret_n)
{
    struct upstream_listing *listed = arena_array(a, k->table->n, sizeof(*listed));

    for (size_t i = 0; listed != NULL && i < k->table->n; i++)
        listed[i].names = upstream_list_names(list_of(k, i), &listed[i].n);
    return listed != NULL && upstream_table_names(k->table, listed, a, ret, ret_n) == 0;
}

/* ---- one of them */

static struct upstream_window window_at(const struct union_model *m, size_t candidate)
{
    const struct upstream_candidate *c = &m->route.candidates[candidate];
    const struct config *config = m->known->table->entries[c->entry].config;
    const str element = m->elements[candidate];
    struct upstream_limits listed;

    if (str_is_none(element))
        return upstream_window_of(config, m->known->facts[c->entry], c->model);
    listed = upstream_models_entry(UPSTREAM_PATH_MODELS, element);
    return upstream_window_listed(config, m->known->facts[c->entry], c->model, &listed);
}

static int64_t smaller_window(int64_t a, int64_t b)
{
    return b == 0 || (a != 0 && a < b) ? a : b;
}

/* What holds wherever a request goes. */
static struct model_view look_at_model(void *arg, str id, str entry)
{
    const struct union_model *m = arg;
    struct model_view view = {.takes_images = true, .efforts = STR("")};

    (void)id;
    (void)entry;
    for (size_t i = 0; i < m->route.n; i++) {
        const struct upstream_window w = window_at(m, i);

        view.window = smaller_window(view.window, w.is_guess ? 0 : w.tokens);
        view.at_most = smaller_window(view.at_most, w.tokens);
        view.takes_images = view.takes_images && w.takes_images;
        if (i == 0)
            view.efforts = w.efforts;
    }
    return view;
}

/* Returns 0, or -1 with *reterr filled: no memory, or ERR_MODEL_NOT_FOUND. */
static int find_model(struct known *k, str name, struct arena *a, struct union_model *ret,
                      struct err *reterr)
{
    const struct upstream_lists lists = {has_listed, k};

    *ret = (struct union_model){.known = k};
    if (upstream_table_route(k->table, name, &lists, a, &ret->route, reterr) == -1)
        return -1;
    ret->elements = arena_array(a, ret->route.n, sizeof(*ret->elements));
    if (ret->elements == NULL)
        return err_set_no_memory(reterr);
    for (size_t i = 0; i < ret->route.n; i++) {
        const struct upstream_candidate *c = &ret->route.candidates[i];

        ret->elements[i] = upstream_list_element(list_of(k, c->entry), c->model);
    }
    return 0;
}

static void write_model(struct union_writer *to, struct union_model *m, str name)
{
    const struct model_list_view view = {.look = look_at_model, .arg = m};
    struct buf element = {.limit = 0};

    model_merge_write(name, m->elements, m->route.n, &element);
    jw_raw(&to->list, STR(""));
    if (!to->has_extras || !model_list_write_entry(buf_str(&element), &view, to->list.out))
        buf_append(to->list.out, buf_str(&element));
    to->list.out->failed = to->list.out->failed || buf_failed(&element);
    buf_fini(&element);
    if (to->wants_catalogue) {
        const struct model_view known = look_at_model(m, name, STR_NONE);

        codex_model_write(name, &known, ++to->n_catalogue, &to->catalogue);
    }
}

/* A name whose alias leads to what nobody has is not shown. */
static int add_model(struct union_writer *to, str name, struct err *reterr)
{
    struct arena scratch = {.limit = 0};
    struct union_model m;
    int rc = find_model(to->known, name, &scratch, &m, reterr);

    if (rc == 0)
        write_model(to, &m, name);
    else if (reterr->code == ERR_MODEL_NOT_FOUND)
        rc = 0;
    arena_fini(&scratch);
    return rc;
}

/* ---- the answer */

static int refuse_unknown(str model, struct err *reterr)
{
    err_set_param(reterr, ERR_MODEL_NOT_FOUND, "model", "The model '%.*s' does not exist.",
                  STR_ARG(model));
    return -1;
}

static int write_one(struct union_writer *to, const str *names, size_t n, struct err *reterr)
{
    const str wanted = to->relay->model;

    for (size_t i = 0; i < n; i++) {
        if (!str_eq(names[i], wanted))
            continue;
        if (add_model(to, wanted, reterr) == -1)
            return -1;
        break;
    }
    return to->list.out->len == 0 && !buf_failed(to->list.out) ? refuse_unknown(wanted, reterr) : 0;
}

static int write_all(struct union_writer *to, const str *names, size_t n, struct err *reterr)
{
    struct jw *w = &to->list;

    if (n == 0 && !to->known->is_any_listed) {
        err_set(reterr, ERR_OVERLOADED,
                "No upstream server has told yet which models it has. Please try again later.");
        return -1;
    }
    jw_object(w);
    jw_key_string(w, "object", STR("list"));
    jw_key(w, "data");
    jw_array(w);
    jw_array(&to->catalogue);
    for (size_t i = 0; i < n && !buf_failed(w->out); i++) {
        if (shows_model(&to->relay->flight.caller, names[i]) &&
            add_model(to, names[i], reterr) == -1)
            return -1;
    }
    jw_array_end(w);
    jw_array_end(&to->catalogue);
    if (to->wants_catalogue)
        jw_key_raw(w, "models", buf_str(to->catalogue.out));
    jw_object_end(w);
    return 0;
}

static int write_known(struct relay *relay, struct known *k, struct err *reterr)
{
    const struct config *c = relay->flight.worker->config;
    struct buf catalogue = {.limit = c->max_response_bytes};
    struct union_writer to = {
        .relay = relay,
        .known = k,
        .list = jw_to(&relay->body),
        .catalogue = jw_to(&catalogue),
        .has_extras = c->models_extras,
        .wants_catalogue = c->models_extras && models_view_wants_catalogue(relay),
    };
    const str *names = NULL;
    size_t n = 0;
    int rc;

    buf_fini(&relay->body);
    buf_init(&relay->body, c->max_response_bytes);
    if (!gather_names(k, &relay->flight.arena, &names, &n))
        return err_set_no_memory(reterr);
    rc = str_is_none(relay->model) ? write_all(&to, names, n, reterr)
                                   : write_one(&to, names, n, reterr);
    if (rc == 0 && (buf_failed(&relay->body) || buf_failed(&catalogue)))
        rc = err_set_no_memory(reterr);
    buf_fini(&catalogue);
    return rc;
}

static int write_union(void *arg, struct err *reterr)
{
    struct relay *relay = arg;
    struct known k;
    int rc = take_known(&k, relay->union_of, &relay->flight.arena) ? write_known(relay, &k, reterr)
                                                                   : err_set_no_memory(reterr);

    leave_known(&k);
    return rc;
}

static void answer_union(void *arg, const struct err *failure)
{
    struct relay *relay = arg;

    if (!flight_has_client(&relay->flight))
        return;
    if (failure == NULL) {
        relay_respond(relay, buf_str(&relay->body));
    } else if (failure->code == ERR_MODEL_NOT_FOUND && flight_want_new_lists(&relay->flight)) {
        models_union_go_on(relay);
    } else {
        relay_fail(relay, failure);
    }
}

/* Each name is looked up among all. */
static size_t union_weight(const struct upstream_table *t)
{
    size_t n_names = 0;

    for (size_t i = 0; i < t->n; i++) {
        struct upstream_facts *facts = upstream_watch_facts(t->entries[i].live->watch);
        size_t n = 0;

        if (facts != NULL)
            (void)upstream_list_names(facts->list, &n);
        n_names += n + t->entries[i].n_models;
        upstream_facts_unref(facts);
    }
    return n_names * n_names;
}

bool models_union_is_due(const struct relay *relay)
{
    const str path = relay->flight.http->path;

    return relay->flight.worker->upstreams->is_from_file && relay_only_reads(relay) &&
           (!str_is_none(relay->model) || str_eq(relay_path(path), STR("/models")));
}

void models_union_go_on(struct relay *relay)
{
    struct flight *f = &relay->flight;
    struct err e;
    enum turn_next next;

    next = flight_await_lists(f, FLIGHT_LISTS_ALL, &e);
    relay->awaits_union = next == TURN_WAIT;
    if (next == TURN_FAIL)
        relay_fail(relay, &e);
    if (next != TURN_GO)
        return;
    relay->union_of = f->admission.table;
    flight_work(f, union_weight(relay->union_of), write_union, answer_union);
}
