/* turn_call_code.c -- calls of the code interpreter: which container, what it ran, what comes out. */
#include "sandbox/sandbox.h"
#include "turn/builtin_tools.h"
#include "turn/turn_call.h"
#include "json/json_text.h"

/* ---- the container */

/* That of the last call in the history, as long as it lives. */
static str find_container(struct turn *t)
{
    str found = item_list_container(&t->request.items);

    found = str_is_none(found) ? STR_NONE : json_text_dup(&t->flight.arena, found);
    if (str_is_none(found) ||
        !sandbox_hub_has(t->flight.worker->builtin->sandboxes, t->flight.caller.owner, found))
        return STR_NONE;
    return found;
}

static int keep_new_container(struct turn *t, struct err *reterr)
{
    const struct id id = id_make(&t->flight.worker->ids, "cntr_", ID_RANDOM_CHARS);

    t->container_id = find_container(t);
    if (str_is_none(t->container_id))
        t->container_id = arena_dup(&t->flight.arena, id_str(&id));
    if (!str_is_none(t->container_id))
        return 0;
    err_set_no_memory(reterr);
    return -1;
}

static int need_container(struct turn *t, const struct code_declaration *d, struct err *reterr)
{
    char at[64];

    t->container_id = json_text_dup(&t->flight.arena, d->container);
    if (str_is_none(t->container_id)) {
        err_set_no_memory(reterr);
        return -1;
    }
    if (sandbox_hub_has(t->flight.worker->builtin->sandboxes, t->flight.caller.owner,
                        t->container_id))
        return 0;
    (void)snprintf(at, sizeof(at), "%.*s.container", STR_ARG(d->at));
    err_set_param(reterr, ERR_NOT_FOUND, at,
                  "Container '%.*s' was not found. It may have expired: containers that are not "
                  "used are removed, with their files.",
                  STR_ARG(t->container_id));
    return -1;
}

static int check_network(const struct turn *t, const struct code_declaration *d, struct err *reterr)
{
    char at[48];

    (void)snprintf(at, sizeof(at), "%.*s.container", STR_ARG(d->at));
    return builtin_check_network(t->flight.worker->config, d->network_policy, str_from_c(at),
                                 reterr);
}

int turn_choose_container(struct turn *t, struct err *reterr)
{
    const struct tool *tool = tool_set_find_hosted(&t->request.tools, HOSTED_CODE_INTERPRETER);

    if (tool == NULL)
        return 0;
    t->code = tool->code;
    if (check_network(t, tool->code, reterr) == -1)
        return -1;
    return str_is_none(tool->code->container) ? keep_new_container(t, reterr)
                                              : need_container(t, tool->code, reterr);
}

/* ---- what comes out */

/* For the model: what was printed, the value of the last expression, and which files there are. */
static void write_for_model(const struct sandbox_outcome *o, struct buf *out)
{
    buf_append(out, o->logs);
    if (!str_is_none(o->value)) {
        if (o->logs.len > 0 && !str_ends_with(o->logs, STR("\n")))
            buf_char(out, '\n');
        buf_append(out, o->value);
    }
    for (size_t i = 0; i < o->n_files; i++) {
        buf_c(out, out->len == 0 ? "[file " : "\n[file ");
        buf_append(out, o->files[i].path);
        buf_c(out, ", ");
        buf_int(out, (int64_t)o->files[i].bytes);
        buf_c(out, " bytes]");
    }
    for (size_t i = 0; i < o->n_images; i++)
        buf_c(out, out->len == 0 ? "[image, shown to the user]" : "\n[image, shown to the user]");
    if (o->message.len > 0) {
        buf_c(out, out->len == 0 ? "Error: " : "\nError: ");
        buf_append(out, o->message);
    }
    if (out->len == 0)
        buf_c(out, "[no output]");
}

static void write_logs(str logs, struct jw *w)
{
    if (logs.len == 0)
        return;
    jw_object(w);
    jw_key_string(w, "type", STR("logs"));
    jw_key_string(w, "logs", logs);
    jw_object_end(w);
}

static void write_image(const struct sandbox_image *image, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "type", STR("image"));
    jw_key(w, "url");
    jw_open_string(w);
    buf_c(w->out, "data:");
    buf_append(w->out, image->mime);
    buf_c(w->out, ";base64,");
    buf_append(w->out, image->base64);
    jw_close_string(w);
    jw_object_end(w);
}

static void write_outputs(const struct sandbox_outcome *o, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_array(&w);
    write_logs(o->logs, &w);
    write_logs(o->value, &w);
    for (size_t i = 0; i < o->n_images; i++)
        write_image(&o->images[i], &w);
    jw_array_end(&w);
}

static void on_done(void *arg, const struct sandbox_outcome *outcome)
{
    struct turn_call *c = arg;
    struct turn_call_result result = {.is_failed = outcome->failure != SANDBOX_OK};
    struct buf text = {.limit = 0};

    write_for_model(outcome, &text);
    json_text_escape(buf_str(&text), &result.output);
    result.output.failed = result.output.failed || buf_failed(&text);
    buf_fini(&text);
    if (!result.is_failed)
        write_outputs(outcome, &result.outputs);
    turn_call_ended(c, &result);
}

/* ---- running */

static void *start(struct turn_call *c, struct turn_call_result *ret)
{
    static const struct sandbox_handler handler = {on_done};
    struct turn *t = c->turn;
    struct sandbox_request request = {.op = SANDBOX_RUN, .owner = t->flight.caller.owner};
    struct sandbox_task *task = NULL;
    struct buf code = {.limit = 0};
    struct err e;

    if (t->code == NULL) {
        turn_call_fail(ret, STR("There is no code interpreter."));
        return NULL;
    }
    json_text_decode(buf_str(&c->item->text), &code);
    request.container_id = t->container_id;
    request.may_create = str_is_none(t->code->container);
    request.memory_bytes = builtin_memory_limit(t->flight.worker->config, t->code->memory_limit);
    request.code = buf_str(&code);
    if (buf_failed(&code))
        err_set_no_memory(&e);
    else
        task = sandbox_start(t->flight.worker->builtin->sandboxes, t->flight.worker->loop, &request,
                             &handler, c, &e);
    if (task == NULL)
        turn_call_fail(ret, str_from_c(e.msg));
    buf_fini(&code);
    return task;
}

static void cancel(void *work)
{
    sandbox_cancel(work);
}

const struct turn_call_kind turn_call_code_interpreter = {start, cancel};
