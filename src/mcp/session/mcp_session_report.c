/* mcp_session_report.c -- what a session says in the log, without secrets (MCP 16.6). */
#include "base/utf8.h"
#include "ev/log.h"
#include "json/json_text.h"
#include "mcp/session/mcp_session_internal.h"

void mcp_report_text(const struct mcp_session *s, str text, struct buf *out)
{
    secrets_hide(&s->secrets, text, out);
}

void mcp_report_ready(const struct mcp_session *s, size_t n_tools)
{
    log_line(
        LOG_INFO, "mcp_ready",
        (struct log_field[]){LOG_STR("server", s->conf.server->label),
                             LOG_STR("transport", str_from_c(mcp_transport_name(s->transport))),
                             LOG_STR("version", mcp_version_name(s->version)),
                             LOG_INT("tools", n_tools), LOG_END});
}

void mcp_report_lost(const struct mcp_session *s, uint64_t again_ms)
{
    struct log_field fields[] = {LOG_STR("server", s->conf.server->label),
                                 LOG_STR("state", str_from_c(mcp_state_name(s->state))),
                                 LOG_STR("reason", buf_str(&s->error)),
                                 LOG_INT("again_ms", again_ms), LOG_END};

    if (s->conf.starts_once)
        fields[3].key = NULL;
    log_line(LOG_INFO, "mcp_lost", fields);
}

void mcp_report_degraded(const struct mcp_session *s)
{
    log_line(LOG_INFO, "mcp_listing_failed",
             (struct log_field[]){LOG_STR("server", s->conf.server->label),
                                  LOG_STR("reason", buf_str(&s->error)), LOG_END});
}

/* ---- what the link tells */

void mcp_report_failure(const struct mcp_session *s, enum mcp_method method,
                        const struct mcp_link_failure *why)
{
    struct buf text = {.limit = 0};

    if (!log_is_on(LOG_DEBUG))
        return;
    mcp_report_text(s, why->message, &text);
    log_line(LOG_DEBUG, "mcp_failure",
             (struct log_field[]){LOG_STR("server", s->conf.server->label),
                                  LOG_STR("method", method == MCP_METHOD_COUNT
                                                        ? STR_NONE
                                                        : str_from_c(mcp_method_name(method))),
                                  LOG_INT("status", why->http_status),
                                  LOG_STR("reason", buf_str(&text)), LOG_END});
    buf_fini(&text);
}

/* ---- what the server tells */

void mcp_report_message(struct mcp_session *s, const struct mcp_notice *n)
{
    enum { TEXT_BYTES = 4096 };
    struct buf text = {.limit = 0};
    uint64_t n_left_out;

    if (!log_is_on(LOG_DEBUG) ||
        !log_rate_take(&s->message_rate, loop_now_ms(s->loop), &n_left_out))
        return;
    /* Cut twice: what is left at the first cut of a secret would not be known for one. */
    mcp_report_text(s, str_from(n->text.p, utf8_cut(n->text, 2 * TEXT_BYTES)), &text);
    text.len = utf8_cut(buf_str(&text), TEXT_BYTES);
    log_line(LOG_DEBUG, "mcp_message",
             (struct log_field[]){LOG_STR("server", s->conf.server->label),
                                  LOG_STR("level", n->level), LOG_STR("text", buf_str(&text)),
                                  LOG_INT("left_out", n_left_out), LOG_END});
    buf_fini(&text);
}

/* Logs an answer that nobody waits for, or not any more. */
void mcp_report_late(struct mcp_session *s, const struct jsonrpc_message *m)
{
    struct log_field fields[] = {LOG_STR("server", s->conf.server->label),
                                 LOG_INT("id", m->id.number), LOG_END};
    uint64_t n_left_out;

    if (m->id.kind != JSONRPC_ID_INT)
        fields[1].key = NULL;
    if (log_is_on(LOG_DEBUG) && log_rate_take(&s->message_rate, loop_now_ms(s->loop), &n_left_out))
        log_line(LOG_DEBUG, "mcp_late_answer", fields);
}

/* ---- tools left out */

static str next_text(str *rest)
{
    str text = str_from(rest->p, str_find_char(*rest, '\0'));

    *rest = str_skip(*rest, text.len + 1);
    return text;
}

static void report_drop(const struct mcp_session *s, str name, str why)
{
    struct buf plain = {.limit = 0};

    json_text_decode(name, &plain);
    log_line(LOG_WARN, "mcp_tool_left_out",
             (struct log_field[]){LOG_STR("server", s->conf.server->label),
                                  LOG_STR("tool", buf_str(&plain)), LOG_STR("reason", why),
                                  LOG_END});
    buf_fini(&plain);
}

/* Tools left out are logged once, not with each listing that leaves out the same. */
void mcp_report_drops(struct mcp_session *s)
{
    struct buf now = s->list.drops;
    str rest = buf_str(&now);

    if (str_eq(rest, buf_str(&s->list.drops_logged)))
        return;
    while (rest.len > 0) {
        str name = next_text(&rest);

        report_drop(s, name, next_text(&rest));
    }
    s->list.drops = s->list.drops_logged;
    s->list.drops_logged = now;
}
