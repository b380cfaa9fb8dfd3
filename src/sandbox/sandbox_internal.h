/* sandbox_internal.h -- what the files of the hub share.
 *
 *     sandbox_hub.c      the thread and its loop, start and end
 *     sandbox_table.c    the containers there are: found, made, given up for others, expired
 *     sandbox_box.c      one container: its process, the code that waits for it, its idle time
 *     sandbox_task.c     what workers ask for: posted, reported, cancelled
 *     sandbox_work.c     what is done for each of the things that they can ask for
 *     sandbox_share.c    how many requests for files are under way, and whose
 *     sandbox_egress.c   the proxy, if code may reach anything
 *     sandbox_probe.c    a line of code at the start: do sandboxes work here?
 *     sandbox_session.h  one process that runs code
 *     sandbox_message.h  what is said to it, and what it says
 *
 * Everything here runs on the hub's thread unless it says otherwise. */
#ifndef ANTIPHON_SANDBOX_SANDBOX_INTERNAL_H
#define ANTIPHON_SANDBOX_SANDBOX_INTERNAL_H

#include "ev/errand.h"
#include "sandbox/egress.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_session.h"

/* A container. On one list of the hub: boxes, or leaving. */
struct box {
    struct sandbox_hub *hub;
    struct box *next;
    struct arena memory;
    str owner;
    struct sandbox_container view; /* its texts are in memory */
    uint64_t used;                 /* of the hub's uses, its last */
    struct loop_timer *idle_timer; /* runs while it is idle */
    bool is_leaving;
    bool is_trial; /* of sandbox_probe(): nobody's container, and not counted */
    bool is_ready; /* its process has become what it is to be */

    struct sandbox_session *session; /* NULL: not started, or all of it has gone */
    struct jail_cell cell;           /* of the session */
    struct id name;                  /* of the cell */
    struct egress_door *door;        /* of the cell, or NULL */

    struct sandbox_task *running; /* NULL: nothing runs, or nobody waits for it */
    struct sandbox_task *waiting; /* to run, oldest first */
    size_t n_reading;             /* tasks that list or read files */
};

struct sandbox_hub {
    struct sandbox_conf conf;
    struct jail *jail;
    struct loop *loop;
    uv_thread_t thread;

    uv_mutex_t lock;   /* guards boxes for sandbox_hub_has(), and shares; nothing else is taken
                        under it */
    struct box *boxes; /* newest first */
    struct box *leaving;

    struct share *shares; /* of owners who have requests for files under way */
    unsigned n_file_requests;

    uint64_t n_uses; /* of all boxes */

    /* Findings for sandbox_probe(), which reads them when its task has reported; then they do not
     * change any more. */
    bool is_tried;
    struct buf python; /* its version */
    struct buf detail; /* why a sandbox has failed */

    struct egress_proxy *egress; /* or NULL */

    struct loop_message end;
    struct loop_timer *end_timer;
    bool is_ending;
};

/* A task, or what has become of it. */
struct sandbox_task {
    struct sandbox_hub *hub;
    struct errand errand;

    /* of the worker's thread */
    const struct sandbox_handler *handler;
    void *arg;

    /* written before begin */
    struct arena memory;
    struct sandbox_request request; /* its texts are in memory */

    /* of the hub's thread */
    struct sandbox_task *next; /* that waits for the same container */
    struct box *box;           /* whose session the call is of */
    struct sandbox_call *call;

    /* written before the report; its texts are in memory */
    struct sandbox_outcome outcome;
};

/* ---- sandbox_hub.c */

/* Frees a box that was leaving, once nothing is left of it. */
void sandbox_hub_left(struct sandbox_hub *hub, struct box *b);

/* ---- sandbox_egress.c */

enum { SANDBOX_EGRESS_PATH_BYTES = 108 };

/* Returns 0, or -1 with *reterr filled. */
int sandbox_egress_open(struct sandbox_hub *hub, struct err *reterr);

/* Opens a way out for a box, if there is one: its door, with the path of the socket in ret_path;
 * else "". Returns 0, or -1 with *reterr filled. On the hub's thread. */
int sandbox_egress_open_door(struct box *b, char ret_path[SANDBOX_EGRESS_PATH_BYTES],
                             struct err *reterr);

/* ---- sandbox_table.c */

/* The container of this owner, or NULL. */
struct box *sandbox_table_find(const struct sandbox_hub *hub, str owner, str container_id);

/* Makes a container, and room for it. NULL with the failure of an outcome when that cannot be. */
struct box *sandbox_table_add(struct sandbox_hub *hub, const struct sandbox_request *request,
                              enum sandbox_failure *ret_failure);

/* Takes a container out of the table and ends it. Not for one that is leaving. */
void sandbox_table_remove(struct box *b, enum sandbox_failure failure, str message,
                          const char *why);

/* ---- sandbox_box.c */

/* Makes a box that is on no list; NULL when out of memory. */
struct box *sandbox_box_new(struct sandbox_hub *hub, const struct sandbox_request *request);

/* Frees a box without a session. */
void sandbox_box_free(struct box *b);

/* True when the box runs nothing, reads nothing, and nothing waits for it. */
bool sandbox_box_is_idle(const struct box *b);

/* Notes that the box was used: its idle time starts anew. */
void sandbox_box_used(struct box *b);

/* Runs the code of the task, after that which waits already. */
void sandbox_box_run(struct box *b, struct sandbox_task *t);

/* Asks the session of the box, which it must have; the task fails if that cannot be. */
void sandbox_box_read(struct box *b, struct sandbox_task *t, const struct sandbox_call_conf *conf);

/* Notes that a task that reads has its answer. */
void sandbox_box_has_read(struct box *b, struct sandbox_task *t);

/* Takes a task away that waits or runs. */
void sandbox_box_forget(struct box *b, struct sandbox_task *t);

/* Ends the process of the box. Tasks that wait for it begin again, or fail when failure is
 * SANDBOX_NOT_FOUND. sandbox_hub_left() follows, at once or later. */
void sandbox_box_leave(struct box *b, enum sandbox_failure failure, str message);

/* ---- sandbox_work.c */

/* Does what the task asks, at once or later. */
void sandbox_work_begin(struct sandbox_task *t);

/* Gives up a task that has not ended yet and that nobody waits for any more. */
void sandbox_work_abort(struct sandbox_task *t);

/* ---- sandbox_probe.c */

/* Runs a line of code and waits for it, on the thread that makes the hub. Returns 0, or -1 with
 * *reterr filled. */
int sandbox_probe(struct sandbox_hub *hub, struct err *reterr);

/* ---- sandbox_task.c */

/* Report a task, which belongs to its worker again. Texts of the outcome are in its memory, or
 * constant; the message is copied. */
void sandbox_task_end(struct sandbox_task *t, const struct sandbox_outcome *outcome);
void sandbox_task_fail(struct sandbox_task *t, enum sandbox_failure failure, str message);

#endif
