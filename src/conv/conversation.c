/* conversation.c -- one pass over the items, then repair of what stayed open.
 *
 * `turn` is the assistant message that a further assistant-side item joins;
 * anything from the user, the system or a tool ends it. `reasoning` waits for
 * the next assistant message and is lost when the user or system speaks first. */
#include "conv/conversation.h"

#include "base/str_map.h"
#include "conv/call_mend.h"
#include "conv/reject.h"
#include "json/json_text.h"

struct assembly {
    struct message *first, *last, *turn;
    struct pieces reasoning;
    struct str_map calls; /* call id (plain) -> the newest struct call with it */
    struct call *search;  /* the first search of its message whose output is still to come */
    unsigned n_places;    /* given away */
    const struct conversation_context *context;
    struct arena *arena;
    struct history_repairs repairs;
    struct err *reterr;
};

static const struct content nothing;

/* ---- small parts */

/* p, with the error set when it is NULL. */
static void *checked(const struct assembly *s, void *p)
{
    if (p == NULL)
        err_set_no_memory(s->reterr);
    return p;
}

static struct message *append(struct assembly *s, enum role role, const struct content *content)
{
    struct message *m = checked(s, arena_alloc(s->arena, sizeof(*m)));

    if (m == NULL)
        return NULL;
    m->role = role;
    m->content = content;
    if (s->last == NULL)
        s->first = m;
    else
        s->last->next = m;
    s->last = m;
    return m;
}

static int add_piece(const struct assembly *s, struct pieces *list, struct piece piece)
{
    struct piece *p = checked(s, arena_alloc(s->arena, sizeof(*p)));

    if (p == NULL)
        return -1;
    *p = piece;
    if (list->last == NULL)
        list->first = p;
    else
        list->last->next = p;
    list->last = p;
    return 0;
}

