/* local_shell.h -- arguments of the function local_shell as the action of a
 * local_shell_call item (CONTRACT 1.2, 3.1). */
#ifndef ANTIPHON_RESPONSE_LOCAL_SHELL_H
#define ANTIPHON_RESPONSE_LOCAL_SHELL_H

#include "base/buf.h"

/* Appends {"type":"exec","command":[...],"env":{...},...}. Arguments that are
 * no such object become a command of one word, the text itself: it names no
 * program, so it runs nothing and the model learns of its mistake. */
void local_shell_action(str escaped_arguments, struct buf *out);

#endif
