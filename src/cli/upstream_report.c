/* upstream_report.c -- the table of upstreams and one look at each of them, in comments. */
#include "cli/upstream_report.h"

#include <signal.h>

#include "json/json_text.h"
#include "upstream/upstream_watch.h"
#include "upstream/upstream_window.h"

static void report_window(const struct upstream_window *w, struct buf *out)
{
    buf_c(out, "context window ");
    buf_int(out, w->tokens);
    if (w->is_guess)
        buf_c(out, " at most");
    if (w->takes_images)
        buf_c(out, ", images");
}

static void report_only_model(const struct config *c, const struct upstream_facts *facts,
                              struct buf *out)
{
    const str id = facts->models.n == 1 ? facts->models.v[0].id : STR("");
    const struct upstream_window w = upstream_window_of(c, facts, id);

    if (facts->models.n > 1 || w.tokens == 0)
        return;
    buf_c(out, ", ");
    report_window(&w, out);
}

static void report_model(const struct config *c, const struct upstream_facts *facts, str id,
                         struct buf *out)
{
    const struct upstream_window w = upstream_window_of(c, facts, id);

    buf_c(out, "// model ");
    json_text_escape(id, out);
    if (w.tokens > 0) {
        buf_c(out, ": ");
        report_window(&w, out);
    }
    buf_char(out, '\n');
}

/* A comment for each of the first models of which it is known. */
static void report_models(const struct config *c, const struct upstream_facts *facts,
                          struct buf *out)
{
    enum { MOST = 20 };
    size_t n = 0;

    if (facts->models.n < 2)
        return; /* it stands behind the kind */
    for (size_t i = 0; i < facts->models.n && n < MOST; i++) {
        const str id = facts->models.v[i].id;

        if (upstream_window_of(c, facts, id).tokens == 0)
            continue;
        n++;
        report_model(c, facts, id, out);
    }
}

static void report_finding(const struct upstream_finding *f, struct buf *out)
{
    buf_append(out, upstream_profile(f->kind)->word);
    if (f->certainty == UPSTREAM_UNKNOWN) {
        buf_c(out, ": the upstream has answered, but nothing told of which kind it is");
        return;
    }
    if (strcmp(f->by, UPSTREAM_BY_CONFIGURATION) == 0) {
        buf_c(out, ", as configured");
    } else {
        buf_c(out, ", recognised by ");
        buf_c(out, f->by);
    }
    if (f->version[0] != '\0') {
        buf_c(out, ", version ");
        buf_c(out, f->version);
    }
}

/* "the upstream" where there is one alone. */
static void append_whose(const struct upstream_table *t, const struct upstream_entry *e,
                         struct buf *out)
{
    buf_c(out, "the upstream");
    if (t->is_from_file) {
        buf_char(out, ' ');
        buf_append(out, e->name);
    }
}

/* True when it has answered. */
static bool report_upstream(const struct upstream_table *t, const struct upstream_entry *e,
                            bool is_probe, struct buf *out)
{
    const struct config *c = e->config;
    struct upstream_finding told = upstream_watch_told(c, e->base);
    const struct upstream_watch_conf server = {.config = c,
                                               .base = e->base,
                                               .authorization = e->authorization,
                                               .client_cert = e->client_cert,
                                               .client_key = e->client_key};
    struct upstream_facts *facts = upstream_watch_look(&server);
    const bool has_answered = facts != NULL;

    buf_c(out, "// kind of ");
    append_whose(t, e, out);
    buf_c(out, ": ");
    if (facts != NULL) {
        report_finding(&facts->finding, out);
        report_only_model(c, facts, out);
    } else if (told.certainty != UPSTREAM_UNKNOWN) {
        report_finding(&told, out);
    } else if (c->upstream_probe_timeout_ms == 0) {
        buf_c(out, "generic: upstream_probe_timeout is 0, so it is not asked");
    } else {
        buf_c(out, "generic until it answers: the upstream could not be reached");
    }
    buf_char(out, '\n');
    for (size_t i = 0; is_probe && has_answered && i < facts->models.n; i++)
        report_model(c, facts, facts->models.v[i].id, out);
    if (!is_probe && has_answered)
        report_models(c, facts, out);
    upstream_facts_unref(facts);
    return has_answered;
}

