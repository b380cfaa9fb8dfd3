/* jail_delegate.h -- version 2: a group that may have others with limits below it.
 *
 * There is one rule more than in version 1: such a group has no processes itself, unless it is the
 * root of the tree. So ours has to leave it, and it must be the only one. */
#ifndef ANTIPHON_SANDBOX_JAIL_DELEGATE_H
#define ANTIPHON_SANDBOX_JAIL_DELEGATE_H

#include "base/err.h"
#include "sandbox/jail_tree.h"

/* Makes a group that may have others below it. tree is the group that the process is in; it becomes
 * the one to make groups in, which is another when the process has moved before. leaf is the name
 * of the group to move to; it becomes "" when that was not necessary. Returns 0, or -1 with *reterr
 * filled and all as it was. */
int jail_delegate(struct jail_tree *tree, char *leaf, struct err *reterr);

#endif
