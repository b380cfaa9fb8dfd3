/* jail_cgroup.h -- a control group for each sandbox: what all its processes may use together.
 *
 * Version 2 has one tree for everything, version 1 one for each controller. Groups are made below
 * the one that the gateway is in:
 *
 *     v2   G                                    v1   memory/G
 *          +- antiphon.PID.START.gateway             +- antiphon.PID.START.N.NAME
 *          +- antiphon.PID.START.N.NAME              pids/G
 *          +- ...                                    +- antiphon.PID.START.N.NAME ...
 *
 * In version 2 a group that has others below it, with limits, cannot have processes itself, so the
 * gateway moves into one of its own there. It does not move others: when there are any in G, there
 * are no groups. What systemd calls Delegate=yes is as it should be.
 *
 * A name says whose group it is, by the number of the process and when that was started, so that
 * what a killed gateway has left can be told from what another one uses. jail_sweep.h removes
 * groups. */
#ifndef ANTIPHON_SANDBOX_JAIL_CGROUP_H
#define ANTIPHON_SANDBOX_JAIL_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sandbox/jail.h"

struct jail_groups;

struct jail_group_limits {
    size_t memory_bytes; /* with files in memory; nothing of it is swapped out */
    unsigned max_processes;
    unsigned cpu_percent; /* of one processor */
};

/* Finds out whether groups can be made, by making one. NULL with the reason in *reterr. Any thread,
 * but others must not start processes meanwhile. */
struct jail_groups *jail_groups_new(struct err *reterr);

/* Frees the groups after the last one was closed; waits until all are gone. NULL is fine. */
void jail_groups_free(struct jail_groups *groups);

/* The version of control groups, 1 or 2. */
unsigned jail_groups_version(const struct jail_groups *groups);

/* Makes a group and opens what a process joins it by, at most JAIL_MAX_JOIN_FDS descriptors. Writes
 * the name of the group to ret_group. Returns 0, or -1 with *reterr filled and nothing left. Any
 * thread. */
int jail_group_open(struct jail_groups *groups, const char *name,
                    const struct jail_group_limits *limits, char ret_group[JAIL_GROUP_BYTES],
                    int ret_fds[JAIL_MAX_JOIN_FDS], size_t *ret_n_fds, struct err *reterr);

/* Kills what is left in the group and removes it, soon. Any thread. */
void jail_group_close(struct jail_groups *groups, const char *group);

#endif
