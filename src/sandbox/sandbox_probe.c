/* sandbox_probe.c -- tries at the start whether a sandbox runs a line of code here.
 *
 * The hub is asked as every worker asks it, by a loop that lives as long as the question. */
#include "sandbox/sandbox_internal.h"

struct probe {
    struct err *reterr;
    const struct sandbox_hub *hub;
    bool works;
};

static void explain_failure(const struct probe *p, str message)
{
    struct buf advice = {.limit = 0};
    str detail = buf_str(&p->hub->detail);

    jail_advise(&advice);
    err_set(p->reterr, ERR_INTERNAL, "%.*s %.*s%s%.*s", STR_ARG(message), STR_ARG(detail),
            advice.len > 0 ? "; " : "", STR_ARG(buf_str(&advice)));
    buf_fini(&advice);
}

/* Code that runs out of its time here runs all the same. */
static void on_run(void *arg, const struct sandbox_outcome *outcome)
{
    struct probe *p = arg;

    p->works = (outcome->failure == SANDBOX_OK && str_eq(outcome->value, STR("42"))) ||
               (outcome->failure == SANDBOX_TIMED_OUT && outcome->is_alive);
    if (p->works)
        return;
    explain_failure(p, outcome->failure == SANDBOX_OK ? STR("The sandbox miscalculates.")
                                                      : outcome->message);
}

static void on_deleted(void *arg, const struct sandbox_outcome *outcome)
{
    (void)arg;
    (void)outcome;
}

/* Runs a task. Returns 0 when it has reported, whatever came of it. */
static int run_request(struct sandbox_hub *hub, struct loop *loop,
                       const struct sandbox_request *request, const struct sandbox_handler *handler,
                       struct probe *p)
{
    if (sandbox_start(hub, loop, request, handler, p, p->reterr) == NULL)
        return -1;
    while (loop_n_expected(loop) > 0)
        (void)uv_run(loop_uv(loop), UV_RUN_ONCE);
    return 0;
}

int sandbox_probe(struct sandbox_hub *hub, struct err *reterr)
{
    static const struct sandbox_handler on_probe = {on_run}, on_delete = {on_deleted};
    struct sandbox_request request = {
        .op = SANDBOX_RUN, .container_id = STR("probe"), .may_create = true, .code = STR("6 * 7")};
    struct probe p = {.reterr = reterr, .hub = hub};
    struct loop *loop = loop_new(reterr);
    int rc;

    if (loop == NULL)
        return -1;
    rc = run_request(hub, loop, &request, &on_probe, &p);
    request.op = SANDBOX_DELETE;
    if (rc == 0 && p.works)
        rc = run_request(hub, loop, &request, &on_delete, &p);
    loop_free(loop);
    hub->is_tried = true;
    return rc == 0 && p.works ? 0 : -1;
}
