/* response_call.c -- calls of the upstream and the items they become.
 *
 * A call is announced when its name is known and its first argument bytes,
 * another item, or the end of the round has arrived (CONTRACT 4.3, rule 10).
 * Until then its arguments wait in call->arguments. Afterwards those that are
 * shown as they are live in the item; others stay with the call, because what
 * the client gets is made out of them. */
#include <stdlib.h>

#include "response/legacy.h"
#include "response/local_shell.h"
#include "response/response_hosted.h"
#include "response/response_internal.h"
#include "json/json_read.h"

void response_calls_fini(struct response *r)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        buf_fini(&r->calls[i].name);
        buf_fini(&r->calls[i].arguments);
        custom_input_fini(&r->calls[i].input);
    }
    free(r->calls);
    r->calls = NULL;
    r->n_calls = r->cap_calls = 0;
}

static struct response_call *slot(struct response *r, unsigned number)
{
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
        r->calls[r->n_calls] = (struct response_call){.call_id = STR("")};
    return &r->calls[number];
}

/* Does it take more arguments? */
static bool is_open(const struct response_call *c)
{
    return c->item != NULL && !c->is_closed;
}

/* Are its arguments shown as they are? */
static bool is_plain(const struct response_call *c)
{
    return c->item != NULL &&
           (c->item->kind == OUTPUT_FUNCTION_CALL || c->item->kind == OUTPUT_MCP_CALL);
}

/* ---- growing */

static bool keep(struct response *r, struct buf *to, str text)
{
    if (!response_claim(r, text.len))
        return false;
    buf_append(to, text);
    if (buf_failed(to))
        response_break(r, ERR_INTERNAL);
    return !r->broken;
}

static void emit_text(struct response *r, enum event_type type, const struct output_item *item,
                      str text, struct buf *out)
{
    struct event e = {.item_id = id_str(&item->id),
                      .output_index = item->index,
                      .text = text,
                      .name = item->name,
                      .obfuscate = r->conf.obfuscation};

    if (item->is_hidden)
        return;
    if (response_is_legacy(r) && out != NULL)
        legacy_emit_call(r, item, type, text, out);
    else
        response_emit(r, type, &e, out);
}

/* Unpacks the arguments of a custom call that arrived since the last time. */
static void grow_custom(struct response *r, struct response_call *c, struct buf *out)
{
    struct buf plain = {.limit = 0};
    size_t before = c->item->text.len;
    str arrived = str_skip(buf_str(&c->arguments), c->unsent);

    c->unsent = c->arguments.len;
    json_text_decode(arrived, &plain);
    custom_input_feed(&c->input, buf_str(&plain), &c->item->text);
    if (buf_failed(&plain) || buf_failed(&c->input.unit) || buf_failed(&c->item->text)) {
        c->item->text.len = before; /* no event carried it */
        response_break(r, ERR_INTERNAL);
    } else if (c->item->text.len > before) {
        emit_text(r, output_kind_row(c->item->kind)->delta, c->item,
                  str_skip(buf_str(&c->item->text), before), out);
    }
    buf_fini(&plain);
}

/* Sends the arguments that no delta has carried yet. */
static void grow(struct response *r, struct response_call *c, struct buf *out)
{
    str unsent;

    if (c->item->kind == OUTPUT_CUSTOM_TOOL_CALL)
        grow_custom(r, c, out);
    if (!is_plain(c))
        return;
    unsent = str_skip(buf_str(&c->item->text), c->unsent);
    c->unsent = c->item->text.len;
    if (unsent.len > 0)
        emit_text(r, output_kind_row(c->item->kind)->delta, c->item, unsent, out);
}

/* ---- announcing */

static const struct tool *find_tool(struct response *r, str escaped_name)
{
    struct buf plain = {.limit = 0};
    const struct tool *tool = NULL;

    json_text_decode(escaped_name, &plain);
    if (buf_failed(&plain))
        response_break(r, ERR_INTERNAL);
    else if (r->conf.tools != NULL)
        tool = tool_set_find(r->conf.tools, buf_str(&plain));
    buf_fini(&plain);
    return tool;
}

/* Under allowed_tools everything that was not sent is kept from the client,
 * names the model made up included (CONTRACT 1.4). */
static bool is_forbidden(const struct response *r, const struct tool *tool)
{
    const struct tool_set *set = r->conf.tools;

    return set != NULL && set->is_restricted && (tool == NULL || !tool->sent);
}

