/* server.h -- the daemon: threads, signals, start and end. */
#ifndef ANTIPHON_DAEMON_SERVER_H
#define ANTIPHON_DAEMON_SERVER_H

struct api_keys;
struct config;
struct config_sources;
struct mcp_config;
struct trace_conf;

/* Runs until SIGINT or SIGTERM, then drains. servers, a reference that is taken, are the
 * MCP servers, or NULL; SIGHUP has them and the keys read again, the latter from what
 * the configuration was made from. traces outlives it. Returns the exit status of the process; what went wrong
 * has been logged. Main thread, once. */
int server_run(const struct config *config, const struct config_sources *sources,
               const struct api_keys *keys, struct mcp_config *servers,
               const struct trace_conf *traces);

#endif
