/* gateway_call.h -- the gateway that runs with the configuration of a command, asked on the same machine. */
#ifndef ANTIPHON_CLI_GATEWAY_CALL_H
#define ANTIPHON_CLI_GATEWAY_CALL_H

#include "base/buf.h"
#include "cli/ask_once.h"
#include "config/config.h"

/* Appends the URL at which this machine reaches a path of a listener: one of all addresses at the
 * loopback one. False when it cannot be told, since the port is chosen at start, since connections have
 * to begin with a PROXY header, or since it is a descriptor.
 *
 *     :8080+metrics, /ready        http://127.0.0.1:8080/ready
 *     [::]:8443+tls, /ready        https://[::1]:8443/ready
 *     unix:/run/a.sock, /ready     unix:/run/a.sock:/ready */
bool gateway_url(const char *listen, const char *path, struct buf *out);

/* The listener to be asked, of those that have one of the marks (enum listen_mark), or with 0 of all; its URL is
 * appended. First come those that ask for no key because they are for this machine alone, then those
 * without TLS, which may want a certificate of its clients. NULL when there is none. */
const char *gateway_find(const struct config_list *listen, unsigned marks, const char *path,
                         struct buf *url);

/* Asks one of them. The method, URL and authorization are those of the question, which has no body. Returns
 * EXIT_SUCCESS when there is an answer, whatever it says, or EXIT_FAILURE after it has said on standard error
 * why there is none. Finish *ret with asked_fini() in any case.
 *
 * The certificate is not judged: it is that of the gateway itself, made for the name that its clients use.
 * While a host name is still looked up in vain the process ends here, since exit() would wait for that. */
int gateway_ask(const char *listen, const struct question *q, struct asked *ret);

#endif
