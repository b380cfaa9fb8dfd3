/* mcp_outcome.c -- what came of a call, as the texts that a turn needs.
 *
 * Secrets are taken out of what a failure is written from, not of what is written: a text
 * is cut, and half a secret would not be found; and in JSON a secret may be escaped, or
 * its removal may leave something that is no JSON (MCP 16.6). */
#include "mcp/hub/mcp_hub_internal.h"
#include "mcp/proto/mcp_redact.h"

static void write_failure(struct hub_outcome *o, const struct mcp_failure *failure, str label,
                          const struct secrets *secrets)
{
    struct buf message = {0}, content = {0}, structured = {0};
    struct mcp_failure shown = *failure;
    struct mcp_call_result result;

    secrets_hide(secrets, failure->message, &message);
    shown.message = buf_str(&message);
    shown.label = label;
    if (failure->result != NULL) {
        result = *failure->result;
        result.content = mcp_redact_content(secrets, result.content, &content);
        result.structured = mcp_redact_structured(secrets, result.structured, &structured);
        shown.result = &result;
    }
    mcp_failure_text(&shown, &o->error);
    mcp_failure_object(&shown, &o->error_object);
    o->error.failed |= buf_failed(&message) || buf_failed(&content) || buf_failed(&structured);
    buf_fini(&message);
    buf_fini(&content);
    buf_fini(&structured);
}

static bool lacks_memory(const struct hub_outcome *o)
{
    return buf_failed(&o->output) || buf_failed(&o->error) || buf_failed(&o->error_object);
}

void hub_outcome_write(struct hub_outcome *o, const struct mcp_failure *failure,
                       const struct mcp_call_result *result, str label,
                       const struct secrets *secrets, const struct mcp_result_options *options)
{
    o->is_failed = failure != NULL;
    o->cause = failure == NULL ? MCP_FAILED_TOOL : failure->cause;
    o->code = failure != NULL ? failure->code : 0;
    if (failure != NULL)
        write_failure(o, failure, label, secrets);
    else
        mcp_result_write(result, options, &o->output);
    if (lacks_memory(o)) {
        hub_outcome_fini(o);
        o->is_failed = true;
    }
}

void hub_outcome_fini(struct hub_outcome *o)
{
    buf_fini(&o->output);
    buf_fini(&o->error);
    buf_fini(&o->error_object);
    *o = (struct hub_outcome){.is_failed = false};
}
