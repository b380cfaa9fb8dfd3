/* mcp_visit.h -- MCP servers that are started for one command and ended with it.
 *
 *     run -> each server: ready or failed -> on_settled -> mcp_visit_end -> run returns
 *
 * A visit has a loop of its own and runs it on the calling thread. SIGINT and SIGTERM end
 * it in an orderly way, a second one at once. */
#ifndef ANTIPHON_CLI_MCP_VISIT_H
#define ANTIPHON_CLI_MCP_VISIT_H

#include "base/err.h"
#include "config/config.h"
#include "mcp/session/mcp_catalogue.h"
#include "mcp/session/mcp_session.h"

struct mcp_visit;

struct mcp_visited {
    const struct mcp_server_conf *conf;
    struct mcp_session *session; /* NULL: it is not started */
    struct mcp_catalogue *tools; /* NULL unless it is available */

    /* private */
    struct mcp_visit *visit;
    struct loop_message look;
    bool is_settled, is_stopped;
};

struct mcp_visit_handler {
    /* Called once, when every server that was started is ready or has failed. */
    void (*on_settled)(struct mcp_visit *v, void *arg);
    /* A signal ends the visit, in which sessions are stopped next. May be NULL. */
    void (*on_interrupt)(struct mcp_visit *v, void *arg);
};

/* Starts the servers of the table that can be, or only the one of that label when it is
 * not STR_NONE, and runs until mcp_visit_end(). Returns the status given to that, 130 or
 * 143 after a signal, or -1 with *reterr filled. */
int mcp_visit_run(const struct config *config, const struct mcp_config *servers, str label,
                  const struct mcp_visit_handler *handler, void *arg, struct err *reterr);

/* The servers of the visit, in the order of the file, started or not. */
size_t mcp_visit_count(const struct mcp_visit *v);
const struct mcp_visited *mcp_visit_server(const struct mcp_visit *v, size_t i);

/* Stops all sessions; their calls have been reported or cancelled. From on_settled or
 * later. Once. */
void mcp_visit_end(struct mcp_visit *v, int status);

#endif
