/* chat_messages.c -- the messages in the order that conversation.c gave them.
 *
 * What the user said gathers in `asked` until somebody else speaks, and is one message then: where
 * roles have to take turns all of it, else one message each. The system joins it where it has to
 * speak as the user, and so do outputs of calls that are text. */
#include "wire/chat/chat_messages.h"

#include "json/json_copy.h"
#include "wire/chat/chat_content.h"
#include "wire/chat/chat_said.h"

enum speaker { SPEAKER_NOBODY, SPEAKER_SYSTEM, SPEAKER_USER, SPEAKER_ASSISTANT };

/* What one message of the user is made of, in this order. */
struct asked {
    bool has_head;                /* instructions and leading system messages */
    const struct message *called; /* whose outputs are text, or NULL */
    const struct message *first;  /* NULL: none; from here to last only the user's messages count */
    const struct message *last;
    unsigned n_messages;
};

struct messages {
    const struct conversation *conversation;
    const struct chat_request_options *options;
    struct jw *w;
    struct asked asked;
    bool is_late;      /* somebody else than the system has spoken */
    enum speaker last; /* of user and assistant, who has spoken last; calls do not count */
    struct history_repairs repairs;
};

/* ---- the system */

/* One role for system and developer messages: servers that know the second
 * take them for the same and refuse a mix. */
static str system_role(const struct chat_request_options *o)
{
    return o->system_role == CHAT_DEVELOPER_ROLE ? STR("developer") : STR("system");
}

static bool has_head(const struct conversation *c)
{
    return !str_is_none(c->instructions) || c->first != c->body;
}

/* The instructions and the system messages at the start, as one text: many chat
 * templates allow no second message. */
static void write_head_text(const struct conversation *c, struct buf *out)
{
    bool first = str_is_none(c->instructions);

    if (!first)
        json_copy_text(c->instructions, out);
    for (const struct message *m = c->first; m != c->body; m = m->next) {
        if (!first)
            buf_append(out, CHAT_BLANK_LINE);
        content_write_text(m->content, CHAT_NEWLINE, out);
        first = false;
    }
}

static void write_head(const struct messages *s)
{
    chat_content_open_message(s->w, system_role(s->options));
    jw_key(s->w, "content");
    jw_open_string(s->w);
    write_head_text(s->conversation, s->w->out);
    jw_close_string(s->w);
    jw_object_end(s->w);
}

/* ---- who speaks */

static enum speaker speaker_of(const struct messages *s, const struct message *m)
{
    const struct chat_request_options *o = s->options;

    if (m->role == ROLE_ASSISTANT)
        return SPEAKER_ASSISTANT;
    if (m->role == ROLE_SYSTEM)
        return o->system_role == CHAT_USER_ROLE || (s->is_late && o->late_system_as_user)
                   ? SPEAKER_USER
                   : SPEAKER_SYSTEM;
    return m->media_only && o->images_in_tool && o->call_messages != CHAT_CALLS_TEXT
               ? SPEAKER_NOBODY
               : SPEAKER_USER;
}

static bool has_call_messages(const struct messages *s, const struct message *m)
{
    return m->first_call != NULL && s->options->call_messages != CHAT_CALLS_TEXT;
}

static bool alternates(const struct messages *s)
{
    return s->options->role_order == CHAT_ALTERNATE;
}

/* ---- content */

/* Text alone is one string: not every server takes arrays. */
static void write_content(const struct message *m, struct jw *w)
{
    jw_key(w, "content");
    if (!m->content->has_media) {
        jw_open_string(w);
        content_write_text(m->content, CHAT_NEWLINE, w->out);
        jw_close_string(w);
        return;
    }
    jw_array(w);
    for (const struct part *p = m->content->first; p != NULL; p = p->next) {
        if (p->kind != PART_TEXT || !m->media_only)
            chat_content_part(p, w);
    }
    jw_array_end(w);
}

static void write_plain(const struct messages *s, const struct message *m, str role)
{
    chat_content_open_message(s->w, role);
    write_content(m, s->w);
    jw_object_end(s->w);
}

