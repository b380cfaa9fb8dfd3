/* legacy.c -- frames of the legacy dialect: one data line, its type first. */
#include "response/legacy.h"

#include "json/json_write.h"

static struct jw begin_event(const char *type, struct buf *out)
{
    struct jw w = jw_to(out);

    buf_append(out, STR("data: "));
    jw_object(&w);
    jw_key_string(&w, "type", str_from_c(type));
    return w;
}

static void end_event(struct jw *w)
{
    jw_object_end(w);
    buf_append(w->out, STR("\n\n"));
}

void legacy_emit_object(const struct response *r, enum event_type type, struct buf *out)
{
    bool is_end = type != EVENT_CREATED && type != EVENT_QUEUED && type != EVENT_IN_PROGRESS;
    struct jw w = begin_event(event_name(is_end ? EVENT_COMPLETED : type), out);

    jw_key(&w, "response");
    legacy_write_object(r, out);
    end_event(&w);
}

/* ---- text */

/* Text has index 0, wherever it stands. */
static void emit_text(str item_id, str text, struct buf *out)
{
    struct jw w = begin_event(event_name(EVENT_TEXT_DELTA), out);

    jw_key_escaped(&w, "item_id", item_id);
    jw_key_int(&w, "output_index", 0);
    jw_key_int(&w, "content_index", 0);
    jw_key_escaped(&w, "delta", text);
    end_event(&w);
}

/* A refusal is text like any other here; reasoning is not shown. */
void legacy_emit_part(const struct output_item *item, const struct output_part *part,
                      enum event_type type, str text, struct buf *out)
{
    if (item->kind == OUTPUT_MESSAGE && type == output_part_row(part->kind)->delta)
        emit_text(id_str(&item->id), text, out);
}

/* ---- calls */

static int64_t number_of(const struct response *r, const struct output_item *call)
{
    int64_t n = 0;

    for (const struct output_item *item = r->first; item != call; item = item->next)
        n += legacy_shows(item);
    return n;
}

/* Another id than that of the call, from the one the item has in the other dialect. */
static void write_item_id(const struct output_item *item, const char *key, struct jw *w)
{
    str own = str_skip(id_str(&item->id), strlen(output_kind_row(item->kind)->prefix));

    if (item->is_old_form) {
        jw_key_escaped(w, key, legacy_call_id(item));
        return;
    }
    jw_key(w, key);
    jw_open_string(w);
    buf_append(w->out, STR("tool_call_"));
    buf_append(w->out, own);
    jw_close_string(w);
}

void legacy_emit_call(const struct response *r, const struct output_item *item,
                      enum event_type type, str text, struct buf *out)
{
    bool is_done = type == output_kind_row(item->kind)->done;
    struct jw w;

    if (!legacy_shows(item) || type == EVENT_NONE || (is_done && item->is_old_form))
        return;
    w = begin_event(event_name(is_done ? EVENT_ARGUMENTS_DONE : EVENT_ARGUMENTS_DELTA), out);
    write_item_id(item, is_done ? "id" : "item_id", &w);
    jw_key_int(&w, "output_index", number_of(r, item));
    jw_key_escaped(&w, is_done ? "arguments" : "delta", text);
    end_event(&w);
}

static void emit_created(const struct response *r, const struct output_item *item, struct buf *out)
{
    struct jw w = begin_event("response.tool_calls.created", out);

    jw_key_escaped(&w, "item_id", legacy_call_id(item));
    jw_key_int(&w, "output_index", number_of(r, item));
    jw_key(&w, "tool_call");
    jw_object(&w);
    jw_key_escaped(&w, "id", legacy_call_id(item));
    jw_key_escaped(&w, "name", item->name);
    jw_key_string(&w, "arguments", STR(""));
    jw_object_end(&w);
    end_event(&w);
}

/* What a tool returned is shown as text. */
static void emit_output(const struct output_item *item, struct buf *out)
{
    struct buf text = {.limit = 0};

    if (legacy_write_output(item, &text))
        emit_text(legacy_call_id(item), buf_str(&text), out);
    if (buf_failed(&text))
        out->failed = true;
    buf_fini(&text);
}

void legacy_emit_item(const struct response *r, const struct output_item *item,
                      enum event_type type, struct buf *out)
{
    if (!legacy_shows(item))
        return;
    if (type == EVENT_ITEM_DONE)
        emit_output(item, out);
    else if (item->is_old_form)
        emit_created(r, item, out);
    else
        legacy_emit_object(r, EVENT_IN_PROGRESS, out);
}
