/* request_approval.c -- bring requests and responses together by id, in two walks over the items:
 * a response may stand before its request. */
#include "wire/request/request_approval.h"

#include "base/str_map.h"
#include "json/json_text.h"

/* What is known of one id. */
struct approval {
    const struct item *request;
    bool is_answered;
    bool is_executed; /* there is an mcp_call for it, however it ended */
};

struct approvals {
    struct str_map by_id; /* plain id -> struct approval */
    struct responses_request *r;
    struct approved_call *last;
    struct arena *arena;
    struct err *reterr;
};

/* ---- errors: about the request's own items, never about its history */

static struct path_name place(const struct item *it, str member)
{
    const struct path input_at = path_member(NULL, STR("input"));
    const struct path item_at = path_index(&input_at, it->index);
    const struct path at = path_member(&item_at, member);

    return path_name(&at);
}

static int reject_request_twice(const struct item *request, struct err *reterr)
{
    struct path_name at = place(request, STR("id"));

    err_set_param(reterr, ERR_INVALID_VALUE, at.text,
                  "Invalid '%s': the approval request '%s' is already part of the context.",
                  at.text, shown(request->id).text);
    return -1;
}

static int reject_unknown(const struct item *response, struct err *reterr)
{
    struct path_name at = place(response, STR("approval_request_id"));

    err_set_param(reterr, ERR_INVALID_VALUE, at.text,
                  "Invalid '%s': no approval request with id '%s' is waiting.", at.text,
                  shown(response->id).text);
    return -1;
}

static int reject_second_answer(const struct item *response, struct err *reterr)
{
    struct path_name at = place(response, STR("approval_request_id"));

    err_set_param(reterr, ERR_INVALID_VALUE, at.text,
                  "Invalid '%s': the approval request '%s' has already been answered.", at.text,
                  shown(response->id).text);
    return -1;
}

/* ---- first walk: what there is */

static struct approval *find_approval(struct approvals *s, str escaped_id)
{
    str id = json_text_dup(s->arena, escaped_id);
    void **slot = str_is_none(id) ? NULL : str_map_slot(&s->by_id, id, s->arena);

    if (slot != NULL && *slot == NULL)
        *slot = arena_alloc(s->arena, sizeof(struct approval));
    if (slot != NULL && *slot != NULL)
        return *slot;
    (void)err_set_no_memory(s->reterr);
    return NULL;
}

static int note_request(struct approvals *s, const struct item *it, bool is_own)
{
    struct approval *a = find_approval(s, it->id);

    if (a == NULL)
        return -1;
    if (a->request != NULL)
        return is_own ? reject_request_twice(it, s->reterr) : 0;
    a->request = it;
    return 0;
}

static int note_execution(struct approvals *s, const struct item *call)
{
    struct approval *a = find_approval(s, call->approval_request_id);

    if (a == NULL)
        return -1;
    a->is_executed = true;
    return 0;
}

static int note(struct approvals *s, const struct item *it, bool is_own)
{
    if (it->kind == ITEM_APPROVAL_REQUEST && it->id.len > 0)
        return note_request(s, it, is_own);
    return it->approval_request_id.len > 0 ? note_execution(s, it) : 0;
}

/* ---- second walk: what was answered */

static str decline_text(const struct approvals *s, str reason)
{
    struct buf text = {0};
    str copy = STR_NONE;

    buf_append(&text, STR("The tool call was not approved."));
    if (reason.len > 0) {
        buf_append(&text, STR(" Reason: "));
        buf_append(&text, reason);
    }
    if (!buf_failed(&text))
        copy = arena_dup(s->arena, buf_str(&text));
    buf_fini(&text);
    return copy;
}

/* The response becomes the call that it declines. */
static int decline(const struct approvals *s, const struct item *request, struct item *response)
{
    str text = decline_text(s, response->reason);
    struct item call = *request;

    call.kind = ITEM_HOSTED_CALL;
    call.index = response->index;
    call.next = response->next;
    call.raw = response->raw;
    call.call_id = request->id;
    call.has_output = true;
    call.is_declined = true;
    if (str_is_none(text))
        return err_set_no_memory(s->reterr);
    if (content_from_text(text, s->arena, &call.content, s->reterr) == -1)
        return -1;
    *response = call;
    return 0;
}

static int approve(struct approvals *s, const struct item *request, const struct item *response)
{
    struct approved_call *call = arena_alloc(s->arena, sizeof(*call));

    if (call == NULL)
        return err_set_no_memory(s->reterr);
    *call = (struct approved_call){.request = request, .response = response};
    if (s->last == NULL)
        s->r->approved = call;
    else
        s->last->next = call;
    s->last = call;
    return 0;
}

static int answer(struct approvals *s, struct item *response, bool is_own)
{
    struct approval *a = find_approval(s, response->id);

    if (a == NULL)
        return -1;
    if (a->request == NULL)
        return is_own ? reject_unknown(response, s->reterr) : 0;
    if (a->is_executed)
        return 0;
    if (a->is_answered)
        return is_own ? reject_second_answer(response, s->reterr) : 0;
    a->is_answered = true;
    if (!response->approves)
        return decline(s, a->request, response);
    return is_own ? approve(s, a->request, response) : 0;
}

int request_approval_read(struct responses_request *r, const struct id_source *ids, struct arena *a,
                          struct err *reterr)
{
    struct approvals s = {.r = r, .arena = a, .reterr = reterr};
    size_t n = 0;

    r->approved = NULL;
    str_map_init(&s.by_id, ids);
    for (const struct item *it = r->items.first; it != NULL; it = it->next) {
        if (note(&s, it, n++ >= r->n_before) == -1)
            return -1;
    }
    n = 0;
    for (struct item *it = r->items.first; it != NULL; it = it->next) {
        bool is_own = n++ >= r->n_before;

        if (it->kind == ITEM_APPROVAL_RESPONSE && answer(&s, it, is_own) == -1)
            return -1;
    }
    return 0;
}

/* ---- tools */

static bool has_server(const struct tool_set *set, str label)
{
    for (const struct mcp_declaration *d = set->first_server; d != NULL; d = d->next) {
        if (json_text_eq(label, d->label))
            return true;
    }
    return false;
}

static int reject_tool(const struct responses_request *r, const struct approved_call *c,
                       struct err *reterr)
{
    struct path_name at = place(c->response, STR("approval_request_id"));
    struct shown label = shown(c->request->server_label);

    if (has_server(&r->tools, c->request->server_label))
        err_set_param(reterr, ERR_INVALID_VALUE, at.text,
                      "Invalid '%s': the MCP server '%s' has no tool '%s'.", at.text, label.text,
                      shown(c->request->tool_name).text);
    else
        err_set_param(reterr, ERR_INVALID_VALUE, at.text,
                      "Invalid '%s': the approved call of '%s' needs the MCP server '%s' in "
                      "'tools'.",
                      at.text, shown(c->request->tool_name).text, label.text);
    return -1;
}

int request_approval_bind(struct responses_request *r, struct err *reterr)
{
    for (struct approved_call *c = r->approved; c != NULL; c = c->next) {
        c->tool = tool_set_find_mcp(&r->tools, c->request->server_label, c->request->tool_name);
        if (c->tool == NULL)
            return reject_tool(r, c, reterr);
    }
    return 0;
}