/* What nobody said, where somebody has to speak. */
static void write_filler(struct messages *s, str role, str text)
{
    chat_content_open_message(s->w, role);
    jw_key_string(s->w, "content", text);
    jw_object_end(s->w);
    history_repairs_add(&s->repairs, 1, HISTORY_REPAIR_SPEAKER);
}

/* ---- several things the user said, in one message */

/* A text that stands alone, or behind others in the string or part that is open. */
struct joined {
    struct jw *w;
    bool is_parts; /* the message has media: elements of an array */
    bool is_text;  /* the last thing written was text */
};

static void begin_text(struct joined *j)
{
    if (j->is_parts) {
        jw_object(j->w);
        jw_key_string(j->w, "type", STR("text"));
        jw_key(j->w, "text");
        jw_open_string(j->w);
    }
    if (j->is_text)
        buf_append(j->w->out, CHAT_BLANK_LINE);
    j->is_text = true;
}

static void end_text(struct joined *j)
{
    if (!j->is_parts)
        return;
    jw_close_string(j->w);
    jw_object_end(j->w);
}

static void join_outputs(struct joined *j, const struct message *called)
{
    for (const struct call *c = called->first_call; c != NULL; c = c->next) {
        begin_text(j);
        buf_append(j->w->out, STR("<tool_response>\\n"));
        chat_said_output_text(c, j->w->out);
        buf_append(j->w->out, STR("\\n</tool_response>"));
        end_text(j);
    }
}

/* Which image a text speaks of is told by their order. */
static void join_parts(struct joined *j, const struct message *m)
{
    for (const struct part *p = m->content->first; p != NULL; p = p->next) {
        if (p->kind != PART_TEXT) {
            chat_content_part(p, j->w);
            j->is_text = false;
        } else if (!m->media_only && p->text.len > 0) {
            begin_text(j);
            json_copy_text(p->text, j->w->out);
            end_text(j);
        }
    }
}

static void join_message(struct joined *j, const struct message *m)
{
    if (m->content->has_media) {
        join_parts(j, m);
    } else if (!content_is_empty(m->content)) {
        begin_text(j);
        content_write_text(m->content, CHAT_NEWLINE, j->w->out);
        end_text(j);
    }
}

static bool asked_has_media(const struct messages *s)
{
    const struct asked *a = &s->asked;

    for (const struct message *m = a->first; m != NULL; m = m == a->last ? NULL : m->next) {
        if (speaker_of(s, m) == SPEAKER_USER && m->content->has_media)
            return true;
    }
    return false;
}

static void write_joined(struct messages *s)
{
    const struct asked *a = &s->asked;
    struct joined j = {.w = s->w, .is_parts = asked_has_media(s)};

    chat_content_open_message(s->w, STR("user"));
    jw_key(s->w, "content");
    if (j.is_parts)
        jw_array(s->w);
    else
        jw_open_string(s->w);
    if (a->has_head) {
        begin_text(&j);
        write_head_text(s->conversation, s->w->out);
        end_text(&j);
    }
    if (a->called != NULL)
        join_outputs(&j, a->called);
    for (const struct message *m = a->first; m != NULL; m = m == a->last ? NULL : m->next) {
        if (speaker_of(s, m) == SPEAKER_USER)
            join_message(&j, m);
    }
    if (j.is_parts)
        jw_array_end(s->w);
    else
        jw_close_string(s->w);
    jw_object_end(s->w);
}

/* ---- turns */

static bool is_empty(const struct asked *a)
{
    return !a->has_head && a->called == NULL && a->n_messages == 0;
}

/* What the user said is whole. */
static void write_asked(struct messages *s)
{
    struct asked *a = &s->asked;

    if (is_empty(a))
        return;
    if (alternates(s) && s->last == SPEAKER_USER)
        write_filler(s, STR("assistant"), STR("[no answer]"));
    if (a->n_messages > 1)
        history_repairs_add(&s->repairs, a->n_messages - 1, HISTORY_REPAIR_MERGED);
    if (a->n_messages == 1 && !a->has_head && a->called == NULL)
        write_plain(s, a->first, STR("user"));
    else
        write_joined(s);
    s->last = SPEAKER_USER;
    *a = (struct asked){.has_head = false};
}

