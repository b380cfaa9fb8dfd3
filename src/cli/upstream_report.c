/* upstream_report.c -- one look at the upstream, in a comment. */
#include "cli/upstream_report.h"

#include <signal.h>

#include "upstream/upstream_watch.h"

static void report_window(const struct upstream_facts *facts, struct buf *out)
{
    if (facts->context_window == 0)
        return;
    buf_c(out, ", context window ");
    buf_int(out, facts->context_window);
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

static void report_upstream(const struct config *c, struct arena *a, struct buf *out)
{
    const str base = config_upstream_base(a, str_from_c(c->upstream));
    struct upstream_finding told = upstream_watch_told(c, base);
    struct upstream_facts *facts =
        upstream_watch_look(c, base, config_upstream_authorization(a, c));

    buf_c(out, "// kind of the upstream: ");
    if (facts != NULL) {
        report_finding(&facts->finding, out);
        report_window(facts, out);
    } else if (told.certainty != UPSTREAM_UNKNOWN) {
        report_finding(&told, out);
    } else if (c->upstream_probe_timeout_ms == 0) {
        buf_c(out, "generic: upstream_probe_timeout is 0, so it is not asked");
    } else {
        buf_c(out, "generic until it answers: the upstream could not be reached");
    }
    buf_char(out, '\n');
    upstream_facts_unref(facts);
}

void upstream_report_show(const struct config *c, struct buf *out)
{
    struct arena a = {0};

    if (c->upstream == NULL)
        return;
    (void)signal(SIGPIPE, SIG_IGN);
    report_upstream(c, &a, out);
    arena_fini(&a);
}
