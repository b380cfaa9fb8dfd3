/* doctor_read.c -- the same members in a message and in a delta. */
#include "cli/doctor_read.h"

#include "json/json_read.h"
#include "json/json_text.h"
#include "sse/sse_parse.h"

enum { MAX_TEXT_BYTES = 256 * 1024, MAX_LINE_BYTES = 4 * 1024 * 1024 };

/* ---- calls */

/* The call with this index; a new one where it has none. NULL when there are too many. */
static struct doctor_call *find_call(struct doctor_answer *a, int64_t index)
{
    for (size_t i = 0; i < a->n_calls && i < DOCTOR_MAX_CALLS; i++) {
        if (a->calls[i].index == index)
            return &a->calls[i];
    }
    if (a->n_calls++ >= DOCTOR_MAX_CALLS)
        return NULL;
    a->calls[a->n_calls - 1].index = index;
    return &a->calls[a->n_calls - 1];
}

static void take_text(str object, str name, struct buf *out)
{
    const str text = jr_member_string(object, name);

    if (!str_is_none(text))
        json_text_decode(text, out);
}

/* Some servers send arguments as an object. */
static void take_arguments(str function, struct buf *out)
{
    const str raw = jr_member(function, STR("arguments"));

    if (jr_type_of(raw) == JR_OBJECT)
        buf_append(out, raw);
    else
        take_text(function, STR("arguments"), out);
}

static void take_call(struct doctor_answer *a, str raw, int64_t place)
{
    struct doctor_call *c = find_call(a, jr_member_int(raw, STR("index"), place));
    const str function = jr_member(raw, STR("function"));

    if (c == NULL)
        return;
    if (c->id.len == 0)
        take_text(raw, STR("id"), &c->id);
    if (c->name.len == 0)
        take_text(function, STR("name"), &c->name);
    take_arguments(function, &c->arguments);
}

static void take_calls(struct doctor_answer *a, str raw)
{
    struct jr j;
    int64_t place = 0;

    jr_init(&j, raw);
    if (str_is_none(raw) || !jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j))
        take_call(a, jr_raw(&j), place++);
}

/* ---- messages */

static void take_reasoning(struct doctor_answer *a, str message, str name,
                           enum doctor_reasoning field)
{
    const str text = jr_member_string(message, name);

    if (str_is_none(text) || text.len == 0)
        return;
    if (a->reasoning_fields == 0 || a->reasoning_fields == (unsigned)field)
        json_text_decode(text, &a->reasoning); /* what comes in both fields comes twice */
    a->reasoning_fields |= (unsigned)field;
}

static void take_message(struct doctor_answer *a, str message)
{
    take_text(message, STR("content"), &a->text);
    take_reasoning(a, message, STR("reasoning_content"), DOCTOR_REASONING_CONTENT);
    take_reasoning(a, message, STR("reasoning"), DOCTOR_REASONING);
    take_calls(a, jr_member(message, STR("tool_calls")));
}

static void take_finish(struct doctor_answer *a, str word)
{
    if (str_is_none(word) || word.len == 0 || word.len >= sizeof(a->finish))
        return;
    memcpy(a->finish, word.p, word.len);
    a->finish[word.len] = '\0';
}

static void take_choice(struct doctor_answer *a, str choice)
{
    const str delta = jr_member(choice, STR("delta"));

    a->is_completion = true;
    take_message(a, str_is_none(delta) ? jr_member(choice, STR("message")) : delta);
    take_finish(a, jr_member_string(choice, STR("finish_reason")));
}

/* The first choice; none was asked for besides. */
static void take_choices(struct doctor_answer *a, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (!str_is_none(raw) && jr_enter(&j, JR_ARRAY) && jr_next_element(&j))
        take_choice(a, jr_raw(&j));
}

static void take_usage(struct doctor_answer *a, str usage)
{
    const str details = jr_member(usage, STR("prompt_tokens_details"));

    if (jr_type_of(usage) != JR_OBJECT)
        return;
    a->has_usage = true;
    a->prompt_tokens = jr_member_int(usage, STR("prompt_tokens"), -1);
    a->output_tokens = jr_member_int(usage, STR("completion_tokens"), -1);
    a->cached_tokens = jr_member_int(details, STR("cached_tokens"),
                                     jr_member_int(usage, STR("prompt_cache_hit_tokens"), -1));
}

/* {"error":{"message":M}}, {"error":M}, {"message":M}, {"detail":M} */
static void take_error(struct doctor_answer *a, str object)
{
    const str error = jr_member(object, STR("error"));

    if (a->error.len > 0)
        return;
    take_text(error, STR("message"), &a->error);
    if (jr_type_of(error) == JR_STRING)
        json_text_decode(jr_string_of(error), &a->error);
    if (a->error.len == 0 && a->status >= 400) {
        take_text(object, STR("message"), &a->error);
        take_text(object, STR("detail"), &a->error);
    }
}

static void take_object(struct doctor_answer *a, str object)
{
    const str timings = jr_member(object, STR("timings"));

    if (jr_type_of(object) != JR_OBJECT || !jr_is_valid(object))
        return;
    take_choices(a, jr_member(object, STR("choices")));
    take_usage(a, jr_member(object, STR("usage")));
    if (a->cached_tokens < 0)
        a->cached_tokens = jr_member_int(timings, STR("cache_n"), -1);
    take_error(a, object);
}

/* ---- bodies */

static void on_event(void *arg, str data, str event)
{
    struct doctor_answer *a = arg;

    (void)event;
    if (str_eq(str_trim(data), STR("[DONE]"))) {
        a->is_done = true;
        return;
    }
    a->n_chunks++;
    take_object(a, str_trim(data));
}

static void read_stream(struct doctor_answer *a, str body)
{
    static const struct sse_handler handler = {.on_event = on_event};
    struct sse_parser parser;
    struct err e;

    a->is_stream = true;
    sse_parser_init(&parser, MAX_LINE_BYTES);
    if (sse_parser_feed(&parser, body, &handler, a, &e) == 0)
        (void)sse_parser_end(&parser, &handler, a, &e);
    sse_parser_fini(&parser);
}

void doctor_read(int status, str body, struct doctor_answer *ret)
{
    *ret = (struct doctor_answer){
        .status = status, .prompt_tokens = -1, .output_tokens = -1, .cached_tokens = -1};
    ret->text.limit = ret->reasoning.limit = ret->error.limit = MAX_TEXT_BYTES;
    for (size_t i = 0; i < DOCTOR_MAX_CALLS; i++) {
        struct doctor_call *c = &ret->calls[i];

        c->id.limit = c->name.limit = c->arguments.limit = MAX_TEXT_BYTES;
    }
    body = str_trim(body);
    if (str_starts_with(body, STR("{")))
        take_object(ret, body);
    else
        read_stream(ret, body);
}

void doctor_answer_fini(struct doctor_answer *a)
{
    buf_fini(&a->text);
    buf_fini(&a->reasoning);
    buf_fini(&a->error);
    for (size_t i = 0; i < DOCTOR_MAX_CALLS; i++) {
        buf_fini(&a->calls[i].id);
        buf_fini(&a->calls[i].name);
        buf_fini(&a->calls[i].arguments);
    }
}
