/* response_call.c -- calls of the upstream, from their first delta to their end.
 *
 * A call is announced when its name is known and its first argument bytes,
 * another item, or the end of the round has arrived (CONTRACT 4.3 rule 10).
 * Until then its arguments wait in call->arguments. Afterwards those that are
 * shown as they are live in the item; others stay with the call, because what
 * the client gets is made out of them. */
#include <stdlib.h>

#include "json/json_read.h"
#include "response/client_call.h"
#include "response/response_hosted.h"
#include "response/response_internal.h"
#include "wire/tools/hosted_tool.h"

void response_calls_fini(struct response *r)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        buf_fini(&r->calls[i].name);
        buf_fini(&r->calls[i].arguments);
        argument_text_fini(&r->calls[i].text);
    }
    free(r->calls);
    r->calls = NULL;
    r->n_calls = r->cap_calls = 0;
    r->begun = BEGUN_NOTHING;
}

static struct response_call *slot(struct response *r, unsigned number)
{
    if (number >= r->n_calls)
        r->begun = BEGUN_CALL;
    if (number >= r->cap_calls) {
        size_t cap = number < 4 ? 4 : (size_t)number * 2;
        struct response_call *calls = realloc(r->calls, cap * sizeof(*calls));

        if (calls == NULL) {
            response_break(r, ERR_INTERNAL);
            return NULL;
        }
        r->calls = calls;
        r->cap_calls = cap;
    }
    for (; r->n_calls <= number; r->n_calls++)
        r->calls[r->n_calls] = (struct response_call){.call_id = STR(""), .server_label = STR("")};
    return &r->calls[number];
}

/* True when the call is announced and takes more arguments. */
static bool is_open(const struct response_call *c)
{
    return c->item != NULL && !c->is_closed;
}

/* True unless the arguments are code, as those of python. */
static bool has_json_arguments(const struct response_call *c)
{
    return c->builtin != BUILTIN_PYTHON;
}

/* The buf that gathers the arguments of a call. */
static struct buf *arguments_of(struct response_call *c)
{
    return c->item != NULL && c->is_plain ? &c->item->text : &c->arguments;
}

/* The member of the arguments that is shown; NULL: not one alone. */
static const char *shown_member(const struct response_call *c)
{
    const bool is_custom = c->item->kind == OUTPUT_CUSTOM_TOOL_CALL;
    const bool is_hosted = output_hosted_kind(c->item->kind) != HOSTED_NONE;

    return is_custom || (is_hosted && has_json_arguments(c))
               ? output_kind_row(c->item->kind)->text_member
               : NULL;
}

/* True for white space alone, as models write it where there is nothing to say. */
static bool is_blank(str escaped)
{
    size_t i = 0;

    while (i < escaped.len && (escaped.p[i] == ' ' ||
                               (escaped.p[i] == '\\' && strchr("ntr", escaped.p[i + 1]) != NULL)))
        i += escaped.p[i] == ' ' ? 1 : 2;
    return i >= escaped.len;
}

/* ---- growing */

static bool keep_text(struct response *r, struct buf *to, str text)
{
    if (!response_claim(r, text.len))
        return false;
    buf_append(to, text);
    if (buf_failed(to))
        response_break(r, ERR_INTERNAL);
    return !r->broken;
}

/* Sends the text that no delta has carried yet. */
static void say_all(struct response *r, struct output_item *item, struct buf *out)
{
    str unsaid = str_skip(buf_str(&item->text), item->n_said);

    item->n_said = item->text.len;
    if (unsaid.len > 0)
        response_emit_call_text(r, output_kind_row(item->kind)->delta, item, unsaid, out);
}

/* Sends that text, but where deltas are merged only when it is enough for one. */
static void say_more(struct response *r, struct output_item *item, struct buf *out)
{
    if (!response_merges_deltas(r) || item->text.len - item->n_said >= RESPONSE_MERGED_BYTES)
        say_all(r, item, out);
}

/* Unpacks the arguments that arrived since the last time. */
static void grow_unpacked(struct response *r, struct response_call *c, struct buf *out)
{
    struct buf plain = {.limit = 0};
    str arrived = str_skip(buf_str(&c->arguments), c->unread);

    c->unread = c->arguments.len;
    json_text_decode(arrived, &plain);
    argument_text_feed(&c->text, buf_str(&plain), &c->item->text);
    if (buf_failed(&plain) || buf_failed(&c->text.unit) || buf_failed(&c->item->text)) {
        c->item->text.len = c->item->n_said; /* no event carries the rest */
        response_break(r, ERR_INTERNAL);
    } else {
        say_more(r, c->item, out);
    }
    buf_fini(&plain);
}

