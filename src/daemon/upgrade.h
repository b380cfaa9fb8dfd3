/* upgrade.h -- SIGUSR2: the program is started anew, and takes the place of this process
 * (OPERATIONS 7.5).
 *
 *     none --start--> WAITING --ready--> this process hands over, and drains to its end
 *                        |  \--fails---> none: this process goes on
 *                        '--30 s-------> ENDING --it has ended--> none
 *
 * The new process has the same arguments and environment, and the sockets, which both listen on until this
 * one closes them: nobody is refused. Main thread. */
#ifndef ANTIPHON_DAEMON_UPGRADE_H
#define ANTIPHON_DAEMON_UPGRADE_H

#include "base/err.h"

struct server;
struct upgrade;

/* NULL with *reterr filled. */
struct upgrade *upgrade_new(struct server *s, struct err *reterr);

/* Nothing is heard of the new process any more; before the loop is freed. NULL is fine. */
void upgrade_close(struct upgrade *u);

/* When the loop has been freed, which ends the closing of handles. NULL is fine. */
void upgrade_free(struct upgrade *u);

/* What comes of it is in the log. One at a time. */
void upgrade_start(struct upgrade *u);

/* This process ends: the other one as well, unless it has taken over. */
void upgrade_abandon(struct upgrade *u);

/* ---- in the new process */

/* Lets the process that is replaced know, if there is one: why is NULL when all is ready. */
void upgrade_report(struct server *s, const char *why);

#endif
