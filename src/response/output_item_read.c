/* output_item_read.c -- the members of an item, by a table, and what each kind makes of them.
 *
 * What stands in a member is not judged: the item is written again and compared with what was
 * read, which finds every member that is missing, of another type, or unknown. */
#include "response/output_item_read.h"

#include "conv/fields.h"
#include "json/json_read.h"

/* Raw, or escaped text where the table says so. */
struct item_members {
    str id, type, status, phase, content, summary, encrypted_content, execution;
    str call_id, name, name_space, server_label, approval_request_id, container_id;
    str text; /* the member that the kind's row in kind.def names */
    str output, outputs, error, tools;
};

static const struct field item_table[] = {
    FIELD(struct item_members, id, FIELD_TEXT),
    FIELD(struct item_members, type, FIELD_TEXT),
    FIELD(struct item_members, status, FIELD_TEXT),
    FIELD(struct item_members, phase, FIELD_TEXT),
    FIELD(struct item_members, content, FIELD_ARRAY),
    FIELD(struct item_members, summary, FIELD_ARRAY),
    FIELD(struct item_members, encrypted_content, FIELD_TEXT),
    FIELD(struct item_members, execution, FIELD_TEXT),
    FIELD(struct item_members, call_id, FIELD_TEXT),
    FIELD(struct item_members, name, FIELD_TEXT),
    {STR_INIT("namespace"), FIELD_TEXT, offsetof(struct item_members, name_space)},
    FIELD(struct item_members, server_label, FIELD_TEXT),
    FIELD(struct item_members, approval_request_id, FIELD_TEXT),
    FIELD(struct item_members, container_id, FIELD_TEXT),
    FIELD(struct item_members, output, FIELD_TEXT),
    FIELD(struct item_members, outputs, FIELD_ANY),
    FIELD(struct item_members, error, FIELD_ANY),
    FIELD(struct item_members, tools, FIELD_ARRAY),
#define CALL(symbol, type, prefix, member, ...)                                                    \
    {STR_INIT(member), FIELD_ANY, offsetof(struct item_members, text)},
#include "response/kind.def"
};

struct part_members {
    str type, text, refusal, annotations, logprobs;
};

static const struct field part_table[] = {
    FIELD(struct part_members, type, FIELD_TEXT),
    FIELD(struct part_members, text, FIELD_TEXT),
    FIELD(struct part_members, refusal, FIELD_TEXT),
    FIELD(struct part_members, annotations, FIELD_ARRAY),
    FIELD(struct part_members, logprobs, FIELD_ARRAY),
};

struct item_reading {
    struct item_members members;
    struct arena *arena;
    struct output_item *item;
    bool ran_out; /* of memory */
};

/* ---- copies */

static str keep_text(struct item_reading *g, str s)
{
    str copy = arena_dup(g->arena, s);

    g->ran_out = g->ran_out || (str_is_none(copy) && !str_is_none(s));
    return copy;
}

static void append_text(struct item_reading *g, str s, struct buf *to)
{
    buf_append(to, s);
    g->ran_out = g->ran_out || buf_failed(to);
}

static str without_ends(str raw)
{
    return raw.len < 2 ? STR("") : str_from(raw.p + 1, raw.len - 2);
}

/* ---- parts */

/* False when parts of this type do not belong into such an item. */
static bool find_part_kind(enum output_kind item, str type, enum output_part_kind *ret)
{
    for (enum output_part_kind kind = OUTPUT_PART_TEXT; kind <= OUTPUT_PART_SUMMARY; kind++) {
        const struct output_part_row *row = output_part_row(kind);

        if (row->item == item && str_eq(type, str_from_c(row->type))) {
            *ret = kind;
            return true;
        }
    }
    return false;
}

static void add_citation(struct item_reading *g, struct output_part *p, size_t from, size_t to)
{
    struct output_citation *c = arena_alloc(g->arena, sizeof(*c));

    if (c == NULL) {
        g->ran_out = true;
        return;
    }
    c->from = from;
    c->to = to;
    *p->citations_end = c;
    p->citations_end = &c->next;
}

static void add_annotation(struct item_reading *g, struct output_part *p, str raw)
{
    if (p->annotations.len > 0)
        append_text(g, STR(","), &p->annotations);
    append_text(g, raw, &p->annotations);
    add_citation(g, p, p->annotations.len - raw.len, p->annotations.len);
}

static void read_annotations(struct item_reading *g, struct output_part *p, str list)
{
    struct jr j;

    jr_init(&j, list);
    if (str_is_none(list) || !jr_enter(&j, JR_ARRAY))
        return;
    while (!g->ran_out && jr_next_element(&j))
        add_annotation(g, p, jr_raw(&j));
}

static void read_part(struct item_reading *g, str raw)
{
    struct part_members m = {.type = STR_NONE};
    enum output_part_kind kind;
    struct output_part *p;

    if (fields_read_raw(raw, FIELDS(part_table), NULL, &m, NULL) == -1 ||
        !find_part_kind(g->item->kind, m.type, &kind))
        return;
    p = output_item_add_part(g->item, g->arena, kind);
    if (p == NULL) {
        g->ran_out = true;
        return;
    }
    append_text(g, kind == OUTPUT_PART_REFUSAL ? m.refusal : m.text, &p->text);
    append_text(g, without_ends(m.logprobs), &p->logprobs);
    read_annotations(g, p, m.annotations);
}

static void read_parts(struct item_reading *g, str list)
{
    struct jr j;

    jr_init(&j, list);
    if (str_is_none(list) || !jr_enter(&j, JR_ARRAY))
        return;
    while (!g->ran_out && jr_next_element(&j))
        read_part(g, jr_raw(&j));
    g->item->open = NULL;
}