static void move_pieces(struct pieces *from, struct pieces *to)
{
    if (from->first == NULL)
        return;
    if (to->last == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
    *from = (struct pieces){0};
}

/* The assistant message that the current item belongs to, with the reasoning
 * that waited for it. */
static struct message *join_turn(struct assembly *s)
{
    if (s->turn == NULL)
        s->turn = append(s, ROLE_ASSISTANT, NULL);
    if (s->turn != NULL)
        move_pieces(&s->reasoning, &s->turn->reasoning);
    return s->turn;
}

/* What a hosted tool returned has been read by the model before it said more. */
static void end_hosted_turn(struct assembly *s)
{
    if (s->turn != NULL && s->turn->has_hosted_call)
        s->turn = NULL;
}

/* Where the newest call with the id of this item is kept. */
static void **call_slot(struct assembly *s, const struct item *it)
{
    str id = json_text_dup(s->arena, it->call_id);

    return checked(s, str_is_none(id) ? NULL : str_map_slot(&s->calls, id, s->arena));
}

/* ---- items */

/* Each text of a message but the first begins a line, or a message in Harmony: one that is empty
 * stands only where it is the only one. */
static int add_text(struct assembly *s, struct pieces *texts, struct piece text)
{
    if (texts->first != NULL && content_is_empty(text.content))
        return 0;
    if (texts->first != NULL && content_is_empty(texts->first->content))
        *texts = (struct pieces){0};
    return add_piece(s, texts, text);
}

static int on_message(struct assembly *s, const struct item *it)
{
    struct piece text = {.content = &it->content, .phase = it->phase};
    struct message *m;

    if (it->role != ROLE_ASSISTANT) {
        s->turn = NULL;
        s->reasoning = (struct pieces){0};
        m = append(s, it->role, &it->content);
        if (m != NULL)
            m->is_own_summary = it->is_own_summary;
        return m == NULL ? -1 : 0;
    }
    end_hosted_turn(s);
    m = join_turn(s);
    if (m == NULL)
        return -1;
    m->is_own_summary = m->is_own_summary || it->is_own_summary;
    text.place = ++s->n_places;
    return add_text(s, &m->texts, text);
}

static int on_reasoning(struct assembly *s, const struct item *it)
{
    end_hosted_turn(s);
    if (it->content.first == NULL)
        return 0;
    return add_piece(s, &s->reasoning,
                     (struct piece){.content = &it->content,
                                    .is_summary = it->is_summary,
                                    .place = ++s->n_places});
}

/* Adds the call of it to the current turn. *slot is where its id is kept. */
static struct call *add_call(struct assembly *s, const struct item *it, str name, void **slot)
{
    struct message *m = join_turn(s);
    struct call *c = m == NULL ? NULL : checked(s, arena_alloc(s->arena, sizeof(*c)));

    if (c == NULL)
        return NULL;
    *c = (struct call){.server_label = it->server_label,
                       .tool_name = it->tool_name,
                       .hosted_kind = it->hosted_kind,
                       .id = it->call_id,
                       .item_id = it->kind == ITEM_HOSTED_CALL ? it->id : STR_NONE,
                       .name = name,
                       .arguments = it->arguments,
                       .is_cut_off = it->is_cut_off,
                       .upstream_arguments = it->upstream_arguments,
                       .is_approved = it->approval_request_id.len > 0,
                       .is_declined = it->is_declined,
                       .place = ++s->n_places,
                       .owner = m};
    if (m->last_call == NULL)
        m->first_call = c;
    else
        m->last_call->next = c;
    m->last_call = c;
    *slot = c;
    return c;
}

/* The model was told that its calls are declined before it made others. */
static void end_declined_turn(struct assembly *s, const struct item *it)
{
    if (!it->is_declined && s->turn != NULL && s->turn->last_call != NULL &&
        s->turn->last_call->is_declined)
        s->turn = NULL;
}

/* Some servers number calls from zero in every response, so an id may come
 * again in a later turn. Within one turn it is the same call sent twice. */
static int on_call(struct assembly *s, const struct item *it)
{
    void **slot = call_slot(s, it);
    const struct call *same = slot == NULL ? NULL : *slot;

    if (slot == NULL)
        return -1;
    end_declined_turn(s, it);
    if (same != NULL && same->owner == s->turn)
        return 0;
    return add_call(s, it, it->name, slot) == NULL ? -1 : 0;
}

/* An approved call was run after the round that asked for it: what else that round had run, the
 * model was told in another message. */
static void end_asking_turn(struct assembly *s, const struct item *it)
{
    if (it->approval_request_id.len > 0 && s->turn != NULL && s->turn->has_hosted_call &&
        !s->turn->last_call->is_approved)
        s->turn = NULL;
}

/* Sent twice in one turn, itself and by its id. */
static bool is_same_hosted_call(const struct assembly *s, const struct call *known,
                                const struct item *it)
{
    return known != NULL && known->owner == s->turn && it->id.len > 0 &&
           str_eq(known->item_id, it->id);
}

/* Upstreams that number calls from zero give a hosted call the id of one that still waits for
 * the client: the output that comes is for that one. */
static int on_hosted_call(struct assembly *s, const struct item *it)
{
    void **slot = call_slot(s, it);
    struct call *same = slot == NULL ? NULL : *slot, *c;

    if (slot == NULL)
        return -1;
    end_declined_turn(s, it);
    end_asking_turn(s, it);
    if (is_same_hosted_call(s, same, it))
        return 0;
    c = add_call(s, it, it->name, slot);
    if (c == NULL)
        return -1;
    if (same != NULL && same->output == NULL)
        *slot = same;
    s->turn->has_hosted_call = true;
    c->output = it->has_output ? &it->content : NULL;
    if (it->hosted_kind == HOSTED_TOOL_SEARCH &&
        (s->search == NULL || s->search->owner != c->owner))
        s->search = c;
    if (it->ends_round)
        s->turn = NULL;
    return 0;
}

/* An output whose call is not in the conversation. */
static struct call *add_orphan(struct assembly *s, const struct item *it, void **slot)
{
    str name = str_is_none(it->name) ? STR("unknown_tool") : it->name;

    if (s->context->is_stateful && str_is_none(it->name)) {
        err_set_param(s->reterr, ERR_INVALID_VALUE, "input",
                      "No tool call found for function call output with call_id %s.",
                      shown(it->call_id).text);
        return NULL;
    }
    s->turn = NULL;
    history_repairs_add(&s->repairs, str_is_none(it->name), HISTORY_REPAIR_MADE_CALL);
    return add_call(s, it, name, slot);
}

static int on_output(struct assembly *s, const struct item *it)
{
    void **slot = call_slot(s, it);
    struct call *c = slot == NULL ? NULL : *slot;
    struct message *media;

    if (slot == NULL)
        return -1;
    if (c == NULL)
        c = add_orphan(s, it, slot);
    if (c == NULL)
        return -1;
    s->turn = NULL;
    if (c->output != NULL) {
        history_repairs_add(&s->repairs, 1, HISTORY_REPAIR_SECOND_OUTPUT);
        return 0;
    }
    c->output = &it->content;
    if (!it->content.has_media)
        return 0;
    media = append(s, ROLE_USER, &it->content);
    if (media == NULL)
        return -1;
    media->media_only = true;
    return 0;
}

/* Searches of one message have their outputs in the same order. The model read them before it said
 * more. */
static void on_found_tools(struct assembly *s, const struct item *it)
{
    struct call *c = s->search;

    s->turn = NULL;
    if (c == NULL)
        return;
    if (c->output == NULL)
        c->output = &it->content;
    do
        c = c->next;
    while (c != NULL && c->hosted_kind != HOSTED_TOOL_SEARCH);
    s->search = c;
}

static int on_item(struct assembly *s, const struct item *it)
{
    switch (it->kind) {
    case ITEM_MESSAGE:
        return on_message(s, it);
    case ITEM_REASONING:
        return on_reasoning(s, it);
    case ITEM_CALL:
        return on_call(s, it);
    case ITEM_HOSTED_CALL:
        return on_hosted_call(s, it);
    case ITEM_OUTPUT:
        return on_output(s, it);
    case ITEM_FOUND_TOOLS:
        on_found_tools(s, it);
        break;
    case ITEM_REFERENCE: /* replaced by the stored item before assembly */
    case ITEM_APPROVAL_REQUEST:
    case ITEM_APPROVAL_RESPONSE: /* likewise by the call it decides about */
    case ITEM_TOOL_LIST:
    case ITEM_ADDITIONAL_TOOLS:
    case ITEM_CONFIGURATION:
    case ITEM_COMPACTION: /* replaced by what it stands for */
    case ITEM_TRIGGER:
    case ITEM_IGNORED:
        break;
    }
    return 0;
}

/* ---- reasoning */

bool conversation_is_answer(const struct message *m, const struct piece *p)
{
    return p->phase == PHASE_FINAL_ANSWER || (p->phase == PHASE_NONE && m->first_call == NULL);
}

/* The last answer in a message, or NULL. */
static const struct piece *answer_of(const struct message *m)
{
    const struct piece *answer = NULL;

    for (const struct piece *p = m->texts.first; p != NULL; p = p->next) {
        if (conversation_is_answer(m, p))
            answer = p;
    }
    return answer;
}

/* With its place in *ret_place. */
static struct message *find_last_answer(struct message *m, unsigned *ret_place)
{
    struct message *last = NULL;

    for (; m != NULL; m = m->next) {
        const struct piece *answer = m->role == ROLE_ASSISTANT ? answer_of(m) : NULL;

        if (answer == NULL)
            continue;
        last = m;
        *ret_place = answer->place;
    }
    return last;
}

/* Drops the reasoning up to the answer in last; returns the message behind that. */
static struct message *close_reasoning(struct message *m, const struct message *last,
                                       unsigned answer)
{
    for (; m != last; m = m->next)
        m->reasoning = (struct pieces){0};
    while (m->reasoning.first != NULL && m->reasoning.first->place < answer)
        m->reasoning.first = m->reasoning.first->next;
    if (m->reasoning.first == NULL)
        m->reasoning.last = NULL;
    return m->next;
}

static bool has_own_reasoning(const struct message *m)
{
    for (const struct piece *p = m->reasoning.first; p != NULL; p = p->next) {
        if (!p->is_summary)
            return true;
    }
    return false;
}

/* The first call whose reasoning is known tells that of its message. */
static int recall(const struct assembly *s, struct message *m)
{
    const struct reasoning_source *source = s->context->reasoning;
    struct content *content;
    str text = STR_NONE;

    for (const struct call *c = m->first_call; c != NULL && str_is_none(text); c = c->next)
        (void)source->find(source->arg, c, s->arena, &text);
    if (str_is_none(text))
        return 0;
    content = checked(s, arena_alloc(s->arena, sizeof(*content)));
    if (content == NULL || content_from_text(text, s->arena, content, s->reterr) == -1)
        return -1;
    m->reasoning = (struct pieces){0}; /* at most summaries */
    return add_piece(s, &m->reasoning, (struct piece){.content = content});
}

/* Which reasoning the model sees again. */
static int settle_reasoning(const struct assembly *s)
{
    const struct message *last = NULL;
    struct message *m = s->first;
    unsigned answer = 0;

    if (s->context->open_reasoning_only)
        last = find_last_answer(m, &answer);
    if (last != NULL)
        m = close_reasoning(m, last, answer);
    for (; m != NULL && s->context->reasoning != NULL; m = m->next) {
        if (!has_own_reasoning(m) && recall(s, m) == -1)
            return -1;
    }
    return 0;
}

/* ---- repair */

static struct message *find_last(struct message *m)
{
    while (m != NULL && m->next != NULL)
        m = m->next;
    return m;
}

/* The calls of the last message wait for the client, unless it answered some. */
static void open_last_calls(const struct message *last)
{
    struct call *first = last == NULL ? NULL : last->first_call;

    for (const struct call *c = first; c != NULL; c = c->next) {
        if (c->output != NULL)
            return;
    }
    for (struct call *c = first; c != NULL; c = c->next)
        c->open = true;
}

bool message_has_media(const struct message *m)
{
    if (m->content != NULL && m->content->has_media)
        return true;
    for (const struct call *c = m->first_call; c != NULL; c = c->next) {
        if (c->output != NULL && c->output->has_media)
            return true;
    }
    return conversation_has_media(&m->texts);
}

bool conversation_has_media(const struct pieces *list)
{
    for (const struct piece *p = list->first; p != NULL; p = p->next) {
        if (p->content->has_media)
            return true;
    }
    return false;
}

struct message *conversation_find_body(struct message *m)
{
    while (m != NULL && m->role == ROLE_SYSTEM && !m->content->has_media)
        m = m->next;
    return m;
}

static bool is_system_only(const struct assembly *s)
{
    for (const struct message *m = s->first; m != NULL; m = m->next) {
        if (m->role != ROLE_SYSTEM)
            return false;
    }
    return true;
}

/* The text that the model was in the middle of; calls are not gone on with, nor is nothing. */
static bool ends_in_text(const struct assembly *s, const struct item *last)
{
    return last != NULL && last->kind == ITEM_MESSAGE && last->role == ROLE_ASSISTANT &&
           last->is_cut_off && !content_is_empty(&last->content) && s->last != NULL &&
           s->last->role == ROLE_ASSISTANT && s->last->first_call == NULL &&
           !conversation_has_media(&s->last->texts);
}

int conversation_build(const struct item_list *items, str instructions,
                       const struct conversation_context *context, const struct id_source *ids,
                       struct arena *a, struct conversation *ret, struct err *reterr)
{
    struct assembly s = {.context = context, .arena = a, .reterr = reterr};

    str_map_init(&s.calls, ids);
    for (const struct item *it = items->first; it != NULL; it = it->next) {
        if (on_item(&s, it) == -1)
            return -1;
    }
    if (calls_mend(&s.first, &s.repairs, reterr) == -1)
        return -1;
    s.last = find_last(s.first);
    if (is_system_only(&s) && append(&s, ROLE_USER, &nothing) == NULL)
        return -1;
    if (settle_reasoning(&s) == -1)
        return -1;
    open_last_calls(s.last);
    *ret = (struct conversation){
        .instructions = instructions.len > 0 ? instructions : STR_NONE,
        .first = s.first,
        .body = conversation_find_body(s.first),
        .is_unfinished = ends_in_text(&s, items->last),
        .repairs = s.repairs,
    };
    return 0;
}
