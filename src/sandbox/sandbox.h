/* sandbox.h -- containers: Python sessions in sandboxes, on a thread of their own (CONTRACT 1.2,
 * docs/tools.md).
 *
 * A container is what code_interpreter calls name: an id, an owner, variables that stay from one
 * call to the next, and files in /mnt/data. Its process is started by the first task that needs
 * it. It ends when it was not used for its idle time, when it is deleted, when another takes its
 * place, or when its process dies; then the container is gone, and its id is unknown.
 *
 * Everything may be called from any thread unless it says otherwise. Bytes that come out of a
 * sandbox are a stranger's: every length is checked, text is made valid UTF-8. */
#ifndef ANTIPHON_SANDBOX_SANDBOX_H
#define ANTIPHON_SANDBOX_SANDBOX_H

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "ev/loop.h"
#include "sandbox/egress_policy.h"
#include "sandbox/jail.h"

struct sandbox_hub;
struct sandbox_task;

/* Texts must outlive the hub. */
struct sandbox_conf {
    struct jail_conf jail;
    uint64_t run_timeout_ms, idle_ms;
    size_t memory_bytes;
    size_t output_bytes;                    /* of what code prints, and of its result each */
    size_t image_bytes;                     /* of one that a run hands over; 0: none are */
    size_t file_bytes;                      /* of one that is fetched at once */
    unsigned max_containers, max_per_owner; /* that of owner "" may have all */
    unsigned max_file_requests, max_file_requests_per_owner; /* at a time; the same */
    const struct egress_policy *egress; /* what code may reach; NULL: nothing. Outlives the hub;
                                               jail.has_egress is the hub's to set */
    unsigned max_connections, max_connections_per_owner; /* of that; 0: egress.h */
};

/* Starts the thread, and a sandbox that has to run a line of code before this returns. NULL with
 * *reterr filled, nothing left running: the message says what does not work here, and what helps.
 */
struct sandbox_hub *sandbox_hub_new(const struct sandbox_conf *conf, struct err *reterr);

/* Ends all sandboxes, and the thread. No task may be under way. NULL is fine. False when something
 * could not be ended; then the process is to be left by _exit(). */
bool sandbox_hub_free(struct sandbox_hub *hub);

/* Appends one line about what it runs with, for the log. */
void sandbox_hub_describe(const struct sandbox_hub *hub, struct buf *out);

/* Appends what cannot be promised on this machine, as jail_shortfalls() does. */
size_t sandbox_hub_shortfalls(const struct sandbox_hub *hub, struct buf *out);

/* True when the container exists, for this owner. Takes a lock for a moment. A container that
 * exists now may be gone a moment later. */
bool sandbox_hub_has(struct sandbox_hub *hub, str owner, str container_id);

/* ---- requests for files
 *
 * Who asks for files of containers enters before, and leaves when the whole answer has left. */

/* Takes a place for a request. SANDBOX_OK, or why there is no room: SANDBOX_BUSY when the owner has
 * its share of requests under way, SANDBOX_FULL when all together have. Takes a lock for a moment.
 */
enum sandbox_failure sandbox_files_enter(struct sandbox_hub *hub, str owner);

/* Gives a place back: once for each that was taken. */
void sandbox_files_leave(struct sandbox_hub *hub, str owner);

/* ---- tasks
 *
 * A task reports once, on the loop it was started from, unless it was cancelled before; then it is
 * gone. The hub may still have to do with cancelled ones: that loop must run, and the hub live,
 * until it expects nothing (loop_n_expected()). Tasks of one container that run code wait for each
 * other; the others do not. */

enum sandbox_op {
    SANDBOX_RUN,    /* code */
    SANDBOX_CREATE, /* the container, without starting its process */
    SANDBOX_FIND,   /* the container */
    SANDBOX_LIST,   /* all containers of the owner, oldest first */
    SANDBOX_DELETE, /* the container */
    SANDBOX_LIST_FILES,
    SANDBOX_READ_FILE, /* file_id */
};

/* Copied. */
struct sandbox_request {
    enum sandbox_op op;
    str owner;           /* "" when nobody is asked who they are */
    str container_id;    /* all but LIST */
    bool may_create;     /* RUN: the container is new if it does not exist */
    str code;            /* RUN: plain UTF-8 */
    str name;            /* of a container that is made, like the next two */
    uint64_t idle_ms;    /* 0 or more than the configured: that */
    size_t memory_bytes; /* the same */
    str file_id;         /* READ_FILE */
};

/* Why a task came to nothing. */
enum sandbox_failure {
    SANDBOX_OK,
    SANDBOX_TIMED_OUT, /* interrupted; the container lives on if is_alive */
    SANDBOX_DIED,      /* its process ended, by itself or for its use of memory */
    SANDBOX_NOT_FOUND, /* no such container, or no longer */
    SANDBOX_NO_FILE,
    SANDBOX_TOO_LARGE, /* the file */
    SANDBOX_FULL,      /* all containers are busy, or all places for requests are taken */
    SANDBOX_BUSY,      /* those of the owner are */
    SANDBOX_BROKEN,    /* it could not be started, or did not speak the protocol */
};

struct sandbox_container {
    str id, name;
    int64_t created_at, last_active_at; /* seconds since 1970 */
    uint64_t idle_ms;
    size_t memory_bytes;
};

struct sandbox_file {
    str id;   /* cfile_..., the same for the same path of the same container */
    str path; /* absolute, below /mnt/data */
    uint64_t bytes;
    int64_t modified_at;
};

struct sandbox_image {
    str mime; /* image/png ... */
    str path; /* the file it is; "" when it has none */
    str base64;
};

/* What came of a task; views die with the report. */
struct sandbox_outcome {
    enum sandbox_failure failure;
    str message; /* plain: what failed, for the model or client; "" when nothing did */
    bool is_alive;
    /* RUN */
    str logs;       /* stdout and stderr in their order, and the traceback of an exception */
    str value;      /* repr() of the last expression; STR_NONE: it had none, or None */
    bool is_raised; /* an exception ended it */
    const struct sandbox_image *images;
    size_t n_images;
    /* RUN: those that are new or have changed; LIST_FILES: all; READ_FILE: that one */
    const struct sandbox_file *files;
    size_t n_files;
    /* CREATE, FIND, LIST, DELETE */
    const struct sandbox_container *containers;
    size_t n_containers;
    str content; /* READ_FILE: the bytes */
};

struct sandbox_handler {
    void (*on_done)(void *arg, const struct sandbox_outcome *outcome);
};

/* Starts a task, or returns NULL with *reterr filled when out of memory. */
struct sandbox_task *sandbox_start(struct sandbox_hub *hub, struct loop *loop,
                                   const struct sandbox_request *request,
                                   const struct sandbox_handler *handler, void *arg,
                                   struct err *reterr);

/* Cancels a task that has not reported, on the thread of its loop: no report follows. Code that
 * runs is interrupted, and its sandbox ended if that does not help. */
void sandbox_cancel(struct sandbox_task *task);

#endif