/* Sends the arguments that no delta has carried yet. */
static void send_arguments(struct response *r, struct response_call *c, struct buf *out)
{
    if (c->text.member != NULL)
        grow_unpacked(r, c, out);
    if (!c->is_plain)
        return;
    if (c->item->n_said == 0 && has_json_arguments(c) && is_blank(buf_str(&c->item->text)))
        return; /* if no more comes, there are none */
    say_more(r, c->item, out);
}

/* ---- announcing */

/* True when the call is still to be announced, and can be. */
static bool is_to_come(const struct response_call *c)
{
    return c->item == NULL && !c->suppressed && response_call_has_name(c);
}

/* Announced when all of it is known. */
static bool is_shown_whole(const struct response_call *c)
{
    return output_kind_row(response_call_kind(c))->delta == EVENT_NONE;
}

static void announce(struct response *r, struct response_call *c, struct buf *out)
{
    if (r->broken || !is_to_come(c) || is_shown_whole(c) || !response_call_make_item(r, c, out))
        return;
    response_announce_item(r, c->item, out);
    c->text.member = shown_member(c);
    c->is_plain = c->text.member == NULL;
    if (c->is_plain) {
        c->item->text = c->arguments;
        buf_init(&c->arguments, 0);
    }
    send_arguments(r, c, out);
}

static void show_finished(struct response *r, struct response_call *c, struct buf *out);
static void close_finished(struct response *r, struct response_call *c, struct buf *out);

/* Something else is about to begin: items are in the order of their calls. */
static void announce_past(struct response *r, struct response_call *c, struct buf *out)
{
    show_finished(r, c, out);
    announce(r, c, out);
}

/* False when one of them has to be known first of which nothing is shown before all of it is: those
 * behind it have to wait. */
static bool announce_before(struct response *r, size_t number, struct buf *out)
{
    for (size_t i = 0; i < number; i++) {
        announce_past(r, &r->calls[i], out);
        if (!r->conf.interleaved_calls && is_to_come(&r->calls[i]))
            return false;
    }
    return true;
}

void response_announce_calls(struct response *r, struct buf *out)
{
    (void)announce_before(r, r->n_calls, out);
}

/* ---- a delta */

/* Are its arguments a complete object? */
static bool has_all_arguments(struct response_call *c)
{
    return has_json_arguments(c) && argument_end_is_reached(&c->end, buf_str(arguments_of(c)));
}

/* Where there is to be one call: is all of it known? Code has no end of its own. */
static bool has_whole_call(struct response *r)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        struct response_call *c = &r->calls[i];

        if (!c->suppressed && response_call_has_name(c))
            return !has_json_arguments(c) || has_all_arguments(c);
    }
    return false;
}

bool response_call_delta(struct response *r, const struct delta *d, struct buf *out)
{
    struct response_call *c = slot(r, d->call);

    if (c == NULL)
        return false;
    if (c->item == NULL)
        response_call_learn(r, c, d);
    if (c->suppressed && r->conf.single_call)
        r->has_enough = has_whole_call(r);
    if (r->broken || d->text.len == 0 || c->suppressed || (c->item != NULL && !is_open(c)))
        return !r->broken;
    if (!keep_text(r, arguments_of(c), d->text))
        return false;
    if (c->item != NULL) {
        send_arguments(r, c, out);
        if (c->item != r->newest && !r->conf.interleaved_calls)
            close_finished(r, c, out);
        return !r->broken;
    }
    if (announce_before(r, d->call, out))
        announce(r, c, out);
    return !r->broken;
}

/* ---- closing */

/* Are its arguments all of the text, since they have not the form we asked for? What was cut short
 * may still have got it. */
static bool is_of_other_form(const struct response_call *c, enum output_status status)
{
    return c->text.member != NULL && !argument_text_has_begun(&c->text) &&
           (status == OUTPUT_COMPLETED || argument_text_is_other(&c->text)) &&
           !is_blank(buf_str(&c->arguments));
}

/* What a call still lacks when it is closed. */
static void fill_up(struct response *r, struct response_call *c, enum output_status status,
                    struct buf *out)
{
    str rest = STR("");

    if (is_of_other_form(c, status)) {
        rest = buf_str(&c->arguments);
    } else if (c->is_plain && has_json_arguments(c) && c->item->n_said == 0 &&
               is_blank(buf_str(&c->item->text))) {
        c->item->text.len = 0; /* none, or white space that was held back */
        rest = status == OUTPUT_COMPLETED ? STR("{}") : STR("");
    }
    if (rest.len > 0 && !r->broken)
        (void)keep_text(r, &c->item->text, rest);
    say_all(r, c->item, out);
}

/* No more is to come. What the gateway is to run stays open. */
static void settle_call(struct response *r, struct response_call *c, enum output_status status,
                        struct buf *out)
{
    struct output_item *item = c->item;

