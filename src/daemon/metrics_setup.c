/* metrics_setup.c -- the sources of a scrape, which runs on the pool: they use what any thread may. */
#include "daemon/metrics_setup.h"

#include "background/background.h"
#include "background/poll_cache.h"
#include "base/budget.h"
#include "base/version.h"
#include "daemon/tls_listener.h"
#include "ev/loop.h"
#include "flight/worker.h"
#include "memory/answer_memory.h"
#include "memory/call_memory.h"
#include "metrics/metrics_process.h"
#include "trace/export/tracer.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_pool.h"
#include "upstream/upstream_watch.h"

/* Names that the configuration has; none of them gives its place back. */
void metrics_learn_models(const struct config *c)
{
    if (c->model != NULL)
        (void)metric_model_learn(str_from_c(c->model), true, 0);
    for (size_t i = 0; i < c->model_alias.n; i++) {
        str rest = str_from_c(c->model_alias.items[i]), name = str_cut(&rest, '=');

        if (!str_eq(name, STR("*")))
            (void)metric_model_learn(name, true, 0);
    }
}

int metrics_set_up(const struct config *c, struct err *reterr)
{
    struct metrics_conf conf = {.max_models = c->metrics_models};

    if (c->metrics == CONFIG_METRICS_OFF)
        return 0;
    random_fill(NULL, &conf.seed, sizeof(conf.seed));
    if (!metrics_open(&conf))
        return err_set_no_memory(reterr);
    metrics_learn_models(c);
    return 0;
}

void metrics_note_reload(str part, bool is_good)
{
    const unsigned n_results = METRIC_RESULT_ERROR + 1;
    unsigned index = 0;

    while (index < METRIC_PART_SETTINGS &&
           !str_eq(part, metric_closed_word(METRIC_DOMAIN_PART, index)))
        index++;
    index = index * n_results + (is_good ? METRIC_RESULT_OK : METRIC_RESULT_ERROR);
    metrics_count(METRIC_RELOADS, index);
    metrics_set(metrics_at(METRIC_RELOADED, index), (uint64_t)clock_unix_s() * 1000000);
}

static void tell_build(struct metrics_page *p)
{
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_VERSION, STR(ANTIPHON_VERSION)),
         metric_word(METRIC_DOMAIN_VERSION, str_from_c(version_commit()))}};

    metrics_page_add(p, METRIC_BUILD, &labels, 1);
}

/* The only one of its models is used whatever it does: what was seen of it last is its state. */
static unsigned state_of(const struct upstream_table *t, const struct upstream_entry *u,
                         const struct upstream_view *view)
{
    if (!t->is_from_file && view->state == UPSTREAM_STATE_UP &&
        upstream_watch_state(u->live->watch) == UPSTREAM_DOWN)
        return METRIC_UPSTREAM_STATE_DOWN;
    return view->state;
}

static void tell_upstream(const struct worker *w, const struct upstream_table *t,
                          const struct upstream_entry *u, struct metrics_page *p)
{
    const uint16_t name = metric_word(METRIC_DOMAIN_UPSTREAM, u->name);
    const struct metric_labels labels = {{name}};
    struct upstream_view view;
    unsigned now;

    upstream_pool_view(w->pool, u, &view);
    now = state_of(t, u, &view);
    for (unsigned state = 0; state <= METRIC_UPSTREAM_STATE_DRAINED; state++)
        metrics_page_add(p, METRIC_UPSTREAM_STATE, &(struct metric_labels){{name, (uint16_t)state}},
                         state == now);
    metrics_page_add(p, METRIC_IN_FLIGHT, &labels, 0); /* what is counted is added */
    metrics_page_add(p, METRIC_UPSTREAM_LIMIT, &labels, (int64_t)view.limit);
    for (unsigned activity = 0; activity <= METRIC_ACTIVITY_ACTIVE; activity++)
        metrics_page_add(p, METRIC_UPSTREAM_CONNECTIONS,
                         &(struct metric_labels){{name, (uint16_t)activity}}, 0);
}

static void tell_group(void *arg, str group, size_t n_waiting)
{
    metrics_page_add(arg, METRIC_QUEUE_LENGTH,
                     &(struct metric_labels){{metric_word(METRIC_DOMAIN_GROUP, group)}},
                     (int64_t)n_waiting);
}

static void tell_upstreams(const struct worker *w, struct metrics_page *p)
{
    struct upstream_table *t = upstream_pool_table(w->pool);

    for (size_t i = 0; i < t->n; i++)
        tell_upstream(w, t, &t->entries[i], p);
    tell_group(p, STR("default"), 0);
    upstream_pool_each_group(w->pool, tell_group, p);
    upstream_table_unref(t);
}

static void tell_traces(struct metrics_page *p)
{
    const struct trace_counts n = trace_counts();

    metrics_page_add_at(p, METRIC_SPANS, METRIC_SPAN_EXPORTED, (int64_t)n.exported);
    metrics_page_add_at(p, METRIC_SPANS, METRIC_SPAN_DROPPED_QUEUE, (int64_t)n.dropped_queue);
    metrics_page_add_at(p, METRIC_SPANS, METRIC_SPAN_DROPPED_EXPORT, (int64_t)n.dropped_export);
    metrics_page_add_at(p, METRIC_SPANS, METRIC_SPAN_DROPPED_SHUTDOWN, (int64_t)n.dropped_shutdown);
    metrics_page_add_at(p, METRIC_MEMORY, METRIC_MEMORY_TRACE, (int64_t)n.queue_bytes);
}

static void tell_memory(const struct worker *w, struct metrics_page *p)
{
    const size_t polled =
        w->background == NULL ? 0 : poll_cache_bytes(background_polls(w->background));
    const size_t responses = answer_memory_bytes(w->answers) + polled;
    const size_t reasoning = call_memory_bytes(w->reasoning) + call_memory_bytes(w->rounds);

    metrics_page_add_at(p, METRIC_MEMORY, METRIC_MEMORY_REQUESTS, (int64_t)budget_used());
    metrics_page_add_at(p, METRIC_MEMORY, METRIC_MEMORY_RESPONSES, (int64_t)responses);
    metrics_page_add_at(p, METRIC_MEMORY, METRIC_MEMORY_REASONING, (int64_t)reasoning);
}

static void tell_background(const struct metrics_desk *desk, struct metrics_page *p)
{
    metrics_page_add_at(p, METRIC_BACKGROUND, METRIC_BACKGROUND_QUEUED,
                        (int64_t)atomic_load(&desk->n_queued));
    metrics_page_add_at(p, METRIC_BACKGROUND, METRIC_BACKGROUND_IN_PROGRESS,
                        (int64_t)atomic_load(&desk->n_running));
}

static void tell_gateway(void *arg, struct metrics_page *p)
{
    const struct metrics_told *told = arg;

    tell_build(p);
    tell_upstreams(told->worker, p);
    tell_traces(p);
    tell_background(&told->desk, p);
    tell_memory(told->worker, p);
}

static void add_source(struct metrics_desk *desk,
                       void (*tell)(void *arg, struct metrics_page *page), void *arg)
{
    desk->sources[desk->n_sources++] = (struct metrics_source){tell, arg};
}

void metrics_tell(struct metrics_told *told)
{
    add_source(&told->desk, metrics_process_tell, NULL);
    add_source(&told->desk, tell_gateway, told);
    if (told->tls != NULL)
        add_source(&told->desk, tls_listener_tell, told->tls);
}
