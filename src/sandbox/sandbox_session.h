/* sandbox_session.h -- one process that runs code, and what it is asked.
 *
 *     new -> (ready) -> call ... call -> on_end -> on_closed
 *
 * Calls may be made before the process is ready, and wait until it is. One call at a time runs
 * code; the others go on meanwhile. Code that runs for too long, or that nobody waits for, is
 * interrupted, and 2 s later the process is killed. It is also killed when it does not speak the
 * protocol.
 *
 * Knows processes, not sandboxes: what it runs is given as a command. Everything runs on the
 * loop's thread; callbacks come from the loop, or from sandbox_session_kill(). */
#ifndef ANTIPHON_SANDBOX_SANDBOX_SESSION_H
#define ANTIPHON_SANDBOX_SANDBOX_SESSION_H

#include "child/child_spawn.h"
#include "ev/loop.h"
#include "sandbox/sandbox_message.h"

struct sandbox_session;
struct sandbox_call;

/* The time that a process gets to die of SIGKILL: many may do so at once. */
enum { SANDBOX_DEATH_MS = 10000 };

/* Texts must live until on_closed. */
struct sandbox_session_conf {
    const char *label; /* in the log */
    struct child_command command;
    str container_id; /* of which the ids of its files are made */
    struct sandbox_limits limits;
    uint64_t run_timeout_ms;
};

struct sandbox_session_handler {
    /* Called once, unless the session was killed: it is of no more use. Calls fail after this.
     * Detail is for the log: why it has ended, and what it has said before; dies when it returns.
     */
    void (*on_end)(void *arg, enum sandbox_failure failure, str detail);
    /* Called once, last: nothing is left of the process, and the session is gone. */
    void (*on_closed)(void *arg);
    /* Called before the process is asked anything: process, which will not be reaped before
     * on_closed, has become what it is to be. NULL: nobody needs to know. */
    void (*on_ready)(void *arg, pid_t process);
};

/* Starts a process, or returns NULL with *reterr filled when none can be made; then no callback
 * follows. */
struct sandbox_session *sandbox_session_new(struct loop *loop,
                                            const struct sandbox_session_conf *conf,
                                            const struct sandbox_session_handler *handler,
                                            void *arg, struct err *reterr);

/* Ends the process at once; its calls fail with failure. on_closed follows. Killing it again
 * changes nothing. */
void sandbox_session_kill(struct sandbox_session *s, enum sandbox_failure failure, str message);

/* True while code runs, perhaps code that nobody waits for any more. */
bool sandbox_session_is_running(const struct sandbox_session *s);

/* The version of Python, "3.11.2"; "" before the process is ready. */
str sandbox_session_python(const struct sandbox_session *s);

/* ---- calls */

struct sandbox_call_conf {
    enum sandbox_op op;   /* SANDBOX_RUN, SANDBOX_LIST_FILES or SANDBOX_READ_FILE */
    str code;             /* RUN, when nothing else runs */
    str path;             /* READ_FILE: relative */
    struct arena *memory; /* of the outcome; lives until on_done, or until it is cancelled */
    /* Called once; the call is gone then. is_alive tells whether the session goes on. */
    void (*on_done)(void *arg, const struct sandbox_outcome *outcome);
    void *arg;
};

/* Makes a call, or returns NULL with *reterr filled when the session takes no more. */
struct sandbox_call *sandbox_session_call(struct sandbox_session *s,
                                          const struct sandbox_call_conf *conf, struct err *reterr);

/* Cancels a call, whose outcome nobody waits for any more. Code that runs is interrupted, and
 * on_done follows when it has ended, without an outcome worth reading; for other calls nothing
 * follows. */
void sandbox_call_cancel(struct sandbox_call *call);

#endif
