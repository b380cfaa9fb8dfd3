/* sandbox_work.c -- each of the things that a worker can ask for. */
#include "sandbox/sandbox_internal.h"

static const str not_found = STR_INIT("There is no such container, or it has expired.");
static const str no_file = STR_INIT("There is no such file in the container.");
static const str full = STR_INIT("All containers are busy.");
static const str no_memory = STR_INIT("The gateway ran out of memory.");

/* ---- containers */

static struct box *find_box(const struct sandbox_task *t)
{
    return sandbox_table_find(t->hub, t->request.owner, t->request.container_id);
}

/* The task's container; NULL once the task has been failed. */
static struct box *find_box_or_fail(struct sandbox_task *t)
{
    struct box *b = find_box(t);

    if (b == NULL)
        sandbox_task_fail(t, SANDBOX_NOT_FOUND, not_found);
    return b;
}

static struct box *make_box_or_fail(struct sandbox_task *t)
{
    enum sandbox_failure failure;
    struct box *b = sandbox_table_add(t->hub, &t->request, &failure);

    if (b == NULL)
        sandbox_task_fail(t, failure,
                          failure == SANDBOX_NOT_FOUND ? not_found
                          : failure == SANDBOX_FULL    ? full
                                                       : no_memory);
    return b;
}

static bool copy_view(struct sandbox_task *t, const struct box *b, struct sandbox_container *to)
{
    *to = b->view;
    to->id = arena_dup(&t->memory, b->view.id);
    to->name = arena_dup(&t->memory, b->view.name);
    return !str_is_none(to->id) && !str_is_none(to->name);
}

/* Copies what is known of a container for the task; NULL when out of memory. */
static const struct sandbox_container *view_of(struct sandbox_task *t, const struct box *b)
{
    struct sandbox_container *view = arena_alloc(&t->memory, sizeof(*view));

    return view != NULL && copy_view(t, b, view) ? view : NULL;
}

static void end_with_views(struct sandbox_task *t, const struct sandbox_container *views, size_t n)
{
    if (views == NULL)
        sandbox_task_fail(t, SANDBOX_BROKEN, no_memory);
    else
        sandbox_task_end(
            t, &(struct sandbox_outcome){.is_alive = true, .containers = views, .n_containers = n});
}

static void begin_create(struct sandbox_task *t)
{
    const struct box *b = find_box(t);

    if (b == NULL)
        b = make_box_or_fail(t);
    if (b != NULL)
        end_with_views(t, view_of(t, b), 1);
}

static void begin_find(struct sandbox_task *t)
{
    const struct box *b = find_box_or_fail(t);

    if (b != NULL)
        end_with_views(t, view_of(t, b), 1);
}

/* Lists the oldest first; the hub's list has the newest first. */
static void begin_list(struct sandbox_task *t)
{
    const struct box *first = t->hub->boxes;
    struct sandbox_container *views;
    size_t n = 0, left;

    for (const struct box *b = first; b != NULL; b = b->next)
        n += str_eq(b->owner, t->request.owner);
    views = arena_array(&t->memory, n, sizeof(*views));
    left = n;
    for (const struct box *b = first; views != NULL && b != NULL; b = b->next) {
        if (str_eq(b->owner, t->request.owner) && !copy_view(t, b, &views[--left]))
            views = NULL;
    }
    end_with_views(t, views, n);
}

static void begin_delete(struct sandbox_task *t)
{
    struct box *b = find_box_or_fail(t);
    const struct sandbox_container *view;

    if (b == NULL)
        return;
    view = view_of(t, b);
    sandbox_table_remove(b, SANDBOX_NOT_FOUND, STR("The container was deleted."), "deleted");
    end_with_views(t, view, 1);
}

/* ---- code */

static void begin_run(struct sandbox_task *t)
{
    struct box *b = find_box(t);

    if (b == NULL && t->request.may_create)
        b = make_box_or_fail(t);
    else if (b == NULL)
        sandbox_task_fail(t, SANDBOX_NOT_FOUND, not_found);
    if (b != NULL)
        sandbox_box_run(b, t);
}

/* ---- files */

static void on_file_read(void *arg, const struct sandbox_outcome *outcome)
{
    struct sandbox_task *t = arg;
    struct sandbox_outcome whole = *outcome;

    whole.files = t->outcome.files;
    whole.n_files = t->outcome.n_files;
    sandbox_box_has_read(t->box, t);
    if (outcome->failure == SANDBOX_NO_FILE)
        sandbox_task_fail(t, SANDBOX_NO_FILE, no_file);
    else if (outcome->failure == SANDBOX_TOO_LARGE)
        sandbox_task_fail(t, SANDBOX_TOO_LARGE, STR("The file is too large to be read at once."));
    else
        sandbox_task_end(t, &whole);
}

static void read_found_file(struct sandbox_task *t, const struct sandbox_file *file)
{
    const struct sandbox_call_conf conf = {.op = SANDBOX_READ_FILE,
                                           .path = sandbox_path_relative(file->path),
                                           .memory = &t->memory,
                                           .on_done = on_file_read,
                                           .arg = t};

    t->outcome.files = file;
    t->outcome.n_files = 1;
    sandbox_box_read(t->box, t, &conf);
}

static const struct sandbox_file *find_file(const struct sandbox_outcome *outcome, str id)
{
    for (size_t i = 0; i < outcome->n_files; i++) {
        if (str_eq(outcome->files[i].id, id))
            return &outcome->files[i];
    }
    return NULL;
}

static void on_files_listed(void *arg, const struct sandbox_outcome *outcome)
{
    struct sandbox_task *t = arg;
    const struct sandbox_file *file = find_file(outcome, t->request.file_id);

    sandbox_box_has_read(t->box, t);
    if (outcome->failure != SANDBOX_OK || t->request.op == SANDBOX_LIST_FILES)
        sandbox_task_end(t, outcome);
    else if (file == NULL)
        sandbox_task_fail(t, SANDBOX_NO_FILE, no_file);
    else
        read_found_file(t, file);
}

/* A container whose process has not started yet has no files. The file to read is found among all:
 * its id tells whether a path is the one, but not which. */
static void begin_files(struct sandbox_task *t)
{
    static const struct sandbox_outcome none = {.is_alive = true};
    const struct sandbox_call_conf conf = {
        .op = SANDBOX_LIST_FILES, .memory = &t->memory, .on_done = on_files_listed, .arg = t};
    struct box *b = find_box_or_fail(t);

    if (b == NULL)
        return;
    if (b->session != NULL)
        sandbox_box_read(b, t, &conf);
    else if (t->request.op == SANDBOX_LIST_FILES)
        sandbox_task_end(t, &none);
    else
        sandbox_task_fail(t, SANDBOX_NO_FILE, no_file);
}

/* ---- begin and abort */

void sandbox_work_begin(struct sandbox_task *t)
{
    static void (*const begin[])(struct sandbox_task * t) = {
        [SANDBOX_RUN] = begin_run,         [SANDBOX_CREATE] = begin_create,
        [SANDBOX_FIND] = begin_find,       [SANDBOX_LIST] = begin_list,
        [SANDBOX_DELETE] = begin_delete,   [SANDBOX_LIST_FILES] = begin_files,
        [SANDBOX_READ_FILE] = begin_files,
    };

    begin[t->request.op](t);
}

void sandbox_work_abort(struct sandbox_task *t)
{
    if (t->box != NULL)
        sandbox_box_forget(t->box, t);
}
