/* text_calls.c -- the way through a text: outside of calls, through the steps of one, behind it.
 *
 *     text ... <tool_call>{"name": "f", ...}</tool_call> ... text
 *     OUTSIDE ^IN_CALL                      ^BEHIND_CALL ^OUTSIDE
 *
 * Each state takes what it understands and leaves the rest, which is held until more has come. A
 * call is held from its opening mark on, while `seen` tells how far it has been looked at. When
 * it turns out to be none, it is text up to there, and the search goes on there: no byte is
 * looked at twice. */
#include "text/text_calls_grammar.h"

enum { NAME_BYTES = 256 }; /* white space behind it included; what is longer is no name */

static const struct text_grammar *const grammars[] = {
    [TEXT_CALLS_NONE] = NULL,
    [TEXT_CALLS_HERMES] = &text_grammar_tool_call,
    [TEXT_CALLS_QWEN_CODER] = &text_grammar_qwen_coder,
    [TEXT_CALLS_GLM] = &text_grammar_tool_call,
    [TEXT_CALLS_LLAMA3] = &text_grammar_llama3,
    [TEXT_CALLS_MISTRAL] = &text_grammar_mistral,
    [TEXT_CALLS_DEEPSEEK] = &text_grammar_deepseek,
    [TEXT_CALLS_KIMI] = &text_grammar_kimi,
    [TEXT_CALLS_PYTHONIC] = &text_grammar_pythonic,
};

void text_calls_init(struct text_calls *t, enum text_call_format format,
                     const struct text_calls_handler *handler, void *arg)
{
    *t = (struct text_calls){
        .grammar = grammars[format], .handler = handler, .arg = arg, .is_line_start = true};
}

void text_calls_fini(struct text_calls *t)
{
    buf_fini(&t->space);
    buf_fini(&t->held);
    buf_fini(&t->name);
    buf_fini(&t->id);
    buf_fini(&t->key);
    buf_fini(&t->arguments);
}

/* ---- reports */

bool text_calls_keep(struct text_calls *t, struct buf *in, str plain)
{
    in->len = 0;
    buf_append(in, plain);
    t->out_of_memory |= buf_failed(in);
    return !t->out_of_memory;
}

bool text_calls_is_function(const struct text_calls *t, str name)
{
    return t->handler->is_function(t->arg, name);
}

void text_calls_report(struct text_calls *t, str name, str arguments, str id)
{
    struct text_call call = {.name = name, .arguments = arguments, .id = id};

    t->space.len = 0;
    t->has_spoken = t->is_line_start = true;
    t->handler->on_call(t->arg, &call);
}

/* Reports text. White space at its end waits, since a call may follow. */
static void report_text(struct text_calls *t, str plain)
{
    str visible = text_trim_end(plain);

    if (plain.len == 0 || t->out_of_memory)
        return;
    t->is_line_start = plain.p[plain.len - 1] == '\n';
    if (visible.len > 0) {
        if (t->space.len > 0)
            t->handler->on_text(t->arg, buf_str(&t->space));
        t->space.len = 0;
        t->handler->on_text(t->arg, visible);
        t->has_spoken = true;
    }
    buf_append(&t->space, str_skip(plain, visible.len));
    t->out_of_memory |= buf_failed(&t->space);
}

/* ---- one step of a call */

static enum text_match match_move(const struct text_step *step, str in,
                                  const struct text_move **ret_move)
{
    for (size_t i = 0; i < TEXT_MOVES && !str_is_none(step->moves[i].mark); i++) {
        enum text_match match = text_match(in, step->moves[i].mark);

        if (match == TEXT_MATCHES)
            *ret_move = &step->moves[i];
        if (match != TEXT_DIFFERS)
            return match;
    }
    return in.len == 0 ? TEXT_MAY_MATCH : TEXT_DIFFERS;
}

static enum text_match scan_name(struct text_calls *t, str call, size_t *ret_len,
                                 const struct text_move **ret_move)
{
    str in = str_skip(call, t->at), rest;
    size_t n = 0;

    while (n < in.len && n < NAME_BYTES && text_is_name_char(in.p[n]))
        n++;
    rest = str_trim_start(str_skip(in, n));
    t->seen = call.len - rest.len;
    *ret_len = n;
    if (t->seen - t->at > NAME_BYTES || (n == 0 && in.len > 0))
        return TEXT_DIFFERS;
    return match_move(t->step, rest, ret_move);
}

