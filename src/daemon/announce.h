/* announce.h -- what a gateway says of itself when all its workers listen. */
#ifndef ANTIPHON_DAEMON_ANNOUNCE_H
#define ANTIPHON_DAEMON_ANNOUNCE_H

struct server;

/* Logs the addresses, the upstream and the store; for the demo prints how to ask it. Main thread. */
void announce_listening(const struct server *s);

#endif