static void on_user(struct messages *s, const struct message *m)
{
    struct asked *a = &s->asked;

    if (!alternates(s) && (a->called != NULL || a->n_messages > 0))
        write_asked(s);
    if (a->n_messages++ == 0)
        a->first = m;
    a->last = m;
    if (m->role == ROLE_SYSTEM)
        history_repairs_add(&s->repairs, 1, HISTORY_REPAIR_LATE_SYSTEM);
}

static unsigned count_broken(const struct message *m)
{
    unsigned n = 0;

    for (const struct call *c = m->first_call; c != NULL; c = c->next)
        n += c->is_broken;
    return n;
}

static unsigned count_unanswered(const struct message *m)
{
    unsigned n = 0;

    for (const struct call *c = m->first_call; c != NULL; c = c->next)
        n += c->output == NULL && !c->open;
    return n;
}

/* Templates that count turns take no empty answer either. */
static bool says_nothing(const struct messages *s, const struct message *m)
{
    const struct piece *p = m->texts.first;

    if (m->first_call != NULL ||
        (s->options->reasoning_field == CHAT_REASONING_IN_TAGS && m->reasoning.first != NULL))
        return false;
    while (p != NULL && content_is_empty(p->content))
        p = p->next;
    return p == NULL;
}

static bool misses_question(const struct messages *s, bool calls)
{
    if (s->last == SPEAKER_NOBODY)
        return s->options->role_order != CHAT_ANY_ORDER;
    return alternates(s) && !calls && s->last == SPEAKER_ASSISTANT;
}

static void write_no_question(struct messages *s)
{
    write_filler(s, STR("user"), STR("[no question]"));
    s->last = SPEAKER_USER;
}

/* Calls and their outputs are no turn of their own in the templates that count turns. */
static void on_assistant(struct messages *s, const struct message *m)
{
    const bool calls = has_call_messages(s, m);

    if (alternates(s) && says_nothing(s, m)) {
        history_repairs_add(&s->repairs, 1, HISTORY_REPAIR_EMPTY_ANSWER);
        return;
    }
    write_asked(s);
    if (misses_question(s, calls))
        write_no_question(s);
    chat_said_write(m, s->options, s->w);
    history_repairs_add(&s->repairs, count_unanswered(m), HISTORY_REPAIR_NO_OUTPUT);
    history_repairs_add(&s->repairs, count_broken(m), HISTORY_REPAIR_BROKEN_ARGUMENTS);
    if (!calls)
        s->last = SPEAKER_ASSISTANT;
    if (!calls && m->first_call != NULL && !m->first_call->open)
        s->asked.called = m;
}

static void on_message(struct messages *s, const struct message *m)
{
    switch (speaker_of(s, m)) {
    case SPEAKER_USER:
        on_user(s, m);
        break;
    case SPEAKER_ASSISTANT:
        on_assistant(s, m);
        break;
    case SPEAKER_SYSTEM:
        write_asked(s);
        write_plain(s, m, system_role(s->options));
        break;
    case SPEAKER_NOBODY:
        break;
    }
    s->is_late = s->is_late || m->role != ROLE_SYSTEM;
}

void chat_messages_write(const struct conversation *c, const struct chat_request_options *o,
                         struct jw *w)
{
    struct messages s = {.conversation = c, .options = o, .w = w, .repairs = c->repairs};

    jw_array(w);
    if (has_head(c) && o->system_role == CHAT_USER_ROLE)
        s.asked.has_head = true;
    else if (has_head(c))
        write_head(&s);
    for (const struct message *m = c->body; m != NULL; m = m->next)
        on_message(&s, m);
    write_asked(&s);
    if (alternates(&s) && s.last == SPEAKER_NOBODY)
        write_no_question(&s); /* all answers were empty */
    jw_array_end(w);
    if (o->repairs != NULL)
        *o->repairs = s.repairs;
}
