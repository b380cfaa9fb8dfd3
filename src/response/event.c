/* event.c -- constant heads from the table, values appended behind them. */
#include "response/event.h"

struct event_row {
    str head; /* all bytes up to the sequence number */
    const char *name;
    unsigned number;
    unsigned members;
};

static const struct event_row rows[EVENT_COUNT] = {
#define EVENT(symbol, wire, number, flags)                                                         \
    [EVENT_##                                                                                      \
        symbol] = {STR_INIT("event: " wire "\ndata: {\"type\":\"" wire "\",\"sequence_number\":"), \
                   wire, number, flags},
#include "response/event.def"
};

static const enum event_type types[] = {
#define EVENT(symbol, wire, number, flags) [number] = EVENT_##symbol,
#include "response/event.def"
};

const char *event_name(enum event_type type)
{
    return rows[type].name;
}

unsigned event_members(enum event_type type)
{
    return rows[type].members;
}

unsigned event_number(enum event_type type)
{
    return rows[type].number;
}

enum event_type event_of_number(unsigned number)
{
    return number < COUNT_OF(types) ? types[number] : EVENT_NONE;
}

static void text_member(str head, str escaped, struct buf *out)
{
    buf_append(out, head);
    buf_append(out, escaped);
    buf_char(out, '"');
}

static const str padding = STR_INIT("xxxxxxxxxxxxxxxx");

static void number_member(str head, uint64_t n, struct buf *out)
{
    buf_append(out, head);
    buf_uint(out, n);
}

static void write_ids(unsigned m, const struct event *e, struct buf *out)
{
    if ((m & EV_ITEM_ID) != 0)
        text_member(STR(",\"item_id\":\""), e->item_id, out);
    if ((m & EV_OUTPUT_INDEX) != 0)
        number_member(STR(",\"output_index\":"), e->output_index, out);
    if ((m & EV_CONTENT_INDEX) != 0)
        number_member(STR(",\"content_index\":"), e->part_index, out);
    if ((m & EV_SUMMARY_INDEX) != 0)
        number_member(STR(",\"summary_index\":"), e->part_index, out);
    if ((m & EV_ANNOTATION_INDEX) != 0)
        number_member(STR(",\"annotation_index\":"), e->annotation_index, out);
}

void event_ids(enum event_type type, const struct event *e, struct buf *out)
{
    write_ids(rows[type].members, e, out);
}

static void write_texts(unsigned m, const struct event *e, struct buf *out)
{
    if ((m & EV_DELTA) != 0)
        text_member(STR(",\"delta\":\""), e->text, out);
    if ((m & EV_DELTA) != 0 && e->obfuscate)
        text_member(STR(",\"obfuscation\":\""), str_skip(padding, e->text.len % padding.len), out);
    if ((m & EV_NAME) != 0)
        text_member(STR(",\"name\":\""), e->name, out);
    if ((m & EV_TEXT) != 0)
        text_member(STR(",\"text\":\""), e->text, out);
    if ((m & EV_REFUSAL) != 0)
        text_member(STR(",\"refusal\":\""), e->text, out);
    if ((m & EV_ARGUMENTS) != 0)
        text_member(STR(",\"arguments\":\""), e->text, out);
    if ((m & EV_INPUT) != 0)
        text_member(STR(",\"input\":\""), e->text, out);
    if ((m & EV_CODE) != 0)
        text_member(STR(",\"code\":\""), e->text, out);
    if ((m & EV_ANNOTATION) != 0) {
        buf_append(out, STR(",\"annotation\":"));
        buf_append(out, e->annotation);
    }
    if ((m & EV_LOGPROBS) != 0 && e->logprobs.len == 0) {
        buf_append(out, STR(",\"logprobs\":[]"));
    } else if ((m & EV_LOGPROBS) != 0) {
        buf_append(out, STR(",\"logprobs\":["));
        buf_append(out, e->logprobs);
        buf_char(out, ']');
    }
}

void event_begin(enum event_type type, uint64_t sequence_number, const struct event *e,
                 struct buf *out)
{
    unsigned m = rows[type].members;

    buf_append(out, rows[type].head);
    buf_uint(out, sequence_number);
    if (e->ids.len > 0)
        buf_append(out, e->ids);
    else
        write_ids(m, e, out);
    write_texts(m, e, out);
    if ((m & EV_ITEM) != 0)
        buf_append(out, STR(",\"item\":"));
    else if ((m & EV_PART) != 0)
        buf_append(out, STR(",\"part\":"));
    else if ((m & EV_RESPONSE) != 0)
        buf_append(out, STR(",\"response\":"));
}

void event_end(struct buf *out)
{
    buf_append(out, STR("}\n\n"));
}