static enum output_kind kind_of(const struct tool *tool)
{
    switch (tool == NULL ? TOOL_FUNCTION : tool->kind) {
    case TOOL_CUSTOM:
        return OUTPUT_CUSTOM_TOOL_CALL;
    case TOOL_LOCAL_SHELL:
        return OUTPUT_LOCAL_SHELL_CALL;
    case TOOL_MCP:
        return tool->needs_approval ? OUTPUT_MCP_APPROVAL_REQUEST : OUTPUT_MCP_CALL;
    case TOOL_FUNCTION:
        break;
    }
    return OUTPUT_FUNCTION_CALL;
}

/* CONTRACT 8: the upstream's id when it has one of at most 64 characters that
 * is new in this response, else a new one. */
static str choose_call_id(struct response *r, str upstream_id)
{
    bool usable = upstream_id.len > 0 && json_text_count(upstream_id) <= ID_BYTES;
    struct id id;

    for (const struct output_item *item = r->first; usable && item != NULL; item = item->next)
        usable = !str_eq(item->call_id, upstream_id);
    if (usable)
        return upstream_id;
    id = id_make(r->conf.ids, "call_", ID_CALL_CHARS);
    return arena_dup(&r->arena, id_str(&id));
}

/* Past max_tool_calls the client sees nothing of a hosted call. */
static struct output_item *new_item(struct response *r, enum output_kind kind, struct buf *out)
{
    if (kind == OUTPUT_MCP_CALL && response_has_used_up(r))
        return response_add_hidden(r, kind);
    r->n_hosted += kind == OUTPUT_MCP_CALL;
    response_close_finished_call(r, out);
    return response_add_item(r, kind, out);
}

/* Makes the item of a call whose name is known; it still has to be announced. */
static bool make_item(struct response *r, struct response_call *c, struct buf *out)
{
    enum output_kind kind = kind_of(c->tool);
    bool is_hosted = c->tool != NULL && c->tool->kind == TOOL_MCP;
    str call_id = choose_call_id(r, c->call_id);
    str name = c->tool == NULL ? arena_dup(&r->arena, buf_str(&c->name)) : c->tool->name;
    struct output_item *item;

    if (str_is_none(call_id) || str_is_none(name))
        response_break(r, ERR_INTERNAL);
    item = new_item(r, kind, out);
    if (item == NULL)
        return false;
    item->name = name;
    item->name_space = c->tool == NULL ? STR_NONE : c->tool->name_space;
    item->call_id = call_id;
    item->tool = c->tool;
    item->is_old_form = c->is_old_form;
    if (is_hosted)
        item->server_label = c->tool->server_label;
    c->item = item;
    return true;
}

/* It is to be announced, and can be. */
static bool is_to_come(const struct response_call *c)
{
    return c->item == NULL && !c->suppressed && c->name.len > 0;
}

/* Announced when all of it is known. */
static bool is_shown_whole(const struct response_call *c)
{
    return output_kind_row(kind_of(c->tool))->delta == EVENT_NONE;
}

static void announce(struct response *r, struct response_call *c, struct buf *out)
{
    if (r->broken || !is_to_come(c) || is_shown_whole(c) || !make_item(r, c, out))
        return;
    response_announce_item(r, c->item, out);
    if (is_plain(c)) {
        c->item->text = c->arguments;
        buf_init(&c->arguments, 0);
    }
    grow(r, c, out);
}

static void show_finished(struct response *r, struct response_call *c, struct buf *out);

/* Something else is about to begin: items are in the order of their calls. */
static void announce_past(struct response *r, struct response_call *c, struct buf *out)
{
    show_finished(r, c, out);
    announce(r, c, out);
}

void response_announce_calls(struct response *r, struct buf *out)
{
    for (size_t i = 0; i < r->n_calls; i++)
        announce_past(r, &r->calls[i], out);
}

/* ---- a delta */

/* Takes over a name that has become longer, and an id that has become known. */
static void learn(struct response *r, struct response_call *c, const struct delta *d)
{
    if (!str_eq(buf_str(&c->name), d->name)) {
        buf_reset(&c->name);
        buf_append(&c->name, d->name);
        c->tool = find_tool(r, buf_str(&c->name));
        c->suppressed = r->is_last_round || is_forbidden(r, c->tool);
    }
    c->is_old_form = d->is_old_form;
    if (!str_eq(c->call_id, d->call_id))
        c->call_id = arena_dup(&r->arena, d->call_id);
    if (buf_failed(&c->name) || str_is_none(c->call_id))
        response_break(r, ERR_INTERNAL);
}