    c->is_closed = true;
    if (output_is_hosted_call(item->kind) && status == OUTPUT_COMPLETED) {
        response_await_outcome(item);
        return;
    }
    response_close_item(r, item, status, out);
}

/* What the model reads again of its own call is the text that it wrote, down to the blanks: its
 * server has computed just that. What is no object is refused by servers. */
static void keep_arguments(struct response_call *c)
{
    if (c->builtin != BUILTIN_NONE || !has_all_arguments(c))
        return;
    c->item->upstream_arguments = c->arguments;
    buf_init(&c->arguments, 0);
}

static void close_call(struct response *r, struct response_call *c, enum output_status status,
                       struct buf *out)
{
    struct output_item *item = c->item;

    fill_up(r, c, status, out);
    if (output_hosted_kind(item->kind) != HOSTED_NONE && c->text.member != NULL)
        keep_arguments(c);
    item->is_whole = true;
    response_emit_call_text(r, output_kind_row(item->kind)->done, item, buf_str(&item->text), out);
    settle_call(r, c, status, out);
}

/* What is made of arguments that are all known. */
struct whole {
    struct buf text, arguments; /* of the item */
    str why_useless;            /* for the model; STR_NONE when they are not */
};

static struct whole read_whole(const struct response_call *c)
{
    const enum output_kind kind = response_call_kind(c);
    const enum hosted_kind hosted = output_hosted_kind(kind);
    struct whole w = {.why_useless = STR_NONE};
    str arguments = buf_str(&c->arguments);

    if (hosted != HOSTED_NONE)
        w.why_useless = hosted_tool(hosted)->show(c->builtin, arguments, &w.text, &w.arguments);
    else if (client_call_is(kind))
        client_call_write(kind, arguments, &w.text);
    else
        buf_append(&w.text, is_blank(arguments) ? STR("{}") : arguments);
    return w;
}

/* Announced and closed in one breath, when all of it is known. */
static void show_whole(struct response *r, struct response_call *c, struct buf *out)
{
    struct whole w = read_whole(c);

    if (buf_failed(&w.text) || buf_failed(&w.arguments))
        response_break(r, ERR_INTERNAL);
    if (!response_call_make_item(r, c, out)) {
        buf_fini(&w.text);
        buf_fini(&w.arguments);
        return;
    }
    c->item->text = w.text;
    c->item->arguments = w.arguments;
    c->item->output = w.why_useless;
    if (output_hosted_kind(c->item->kind) != HOSTED_NONE)
        keep_arguments(c);
    response_announce_item(r, c->item, out);
    settle_call(r, c, str_is_none(w.why_useless) ? OUTPUT_COMPLETED : OUTPUT_FAILED, out);
}

/* A call that is shown when all of it is known has said all. */
static void show_finished(struct response *r, struct response_call *c, struct buf *out)
{
    if (!r->broken && is_to_come(c) && is_shown_whole(c) &&
        argument_end_is_reached(&c->end, buf_str(&c->arguments)))
        show_whole(r, c, out);
}

/* Another item has begun: the call is closed if its arguments are complete. */
static void close_finished(struct response *r, struct response_call *c, struct buf *out)
{
    if (is_open(c) && has_all_arguments(c))
        close_call(r, c, OUTPUT_COMPLETED, out);
}

void response_close_finished_call(struct response *r, struct buf *out)
{
    struct response_call *last = NULL;

    for (size_t i = 0; i < r->n_calls; i++) {
        struct response_call *c = &r->calls[i];

        if (c->item != NULL && !c->item->is_hidden &&
            (last == NULL || c->item->index > last->item->index))
            last = c;
    }
    if (last != NULL)
        close_finished(r, last, out);
}

/* Closes a call that has been announced, and shows one that is shown whole. */
static void end_call(struct response *r, struct response_call *c, enum output_status status,
                     struct buf *out)
{
    if (is_open(c))
        close_call(r, c, status, out);
    else if (is_to_come(c) && is_shown_whole(c) && status == OUTPUT_COMPLETED)
        show_whole(r, c, out);
}

void response_end_call(struct response *r, struct buf *out)
{
    struct response_call *c = &r->calls[r->n_calls - 1];

    if (!announce_before(r, r->n_calls - 1, out))
        return;
    announce(r, c, out);
    end_call(r, c, OUTPUT_COMPLETED, out);
}

bool response_close_calls(struct response *r, enum output_status status, struct buf *out)
{
    bool nameless = false;

    response_announce_calls(r, out);
    for (size_t i = 0; i < r->n_calls; i++) {
        struct response_call *c = &r->calls[i];

        nameless = nameless || !response_call_has_name(c);
        r->n_dropped_calls += c->suppressed;
        announce(r, c, out); /* it may have had to wait for the one before */
        end_call(r, c, status, out);
    }
    response_calls_fini(r);
    return nameless;
}
