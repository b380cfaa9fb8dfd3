/* server.h -- the daemon: threads, signals, start and end. */
#ifndef ANTIPHON_GATEWAY_SERVER_H
#define ANTIPHON_GATEWAY_SERVER_H

struct api_keys;
struct config;
struct mcp_config;

/* Runs until SIGINT or SIGTERM, then drains. servers, a reference that is taken, are the
 * MCP servers, or NULL; SIGHUP has them read again. Returns the exit status of the
 * process; what went wrong has been logged. Main thread, once. */
int server_run(const struct config *config, const struct api_keys *keys,
               struct mcp_config *servers);

#endif