bool response_call_delta(struct response *r, const struct delta *d, struct buf *out)
{
    struct response_call *c = slot(r, d->call);

    if (c == NULL)
        return false;
    if (c->item == NULL)
        learn(r, c, d);
    if (r->broken || d->text.len == 0 || c->suppressed || (c->item != NULL && !is_open(c)))
        return !r->broken;
    if (!keep(r, is_plain(c) ? &c->item->text : &c->arguments, d->text))
        return false;
    if (c->item != NULL) {
        grow(r, c, out);
        return !r->broken;
    }
    for (unsigned i = 0; i < d->call; i++)
        announce_past(r, &r->calls[i], out);
    announce(r, c, out);
    return !r->broken;
}

/* ---- closing */

static bool is_complete_object(str escaped)
{
    struct buf plain = {.limit = 0};
    bool complete;

    json_text_decode(escaped, &plain);
    complete = !buf_failed(&plain) && jr_is_valid(buf_str(&plain)) &&
               jr_type_of(str_trim(buf_str(&plain))) == JR_OBJECT;
    buf_fini(&plain);
    return complete;
}

/* What a call still lacks when it is closed. */
static void fill_up(struct response *r, struct response_call *c, enum output_status status,
                    struct buf *out)
{
    str rest = STR("");

    if (c->item->kind == OUTPUT_CUSTOM_TOOL_CALL && !custom_input_is_unpacked(&c->input))
        rest = buf_str(&c->arguments); /* not the form we asked for: all of it is the input */
    else if (is_plain(c) && c->item->text.len == 0 && status == OUTPUT_COMPLETED)
        rest = STR("{}");
    if (rest.len == 0 || r->broken || !keep(r, &c->item->text, rest))
        return;
    emit_text(r, output_kind_row(c->item->kind)->delta, c->item, rest, out);
}

static void close_call(struct response *r, struct response_call *c, enum output_status status,
                       struct buf *out)
{
    struct output_item *item = c->item;

    fill_up(r, c, status, out);
    c->is_closed = true;
    emit_text(r, output_kind_row(item->kind)->done, item, buf_str(&item->text), out);
    if (item->kind == OUTPUT_MCP_CALL && status == OUTPUT_COMPLETED) {
        response_await_outcome(item);
        return;
    }
    item->status = status;
    response_emit_item(r, EVENT_ITEM_DONE, item, out);
}

static void read_whole(const struct response_call *c, struct buf *text)
{
    if (c->tool->kind == TOOL_LOCAL_SHELL)
        local_shell_action(buf_str(&c->arguments), text);
    else
        buf_append(text, c->arguments.len == 0 ? STR("{}") : buf_str(&c->arguments));
}

/* Announced and closed in one breath, when all of it is known. */
static void show_whole(struct response *r, struct response_call *c, struct buf *out)
{
    struct buf text = {.limit = 0};

    read_whole(c, &text);
    if (buf_failed(&text))
        response_break(r, ERR_INTERNAL);
    if (!make_item(r, c, out)) {
        buf_fini(&text);
        return;
    }
    c->item->text = text;
    response_announce_item(r, c->item, out);
    c->is_closed = true;
    c->item->status = OUTPUT_COMPLETED;
    response_emit_item(r, EVENT_ITEM_DONE, c->item, out);
}

/* A call that is shown when all of it is known has said all. */
static void show_finished(struct response *r, struct response_call *c, struct buf *out)
{
    if (r->broken || !is_to_come(c) || !is_shown_whole(c) || c->arguments.len == c->checked)
        return;
    c->checked = c->arguments.len;
    if (is_complete_object(buf_str(&c->arguments)))
        show_whole(r, c, out);
}

void response_close_finished_call(struct response *r, struct buf *out)
{
    struct response_call *last = NULL;
    str arguments;

    for (size_t i = 0; i < r->n_calls; i++) {
        struct response_call *c = &r->calls[i];

        if (c->item != NULL && !c->item->is_hidden &&
            (last == NULL || c->item->index > last->item->index))
            last = c;
    }
    if (last == NULL || !is_open(last))
        return;
    arguments = buf_str(is_plain(last) ? &last->item->text : &last->arguments);
    if (arguments.len == last->checked)
        return;
    last->checked = arguments.len;
    if (is_complete_object(arguments))
        close_call(r, last, OUTPUT_COMPLETED, out);
}

bool response_close_calls(struct response *r, enum output_status status, struct buf *out)
{
    bool nameless = false;

    response_announce_calls(r, out);
    for (size_t i = 0; i < r->n_calls; i++) {
        struct response_call *c = &r->calls[i];

        nameless = nameless || c->name.len == 0;
        if (is_open(c))
            close_call(r, c, status, out);
        else if (is_to_come(c) && status == OUTPUT_COMPLETED)
            show_whole(r, c, out);
    }
    response_calls_fini(r);
    return nameless;
}