/* ---- the item */

bool output_item_read_id(str text, struct id *ret)
{
    if (text.len == 0 || text.len > ID_BYTES)
        return false;
    *ret = (struct id){.len = (unsigned char)text.len};
    memcpy(ret->text, text.p, text.len);
    return true;
}

/* Two kinds have the type tool_search_call. */
static bool is_kind(enum output_kind kind, const struct item_members *m)
{
    const bool is_clients = str_eq(m->execution, STR("client"));

    return str_eq(m->type, str_from_c(output_kind_row(kind)->type)) &&
           (kind != OUTPUT_CLIENT_SEARCH_CALL || is_clients) &&
           (kind != OUTPUT_TOOL_SEARCH_CALL || !is_clients);
}

static bool read_kind(struct item_reading *g)
{
    for (enum output_kind kind = 0; kind < OUTPUT_KIND_COUNT; kind++) {
        if (is_kind(kind, &g->members)) {
            g->item->kind = kind;
            return true;
        }
    }
    return false;
}

static void read_status(struct item_reading *g)
{
    enum output_status status = OUTPUT_IN_PROGRESS;

    if (!output_has_status(g->item->kind))
        status = str_is_none(g->members.error) ? OUTPUT_COMPLETED : OUTPUT_FAILED;
    else
        while (status < OUTPUT_FAILED &&
               !str_eq(g->members.status, str_from_c(output_status_word(status))))
            status++;
    g->item->status = status;
}

static void read_phase(struct item_reading *g)
{
    enum phase phase = PHASE_FINAL_ANSWER;

    while (phase != PHASE_NONE && !str_eq(g->members.phase, str_from_c(output_phase_word(phase))))
        phase--;
    g->item->phase = phase;
}

/* What is called: a text where it grows by deltas and where it is one by nature, else raw. */
static void read_text(struct item_reading *g)
{
    const bool is_text = output_kind_row(g->item->kind)->delta != EVENT_NONE ||
                         g->item->kind == OUTPUT_MCP_APPROVAL_REQUEST;
    const str raw = str_is_none(g->members.text) ? STR("null") : g->members.text;

    append_text(g, is_text ? jr_string_of(raw) : raw, &g->item->text);
    g->item->n_said = g->item->text.len;
    g->item->is_whole = g->item->status != OUTPUT_IN_PROGRESS;
}

static void read_members(struct item_reading *g)
{
    const struct item_members *m = &g->members;
    struct output_item *item = g->item;

    read_parts(g, m->summary);
    read_parts(g, m->content);
    append_text(g, m->encrypted_content, &item->sealed);
    if (output_kind_row(item->kind)->text_member != NULL)
        read_text(g);
    else
        append_text(g, without_ends(m->tools), &item->text);
    if (output_hosted_kind(item->kind) == HOSTED_NONE)
        item->call_id = keep_text(g, m->call_id);
    item->name = keep_text(g, m->name);
    item->name_space = keep_text(g, m->name_space);
    item->server_label = keep_text(g, m->server_label);
    item->approval_request_id = keep_text(g, m->approval_request_id);
    item->container_id = keep_text(g, m->container_id);
    item->output = keep_text(g, m->output);
    item->outputs = keep_text(g, m->outputs);
    item->error =
        keep_text(g, item->kind == OUTPUT_MCP_LIST_TOOLS ? jr_string_of(m->error) : m->error);
}

/* ---- all of it */

static bool is_same(struct item_reading *g, struct buf *again, str body)
{
    const bool is_same = str_eq(buf_str(again), body);

    g->ran_out = g->ran_out || buf_failed(again);
    buf_fini(again);
    return is_same;
}

static bool read_item(struct item_reading *g, str body)
{
    struct buf again = {.limit = 0};

    if (!jr_is_valid(body) ||
        fields_read_raw(body, FIELDS(item_table), NULL, &g->members, NULL) == -1 ||
        !output_item_read_id(g->members.id, &g->item->id) || !read_kind(g))
        return false;
    read_status(g);
    read_phase(g);
    read_members(g);
    output_item_write(g->item, &again);
    return is_same(g, &again, body);
}

static int refuse_item(const struct item_reading *g, struct err *reterr)
{
    if (g->ran_out)
        return err_set_no_memory(reterr);
    err_set(reterr, ERR_STORE, "An item of the response is not stored as this gateway writes it.");
    return -1;
}

int output_item_read(str body, struct arena *a, struct output_item *ret, struct err *reterr)
{
    struct item_reading g = {.arena = a, .item = ret};

    *ret = (struct output_item){.kind = OUTPUT_MESSAGE};
    ret->end = &ret->first;
    if (read_item(&g, body) && !g.ran_out)
        return 0;
    output_item_fini(ret);
    *ret = (struct output_item){.kind = OUTPUT_MESSAGE};
    return refuse_item(&g, reterr);
}

struct output_part *output_part_read(str body, struct arena *a, struct output_item *item,
                                     struct err *reterr)
{
    struct item_reading g = {.arena = a, .item = item};
    const unsigned n_before = item->n_parts;
    struct buf again = {.limit = 0};

    if (jr_is_valid(body))
        read_part(&g, body);
    if (item->n_parts > n_before)
        output_part_write(item->open, &again);
    if (is_same(&g, &again, body) && !g.ran_out && body.len > 0)
        return item->open;
    (void)refuse_item(&g, reterr);
    return NULL;
}

int output_part_annotate(struct output_part *p, str annotation, struct arena *a, struct err *reterr)
{
    struct item_reading g = {.arena = a};

    if (jr_is_valid(annotation)) {
        add_annotation(&g, p, annotation);
        if (!g.ran_out)
            return 0;
    }
    return refuse_item(&g, reterr);
}
