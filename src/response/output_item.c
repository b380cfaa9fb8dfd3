/* output_item.c -- tables of kinds, and items as JSON (CONTRACT 3.1). */
#include "response/output_item.h"

#include "json/json_write.h"

static const struct output_part_row part_rows[] = {
#define PART(symbol, type, member, item, added, delta, text_done, done)                            \
    [OUTPUT_PART_##symbol] = {                                                                     \
        type, member, item, EVENT_##added, EVENT_##delta, EVENT_##text_done, EVENT_##done},
#include "response/kind.def"
};

static const struct output_kind_row item_rows[OUTPUT_KIND_COUNT] = {
#define ITEM(symbol, type, prefix) [OUTPUT_##symbol] = {type, prefix, NULL, EVENT_NONE, EVENT_NONE},
#define CALL(symbol, type, prefix, member, delta, done)                                            \
    [OUTPUT_##symbol] = {type, prefix, member, EVENT_##delta, EVENT_##done},
#include "response/kind.def"
};

static const struct output_hosted_row hosted_rows[OUTPUT_KIND_COUNT] = {
#define HOSTED(symbol, in_progress, running, completed, failed, cut)                               \
    [OUTPUT_##symbol] = {EVENT_##in_progress, EVENT_##running, EVENT_##completed, EVENT_##failed,  \
                         OUTPUT_##cut},
#include "response/kind.def"
};

static const enum hosted_kind hosted_kinds[OUTPUT_KIND_COUNT] = {
#define HOSTED_TOOL(symbol, ...) [OUTPUT_##symbol##_CALL] = HOSTED_##symbol,
#include "conv/hosted.def"
};

static const enum output_kind hosted_calls[HOSTED_KIND_COUNT] = {
#define HOSTED_TOOL(symbol, ...) [HOSTED_##symbol] = OUTPUT_##symbol##_CALL,
#include "conv/hosted.def"
};

static const char *const phase_words[] = {
    [PHASE_COMMENTARY] = "commentary",
    [PHASE_FINAL_ANSWER] = "final_answer",
};

static const char *const status_words[] = {
    [OUTPUT_IN_PROGRESS] = "in_progress",
    [OUTPUT_COMPLETED] = "completed",
    [OUTPUT_INCOMPLETE] = "incomplete",
    [OUTPUT_FAILED] = "failed",
};

const struct output_part_row *output_part_row(enum output_part_kind kind)
{
    return &part_rows[kind];
}

const struct output_kind_row *output_kind_row(enum output_kind kind)
{
    return &item_rows[kind];
}

const struct output_hosted_row *output_hosted_row(enum output_kind kind)
{
    return &hosted_rows[kind];
}

const char *output_status_word(enum output_status status)
{
    return status_words[status];
}

const char *output_phase_word(enum phase phase)
{
    return phase_words[phase];
}

bool output_has_status(enum output_kind kind)
{
    return kind != OUTPUT_MCP_LIST_TOOLS && kind != OUTPUT_MCP_APPROVAL_REQUEST &&
           kind != OUTPUT_COMPACTION;
}

bool output_is_hosted_call(enum output_kind kind)
{
    return kind == OUTPUT_MCP_CALL || hosted_kinds[kind] != HOSTED_NONE;
}

enum hosted_kind output_hosted_kind(enum output_kind kind)
{
    return hosted_kinds[kind];
}

enum output_kind output_hosted_call(enum hosted_kind kind)
{
    return hosted_calls[kind];
}

struct output_item *output_item_new(struct arena *a, enum output_kind kind, unsigned index,
                                    const struct id_source *ids)
{
    struct output_item *item = arena_alloc(a, sizeof(*item));

    if (item == NULL)
        return NULL;
    item->kind = kind;
    item->index = index;
    item->id = id_make(ids, item_rows[kind].prefix, ID_RANDOM_CHARS);
    item->end = &item->first;
    return item;
}

void output_item_fini(struct output_item *item)
{
    for (struct output_part *p = item->first; p != NULL; p = p->next) {
        buf_fini(&p->text);
        buf_fini(&p->delta_ids);
        buf_fini(&p->logprobs);
        buf_fini(&p->annotations);
    }
    buf_fini(&item->sealed);
    buf_fini(&item->text);
    buf_fini(&item->arguments);
    buf_fini(&item->upstream_arguments);
}

struct output_part *output_item_add_part(struct output_item *item, struct arena *a,
                                         enum output_part_kind kind)
{
    struct output_part *p = arena_alloc(a, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->kind = kind;
    p->index = item->n_parts;
    p->citations_end = &p->citation;
    *item->end = p;
    item->end = &p->next;
    item->open = p;
    item->n_parts++;
    return p;
}

static void write_elements(const char *key, const struct buf *elements, struct jw *w)
{
    jw_key(w, key);
    jw_array(w);
    buf_append(w->out, buf_str(elements));
    jw_array_end(w);
}

static void write_part(const struct output_part *p, struct jw *w)
{
    const struct output_part_row *row = &part_rows[p->kind];

    jw_object(w);
    jw_key_string(w, "type", str_from_c(row->type));
    jw_key_escaped(w, row->text_member, buf_str(&p->text));
    if (p->kind == OUTPUT_PART_TEXT) {
        write_elements("annotations", &p->annotations, w);
        write_elements("logprobs", &p->logprobs, w);
    }
    jw_object_end(w);
}

void output_part_write(const struct output_part *p, struct buf *out)
{
    struct jw w = jw_to(out);

    write_part(p, &w);
}

/* An array of the item's parts, summaries apart from the rest. */
static void write_parts(const struct output_item *item, const char *key, bool summaries,
                        struct jw *w)
{
    jw_key(w, key);
    jw_array(w);
    for (const struct output_part *p = item->first; p != NULL; p = p->next) {
        if ((p->kind == OUTPUT_PART_SUMMARY) == summaries)
            write_part(p, w);
    }
    jw_array_end(w);
}

static void write_call(const struct output_item *item, struct jw *w)
{
    const struct output_kind_row *row = &item_rows[item->kind];

    jw_key_escaped(w, "call_id", item->call_id);
    jw_key_escaped(w, "name", item->name);
    jw_key_escaped(w, row->text_member, buf_str(&item->text));
    if (!str_is_none(item->name_space))
        jw_key_escaped(w, "namespace", item->name_space);
}

/* Calls of the tools that clients run and the API has item types for. */
static void write_client_call(const struct output_item *item, struct jw *w)
{
    jw_key_escaped(w, "call_id", item->call_id);
    if (item->kind == OUTPUT_CLIENT_SEARCH_CALL)
        jw_key_string(w, "execution", STR("client"));
    jw_key_raw(w, item_rows[item->kind].text_member, buf_str(&item->text));
    if (item->kind == OUTPUT_SHELL_CALL)
        jw_key_raw(w, "environment", STR("{\"type\":\"local\"}"));
}

static void write_mcp_call(const struct output_item *item, struct jw *w)
{
    jw_key_escaped(w, "server_label", item->server_label);
    jw_key_escaped(w, "name", item->name);
    jw_key_escaped(w, "arguments", buf_str(&item->text));
    if (item->kind == OUTPUT_MCP_APPROVAL_REQUEST)
        return;
    jw_key_escaped(w, "output", item->output);
    jw_key_raw(w, "error", item->error);
    jw_key_escaped(w, "approval_request_id", item->approval_request_id);
}

/* Strict clients take no null here (CONTRACT 3.1). */
static void write_tool_list(const struct output_item *item, struct jw *w)
{
    jw_key_escaped(w, "server_label", item->server_label);
    write_elements("tools", &item->text, w);
    if (!str_is_none(item->error))
        jw_key_escaped(w, "error", item->error);
}

/* Of a search for tools and of what it has found, when the gateway has run it. */
static void write_searcher(struct jw *w)
{
    jw_key_escaped(w, "call_id", STR_NONE);
    jw_key_string(w, "execution", STR("server"));
}

static void write_found_tools(const struct output_item *item, struct jw *w)
{
    write_searcher(w);
    write_elements("tools", &item->text, w);
}

static void write_hosted_call(const struct output_item *item, struct jw *w)
{
    const struct output_kind_row *row = &item_rows[item->kind];
    const str text = buf_str(&item->text);

    if (item->kind == OUTPUT_TOOL_SEARCH_CALL)
        write_searcher(w);
    if (row->delta == EVENT_NONE)
        jw_key_raw(w, row->text_member, str_is_none(item->shown) ? text : item->shown);
    else
        jw_key_escaped(w, row->text_member, text);
    if (item->kind == OUTPUT_CODE_INTERPRETER_CALL) {
        jw_key_escaped(w, "container_id", item->container_id);
        jw_key_raw(w, "outputs", item->outputs);
    }
}

static void write_members(const struct output_item *item, struct jw *w)
{
    switch (item->kind) {
    case OUTPUT_MESSAGE:
        jw_key_string(w, "role", STR("assistant"));
        if (item->phase != PHASE_NONE)
            jw_key_string(w, "phase", str_from_c(phase_words[item->phase]));
        write_parts(item, "content", false, w);
        break;
    case OUTPUT_REASONING:
        write_parts(item, "summary", true, w);
        write_parts(item, "content", false, w);
        if (item->sealed.len > 0)
            jw_key_escaped(w, "encrypted_content", buf_str(&item->sealed));
        break;
    case OUTPUT_FUNCTION_CALL:
    case OUTPUT_CUSTOM_TOOL_CALL:
        write_call(item, w);
        break;
    case OUTPUT_LOCAL_SHELL_CALL:
    case OUTPUT_SHELL_CALL:
    case OUTPUT_APPLY_PATCH_CALL:
    case OUTPUT_CLIENT_SEARCH_CALL:
        write_client_call(item, w);
        break;
    case OUTPUT_MCP_LIST_TOOLS:
        write_tool_list(item, w);
        break;
    case OUTPUT_TOOL_SEARCH_OUTPUT:
        write_found_tools(item, w);
        break;
    case OUTPUT_MCP_CALL:
    case OUTPUT_MCP_APPROVAL_REQUEST:
        write_mcp_call(item, w);
        break;
    case OUTPUT_COMPACTION:
        jw_key_escaped(w, "encrypted_content", buf_str(&item->sealed));
        break;
    default:
        write_hosted_call(item, w);
        break;
    }
}

void output_item_write(const struct output_item *item, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "id", id_str(&item->id));
    jw_key_string(&w, "type", str_from_c(item_rows[item->kind].type));
    if (output_has_status(item->kind))
        jw_key_string(&w, "status", str_from_c(status_words[item->status]));
    write_members(item, &w);
    jw_object_end(&w);
}
