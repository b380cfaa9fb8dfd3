/* upstream_report.c -- one look at the upstream, in comments. */
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

/* True when it has answered. */
static bool report_upstream(const struct config *c, bool is_probe, struct arena *a, struct buf *out)
{
    const str base = config_upstream_base(a, str_from_c(c->upstream));
    struct upstream_finding told = upstream_watch_told(c, base);
    struct upstream_facts *facts =
        upstream_watch_look(c, base, config_upstream_authorization(a, c));
    const bool has_answered = facts != NULL;

    buf_c(out, "// kind of the upstream: ");
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

static bool look_and_report(const struct config *c, bool is_probe, struct buf *out)
{
    struct arena a = {0};
    bool has_answered;

    if (c->upstream == NULL)
        return true; /* the demo is always there */
    (void)signal(SIGPIPE, SIG_IGN);
    has_answered = report_upstream(c, is_probe, &a, out);
    arena_fini(&a);
    return has_answered;
}

void upstream_report_show(const struct config *c, struct buf *out)
{
    (void)look_and_report(c, false, out);
}

bool upstream_report_probe(const struct config *c, struct buf *out)
{
    return look_and_report(c, true, out);
}
