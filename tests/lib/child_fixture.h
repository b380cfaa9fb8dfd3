/* child_fixture.h -- server processes for tests of child, mostly a line of
 * shell.
 *
 * A test starts a server, states what it waits for with STDIO_UNTIL() and looks at
 * what was noted. A watchdog ends the process when a test waits in vain. When a
 * test ends, its servers have to be closed and no child may be left. */
#ifndef ANTIPHON_TESTS_LIB_CHILD_FIXTURE_H
#define ANTIPHON_TESTS_LIB_CHILD_FIXTURE_H

#include "child/child.h"
#include "lib/test.h"

/* A server and what it did. */
struct served {
    struct child *stdio; /* NULL once closed */
    void *arg;           /* the test's own */
    pid_t pid;
    struct buf lines;  /* each with a | behind it */
    struct buf last;   /* its last lines of standard error, as of on_exit */
    struct buf reason; /* of its end */
    unsigned n_exits, n_closed;
    bool was_asked;
    int start_errno, signal;
    bool (*on_line)(struct served *s, str line); /* NULL: the line is noted */
    void (*on_closed)(struct served *s);         /* or NULL */
};

struct child_fixture {
    struct loop *loop;
    struct loop_timer *watchdog;
    /* May be changed before a start. Its grace is so long that only servers which end
     * by themselves end in time; see STDIO_SHORT_GRACE_MS. */
    struct child_conf conf;
    struct served server; /* the usual one */
    int log_fd;           /* of a file with what was logged, see stdio_log_start() */
    int stderr_fd;        /* the real one meanwhile, or -1 */
};

/* For servers that have to be ended. */
enum { STDIO_SHORT_GRACE_MS = 20 };

extern struct child_fixture sfx;

int child_fixture_setup(void **state);
int child_fixture_teardown(void **state);

#define STDIO_TEST(test)                                                                           \
    cmocka_unit_test_setup_teardown(test, child_fixture_setup, child_fixture_teardown)

#define STDIO_UNTIL(condition)                                                                     \
    while (!(condition))                                                                           \
    (void)uv_run(loop_uv(sfx.loop), UV_RUN_ONCE)

/* Starts argv, which ends with NULL, or a script of sh. False as child_start(). */
bool served_start(struct served *s, struct loop *loop, const char *const *argv, struct err *reterr);
void stdio_serve(const char *script);

void served_fini(struct served *s);

/* Waits for on_closed. */
void served_until_closed(struct served *s);

/* The server has ended so. */
void assert_reason(const struct served *s, const char *expected);

/* The number in its first line. */
pid_t served_number(const struct served *s);

/* Does a process run? A zombie does not. */
bool process_runs(pid_t pid);

/* From now on the log goes to a file; returns what it holds, in the buf. */
void stdio_log_start(void);
void stdio_log_read(struct buf *out);

/* How many descriptors are open. */
size_t count_descriptors(void);

#endif
