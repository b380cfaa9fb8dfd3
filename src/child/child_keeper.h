/* child_keeper.h -- a process that ends what children leave behind when the gateway is killed.
 *
 * Nobody can act at kill -9, so somebody must be left who does: a small copy of the gateway, started
 * with the first child that wants it. It is told which process groups there are, by each child itself
 * before it becomes its program, and hears of the gateway's death by the end of the connection. Then
 * it gives the groups a moment, since their input has ended as well, and sends SIGTERM, and SIGKILL.
 * PR_SET_PDEATHSIG would end the child, but not what it has started: `npx` and the like are only
 * launchers.
 *
 * A group whose number has been given to others since could be hit in theory. The gateway has its
 * group forgotten before it reaps the leader, and once the gateway is gone, a group that was seen to
 * be empty is not looked at again; all is over in less than two seconds.
 *
 * It holds no descriptor but its own, is no child of the gateway, and no signal but SIGKILL ends
 * it. Then another one is started for later children. Any thread. */
#ifndef ANTIPHON_CHILD_CHILD_KEEPER_H
#define ANTIPHON_CHILD_CHILD_KEEPER_H

#include <sys/types.h>

/* The descriptor at which groups are announced; starts the keeper. -1 when that fails: there is
 * none then. */
int child_keeper_fd(void);

/* Announces a process that leads its group, between fork and exec: async-signal-safe. fd may be
 * -1. */
void child_keeper_announce(int fd);

/* Tells the keeper that the group has ended. */
void child_keeper_forget(pid_t group);

#endif
