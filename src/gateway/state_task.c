/* state_task.c -- store tasks, counted by the worker they belong to. */
#include "gateway/state_task.h"

#include <stdlib.h>

#include "gateway/worker.h"

struct state_task {
    struct worker *worker;
    int (*work)(struct store_session *s, void *arg, struct err *reterr);
    void (*done)(void *arg, const struct err *failure);
    void *arg;
};

static int run_work(struct store_session *s, void *arg, struct err *reterr)
{
    const struct state_task *task = arg;

    return task->work(s, task->arg, reterr);
}

static void on_done(void *arg, const struct err *failure)
{
    struct state_task *task = arg;

    task->worker->n_store_tasks--;
    task->done(task->arg, failure);
    free(task);
}

bool state_task_start(struct worker *w, enum store_access access,
                      int (*work)(struct store_session *s, void *arg, struct err *reterr),
                      void (*done)(void *arg, const struct err *failure), void *arg)
{
    struct state_task *task = malloc(sizeof(*task));
    const struct store_task for_store = {
        .access = access, .work = run_work, .done = on_done, .arg = task, .loop = w->loop};

    if (task == NULL)
        return false;
    *task = (struct state_task){.worker = w, .work = work, .done = done, .arg = arg};
    if (!store_start(w->store, &for_store)) {
        free(task);
        return false;
    }
    w->n_store_tasks++;
    return true;
}
