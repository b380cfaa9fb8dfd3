/* errand.c -- a message for each arrow of the picture in errand.h, so none waits for another. */
#include "ev/errand.h"

#include <assert.h>

/* ---- at home: the end */

static void on_report(void *arg)
{
    struct errand *e = arg;

    if (e->is_cancelled)
        return; /* its release ends the errand instead */
    loop_receive(e->home);
    e->kind->report(e->task);
}

static void on_release(void *arg)
{
    struct errand *e = arg;

    loop_receive(e->home);
    e->kind->release(e->task);
}

/* ---- there */

static void on_begin(void *arg)
{
    struct errand *e = arg;

    e->kind->begin(e->task);
}

void errand_report(struct errand *e)
{
    assert(!e->is_over);
    e->is_over = true;
    loop_post(e->home, &e->report);
}

static void on_abort(void *arg)
{
    struct errand *e = arg;

    if (!e->is_over)
        e->kind->abort(e->task);
    e->is_over = true;
    loop_post(e->home, &e->release);
}

/* ---- at home: the start */

void errand_begin(struct errand *e, const struct errand_kind *kind, void *task, struct loop *home,
                  struct loop *there)
{
    *e = (struct errand){
        .kind = kind,
        .task = task,
        .home = home,
        .there = there,
        .begin = {.fn = on_begin, .arg = e},
        .report = {.fn = on_report, .arg = e},
        .abort = {.fn = on_abort, .arg = e},
        .release = {.fn = on_release, .arg = e},
    };
    loop_expect(home);
    if (there != NULL)
        loop_post(there, &e->begin);
}

void errand_cancel(struct errand *e)
{
    assert(e->there != NULL && !e->is_cancelled);
    e->is_cancelled = true;
    loop_post(e->there, &e->abort);
}