static enum text_match scan_text(struct text_calls *t, str call, size_t *ret_len,
                                 const struct text_move **ret_move)
{
    const struct text_move *move = &t->step->moves[0];
    size_t found = t->seen + str_find(str_skip(call, t->seen), move->mark);

    if (found == call.len) { /* all but what may be the beginning of the mark */
        if (call.len >= t->seen + move->mark.len)
            t->seen = call.len - (move->mark.len - 1);
        return TEXT_MAY_MATCH;
    }
    t->seen = found;
    *ret_len = found - t->at;
    *ret_move = move;
    return TEXT_MATCHES;
}

static bool is_member_of_call(str name)
{
    static const str members[] = {STR_INIT("name"), STR_INIT("parameters"), STR_INIT("arguments"),
                                  STR_INIT("type"), STR_INIT("id")};

    return str_is_one_of(name, LIST_OF(members));
}

/* The first name in a value tells early whether it can be a call. */
static bool may_be_call(const struct text_calls *t, str call)
{
    str name = str_from(call.p + t->span.name_at, t->span.name_end - t->span.name_at);

    if (t->span.name_end == 0 || t->step->wish == WISH_JSON)
        return true;
    return t->step->wish == WISH_PYTHON ? text_calls_is_function(t, name) : is_member_of_call(name);
}

static enum text_match scan_value(struct text_calls *t, str call, size_t *ret_len,
                                  const struct text_move **ret_move)
{
    bool was_named = t->span.name_end > 0;
    enum text_match match = t->step->wish == WISH_PYTHON
                                ? text_span_python(&t->span, call, &t->seen)
                                : text_span_json(&t->span, call, &t->seen);

    if (!was_named && !may_be_call(t, call)) {
        t->seen = t->span.name_end;
        return TEXT_DIFFERS;
    }
    *ret_len = t->seen - t->at;
    *ret_move = &t->step->moves[0];
    return match;
}

/* Scans for what the step at hand wishes, from t->at on. t->seen becomes where the mark behind it
 * begins, or the first byte that does not fit. */
static enum text_match scan_step(struct text_calls *t, str call, size_t *ret_len,
                                 const struct text_move **ret_move)
{
    bool is_begun = t->seen > t->at || t->step->wish == WISH_TEXT;

    if (!is_begun)
        t->seen = t->at = call.len - str_trim_start(str_skip(call, t->at)).len;
    switch (t->step->wish) {
    case WISH_MARK:
        *ret_len = 0;
        return match_move(t->step, str_skip(call, t->at), ret_move);
    case WISH_NAME:
        return scan_name(t, call, ret_len, ret_move);
    case WISH_TEXT:
        return scan_text(t, call, ret_len, ret_move);
    case WISH_JSON:
    case WISH_CALLS:
    case WISH_PYTHON:
        break;
    }
    return scan_value(t, call, ret_len, ret_move);
}

/* ---- the three states: false when the rest has to wait for more */

static void enter_step(struct text_calls *t, unsigned step)
{
    t->step = &t->grammar->steps[step];
    t->seen = t->at;
    t->span = (struct text_span){.depth = 0};
}

/* Reports all up to `there` as text: it was no call. */
static void give_up_call(struct text_calls *t, str *in, size_t there)
{
    t->state = TEXT_OUTSIDE;
    report_text(t, str_from(in->p, there));
    *in = str_skip(*in, there);
}

static bool feed_in_call(struct text_calls *t, str *in)
{
    const struct text_move *move = NULL;
    size_t len = 0;
    enum text_match match = scan_step(t, *in, &len, &move);
    str read = str_from(in->p + t->at, len);

    if (match == TEXT_MAY_MATCH)
        return false;
    if (match == TEXT_DIFFERS || move == NULL) {
        give_up_call(t, in, t->seen);
        return true;
    }
    t->at = t->seen + (move->stays ? 0 : move->mark.len);
    if (move->take != NULL && !move->take(t, read)) {
        give_up_call(t, in, t->at);
    } else if (move->next == COMPLETE) {
        *in = str_skip(*in, t->at);
        t->state = TEXT_BEHIND_CALL;
        t->n_closed = 0;
    } else {
        enter_step(t, move->next);
    }
    return true;
}

static bool is_place_of(const struct text_calls *t, const struct text_opening *o, str in, size_t i)
{
    switch (o->place) {
    case ANYWHERE:
        return true;
    case AT_LINE_START:
        return i == 0 ? t->is_line_start || !t->has_spoken : in.p[i - 1] == '\n';
    case AT_TEXT_START:
        break;
    }
    return i == 0 && !t->has_spoken;
}