/* ---- what the file says */

static void append_number(const char *before, unsigned n, const char *behind, struct buf *out)
{
    buf_c(out, before);
    buf_uint(out, n);
    buf_c(out, behind);
}

static void append_limit(const struct upstream_entry *e, struct buf *out)
{
    if (e->wants_slots)
        buf_c(out, ", as many at a time as it has slots");
    else if (e->max_concurrency > 0)
        append_number(", at most ", e->max_concurrency, " at a time", out);
}

static void append_key(const struct upstream_entry *e, struct buf *out)
{
    if (!str_is_none(e->authorization))
        buf_c(out, ", with a key");
    else
        buf_c(out, e->pass_client_key ? ", with the client's key" : ", without a key");
}

static void append_rule(const struct upstream_entry *e, const struct upstream_model_rule *m,
                        struct buf *out)
{
    json_text_escape(m->name, out);
    if (!str_is_none(m->model)) {
        buf_c(out, " as ");
        json_text_escape(m->model, out);
    }
    if (m->tier != e->tier)
        append_number(" in tier ", m->tier, "", out);
    if (m->weight != e->weight)
        append_number(" with weight ", m->weight, "", out);
}

static void append_rules(const struct upstream_entry *e, struct buf *out)
{
    const char *before = "; serves ";

    for (size_t i = 0; i < e->n_models; i++) {
        buf_c(out, before);
        append_rule(e, &e->models[i], out);
        before = ", ";
    }
    if (e->serves_listed) {
        buf_c(out, before);
        buf_c(out, "what it lists");
    }
}

static void report_entry(const struct upstream_entry *e, struct buf *out)
{
    buf_c(out, "// upstream ");
    buf_append(out, e->name);
    buf_c(out, ": ");
    buf_append(out, e->base);
    append_number(", weight ", e->weight, "", out);
    append_number(", tier ", e->tier, "", out);
    append_limit(e, out);
    append_key(e, out);
    append_rules(e, out);
    buf_char(out, '\n');
}

static void report_defaults(const struct upstream_table *t, struct buf *out)
{
    const char *before = "// other models: ";

    for (size_t i = 0; i < t->n_defaults; i++) {
        buf_c(out, before);
        buf_append(out, t->entries[t->defaults[i]].name);
        before = ", ";
    }
    buf_c(out, t->n_defaults > 0 ? "\n" : "");
}

static void report_policy(const struct upstream_policy *p, struct buf *out)
{
    buf_c(out, "// policy of ");
    json_text_escape(p->name, out);
    buf_c(out, ": ");
    buf_append(out, routing_policy_text(p->kind));
    append_number(", queue_limit ", p->queue_limit, "", out);
    append_number(", queue_owner ", p->queue_owner, "", out);
    buf_c(out, ", queue_timeout ");
    buf_uint(out, p->queue_timeout_ms);
    buf_c(out, "ms\n");
}

static void report_file(const struct upstream_table *t, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++)
        report_entry(&t->entries[i], out);
    report_defaults(t, out);
    for (size_t i = 0; i < t->n_policies; i++)
        report_policy(&t->policies[i], out);
}

/* True when all have answered. */
static bool report_table(const struct upstream_table *t, bool is_probe, struct buf *out)
{
    bool have_answered = true;

    (void)signal(SIGPIPE, SIG_IGN);
    if (t->is_from_file)
        report_file(t, out);
    for (size_t i = 0; i < t->n; i++) {
        if (!str_is_none(t->entries[i].base)) /* the demo is always there */
            have_answered = report_upstream(t, &t->entries[i], is_probe, out) && have_answered;
    }
    return have_answered;
}

void upstream_report_show(const struct upstream_table *t, struct buf *out)
{
    (void)report_table(t, false, out);
}

bool upstream_report_probe(const struct upstream_table *t, struct buf *out)
{
    return report_table(t, true, out);
}
