/* turn_call_code_interpreter.c -- calls of the code interpreter: what it runs, what comes out. */
#include "call/turn_call.h"
#include "flight/builtin_tools.h"
#include "flight/worker.h"
#include "json/json_text.h"
#include "sandbox/sandbox.h"

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
    struct turn_call_result result = {
        .is_failed = outcome->failure != SANDBOX_OK,
        .why = outcome->failure == SANDBOX_TIMED_OUT ? TURN_CALL_TIMEOUT : TURN_CALL_FAILED};
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

static void *start_code(struct turn_call *c, struct turn_call_result *ret)
{
    static const struct sandbox_handler handler = {on_done};
    const struct turn_calls *of = c->of;
    const struct worker *w = of->flight->worker;
    struct sandbox_request request = {.op = SANDBOX_RUN, .owner = of->flight->caller.owner};
    struct sandbox_task *task = NULL;
    struct buf code = {.limit = 0};
    struct err e;

    if (of->code == NULL) {
        turn_call_fail(ret, STR("There is no code interpreter."));
        return NULL;
    }
    json_text_decode(c->text, &code);
    request.container_id = of->container_id;
    request.may_create = str_is_none(of->code->container);
    request.memory_bytes = builtin_memory_limit(w->config, of->code->memory_limit);
    request.code = buf_str(&code);
    if (buf_failed(&code))
        err_set_no_memory(&e);
    else
        task = sandbox_start(w->builtin->sandboxes, w->loop, &request, &handler, c, &e);
    if (task == NULL)
        turn_call_fail(ret, str_from_c(e.msg));
    buf_fini(&code);
    return task;
}

static void cancel_code(void *work)
{
    sandbox_cancel(work);
}

const struct turn_call_kind turn_call_code_interpreter = {
    .start = start_code, .cancel = cancel_code, .name = "code_interpreter"};