static enum text_match match_opening(const struct text_calls *t, str in, size_t i,
                                     const struct text_opening **ret_opening)
{
    for (size_t k = 0; k < 2 && t->grammar->openings[k].mark.len > 0; k++) {
        const struct text_opening *o = &t->grammar->openings[k];
        enum text_match match =
            is_place_of(t, o, in, i) ? text_match(str_skip(in, i), o->mark) : TEXT_DIFFERS;

        if (match == TEXT_MATCHES)
            *ret_opening = o;
        if (match != TEXT_DIFFERS)
            return match;
    }
    return TEXT_DIFFERS;
}

static size_t find_opening(const struct text_calls *t, str in, enum text_match *ret_match,
                           const struct text_opening **ret_opening)
{
    const struct text_opening *o = t->grammar->openings;
    const char first[3] = {o[0].mark.p[0], o[o[1].mark.len > 0 ? 1 : 0].mark.p[0], o[0].mark.p[0]};
    size_t i = 0;

    for (;; i++) {
        i += text_find_first(str_skip(in, i), first);
        *ret_match = i == in.len ? TEXT_DIFFERS : match_opening(t, in, i, ret_opening);
        if (i == in.len || *ret_match != TEXT_DIFFERS)
            return i;
    }
}

static bool feed_outside(struct text_calls *t, str *in)
{
    const struct text_opening *opening = NULL;
    enum text_match match;
    size_t i;

    if (!t->has_spoken) { /* so that a text that begins with a call does so at 0 */
        str rest = str_trim_start(*in);

        report_text(t, text_before(*in, rest));
        *in = rest;
    }
    i = find_opening(t, *in, &match, &opening);
    report_text(t, str_from(in->p, i));
    *in = str_skip(*in, i);
    if (match == TEXT_MATCHES && opening != NULL) {
        t->state = TEXT_IN_CALL;
        t->at = opening->stays ? 0 : opening->mark.len;
        enter_step(t, opening->step);
    }
    return match != TEXT_MAY_MATCH;
}

static bool feed_behind_call(struct text_calls *t, str *in)
{
    bool may_close = false;

    *in = str_trim_start(*in);
    if (in->len == 0)
        return true;
    for (size_t i = t->n_closed; i < 3 && t->grammar->closings[i].len > 0; i++) {
        enum text_match match = text_match(*in, t->grammar->closings[i]);

        if (match == TEXT_MATCHES) {
            *in = str_skip(*in, t->grammar->closings[i].len);
            t->n_closed = i + 1;
            return true;
        }
        may_close = may_close || match == TEXT_MAY_MATCH;
    }
    if (!may_close)
        t->state = TEXT_OUTSIDE;
    return !may_close;
}

static bool feed_state(struct text_calls *t, str *in)
{
    switch (t->state) {
    case TEXT_OUTSIDE:
        return feed_outside(t, in);
    case TEXT_IN_CALL:
        return feed_in_call(t, in);
    case TEXT_BEHIND_CALL:
        break;
    }
    return feed_behind_call(t, in);
}

/* ---- pieces */

bool text_calls_feed(struct text_calls *t, str plain)
{
    bool is_held = t->held.len > 0;
    str rest;

    if (t->out_of_memory || plain.len == 0)
        return !t->out_of_memory;
    if (t->grammar == NULL) {
        t->handler->on_text(t->arg, plain);
        return true;
    }
    if (is_held) {
        buf_append(&t->held, plain);
        plain = buf_str(&t->held);
    }
    rest = plain;
    t->out_of_memory = buf_failed(&t->held);
    while (rest.len > 0 && !t->out_of_memory && feed_state(t, &rest))
        continue;
    if (is_held)
        buf_consume(&t->held, plain.len - rest.len);
    else
        buf_append(&t->held, rest);
    t->out_of_memory |= buf_failed(&t->held);
    return !t->out_of_memory;
}

/* Takes a call that the end of the text may close, with nothing but white space behind it. */
static bool end_call(struct text_calls *t)
{
    return t->state == TEXT_IN_CALL && t->step->end != NULL && t->at == t->held.len &&
           t->step->end(t, buf_str(&t->held));
}

bool text_calls_finish(struct text_calls *t)
{
    if (t->out_of_memory)
        return false;
    if (!end_call(t))
        report_text(t, buf_str(&t->held));
    if (t->space.len > 0)
        t->handler->on_text(t->arg, buf_str(&t->space));
    t->held.len = t->space.len = 0;
    t->state = TEXT_OUTSIDE;
    return !t->out_of_memory;
}
