/* cuts.c -- both directions keep the same place: where the next event is, if it says nothing else. */
#include "response/cuts.h"

#include <limits.h>

enum {
    LONG_DELTA = 0,
    FIRST_TYPE = 192,
    NOTE = 252,
    PART = 253,
    ITEM = 254,
};

enum { NUMBER_BITS = 7, MAX_NUMBER_BYTES = 8 };

void cuts_fini(struct cuts *c)
{
    buf_fini(&c->bytes);
}

/* ---- the place */

static bool is_delta(enum event_type type)
{
    return (event_members(type) & EV_DELTA) != 0;
}

static bool has_item(enum event_type type)
{
    return (event_members(type) & EV_OUTPUT_INDEX) != 0;
}

static bool has_part(enum event_type type)
{
    return (event_members(type) & (EV_CONTENT_INDEX | EV_SUMMARY_INDEX)) != 0;
}

static bool opens_part(enum event_type type)
{
    return type == EVENT_PART_ADDED || type == EVENT_SUMMARY_PART_ADDED;
}

/* Elements that follow others have a comma before them. */
static size_t next_logprobs(const struct cuts_place *p)
{
    return p->logprobs_from == 0 ? 0 : p->logprobs_from + 1;
}

static void enter_item(struct cuts_place *p, unsigned item)
{
    if (p->item == item)
        return;
    p->item = item;
    p->part = p->n_parts = p->n_annotations = 0;
}

static void enter_part(struct cuts_place *p, unsigned part)
{
    if (p->part == part)
        return;
    p->part = part;
    p->n_annotations = 0;
}

/* The item that an event is about when none is named, and the part likewise. */
static unsigned expected_item(const struct cuts_place *p, enum event_type type)
{
    return type == EVENT_ITEM_ADDED ? p->n_items : p->item;
}

static unsigned expected_part(const struct cuts_place *p, enum event_type type)
{
    return opens_part(type) ? p->n_parts : p->part;
}

static void pass_delta(struct cuts_place *p, const struct event_cut *cut)
{
    p->from = cut->from + cut->len;
    if (cut->logprobs_len > 0)
        p->logprobs_from = cut->logprobs_from + cut->logprobs_len;
}

/* Moves the place behind an event that was written or read in full. */
static void pass_event(struct cuts_place *p, const struct event_cut *cut)
{
    if (has_item(cut->type))
        enter_item(p, cut->item);
    if (has_part(cut->type))
        enter_part(p, cut->part);
    if (cut->type == EVENT_ITEM_ADDED) {
        p->n_items = cut->item + 1;
        p->part = p->n_parts = p->n_annotations = 0;
    }
    if (opens_part(cut->type)) {
        p->n_parts = cut->part + 1;
        p->n_annotations = 0;
    }
    p->n_annotations += cut->type == EVENT_TEXT_ANNOTATION;
    if (!is_delta(cut->type))
        return;
    p->delta = cut->type;
    p->delta_item = cut->item;
    p->delta_part = cut->part;
    p->has_logprobs = cut->logprobs_len > 0;
    p->logprobs_from = 0;
    pass_delta(p, cut);
}

/* ---- writing */

static void write_number(struct buf *out, uint64_t n)
{
    for (; n >= 1U << NUMBER_BITS; n >>= NUMBER_BITS)
        buf_char(out, (char)(0x80 | (n & 0x7f)));
    buf_char(out, (char)n);
}

static bool follows_delta(const struct cuts_place *p, const struct event_cut *cut)
{
    return cut->type == p->delta && cut->item == p->delta_item && cut->part == p->delta_part &&
           cut->from == p->from &&
           (cut->logprobs_len == 0 || (p->has_logprobs && cut->logprobs_from == next_logprobs(p)));
}

static void write_delta_after(struct cuts *c, const struct event_cut *cut)
{
    if (cut->len > 0 && cut->len < FIRST_TYPE) {
        buf_char(&c->bytes, (char)cut->len);
    } else {
        buf_char(&c->bytes, LONG_DELTA);
        write_number(&c->bytes, cut->len);
    }
    if (c->place.has_logprobs)
        write_number(&c->bytes, cut->logprobs_len);
    pass_delta(&c->place, cut);
}

static void write_delta_place(struct buf *out, const struct event_cut *cut)
{
    write_number(out, cut->from);
    write_number(out, cut->len);
    if ((event_members(cut->type) & EV_LOGPROBS) == 0)
        return;
    write_number(out, cut->logprobs_len);
    if (cut->logprobs_len > 0)
        write_number(out, cut->logprobs_from);
}

static void write_event(struct cuts *c, const struct event_cut *cut)
{
    struct cuts_place *p = &c->place;

    if (has_item(cut->type) && cut->item != expected_item(p, cut->type)) {
        buf_char(&c->bytes, (char)ITEM);
        write_number(&c->bytes, cut->item);
        enter_item(p, cut->item);
    }
    if (has_part(cut->type) && cut->part != expected_part(p, cut->type)) {
        buf_char(&c->bytes, (char)PART);
        write_number(&c->bytes, cut->part);
    }
    if (!str_is_none(cut->note)) {
        buf_char(&c->bytes, (char)NOTE);
        write_number(&c->bytes, cut->note.len);
        buf_append(&c->bytes, cut->note);
    }
    buf_char(&c->bytes, (char)(FIRST_TYPE + event_number(cut->type)));
    if (is_delta(cut->type))
        write_delta_place(&c->bytes, cut);
    pass_event(p, cut);
}

void cuts_note(struct cuts *c, const struct event_cut *cut)
{
    if (follows_delta(&c->place, cut))
        write_delta_after(c, cut);
    else
        write_event(c, cut);
    c->n++;
}

/* ---- reading */

/* What is left of the bytes; damaged once a number does not end or fit. */
struct source {
    str rest;
    bool is_damaged;
};

static uint64_t read_number(struct source *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < MAX_NUMBER_BYTES && i < s->rest.len; i++) {
        const unsigned char byte = (unsigned char)s->rest.p[i];

        n |= (uint64_t)(byte & 0x7f) << (i * NUMBER_BITS);
        if (byte < 0x80) {
            s->rest = str_skip(s->rest, i + 1);
            s->is_damaged = s->is_damaged || (byte == 0 && i > 0); /* there is a shorter one */
            return n;
        }
    }
    s->is_damaged = true;
    return 0;
}

static size_t read_length(struct source *s)
{
    const uint64_t n = read_number(s);

    s->is_damaged = s->is_damaged || n > SIZE_MAX / 4;
    return s->is_damaged ? 0 : (size_t)n;
}

static unsigned read_index(struct source *s)
{
    const uint64_t n = read_number(s);

    s->is_damaged = s->is_damaged || n >= UINT_MAX;
    return s->is_damaged ? 0 : (unsigned)n;
}

static str read_note(struct source *s)
{
    const size_t len = read_length(s);
    str note;

    s->is_damaged = s->is_damaged || len > s->rest.len;
    if (s->is_damaged)
        return STR_NONE;
    note = str_from(s->rest.p, len);
    s->rest = str_skip(s->rest, len);
    return note;
}

/* What may stand before the type of an event. */
struct named {
    bool item, part;
    struct event_cut cut;
};

/* The byte behind it. */
static unsigned char read_named(struct source *s, struct named *ret)
{
    while (!s->is_damaged && s->rest.len > 0) {
        const unsigned char byte = (unsigned char)s->rest.p[0];

        s->rest = str_skip(s->rest, 1);
        if (byte == ITEM) {
            ret->cut.item = read_index(s);
            ret->item = true;
        } else if (byte == PART) {
            ret->cut.part = read_index(s);
            ret->part = true;
        } else if (byte == NOTE) {
            ret->cut.note = read_note(s);
        } else {
            return byte;
        }
    }
    s->is_damaged = true;
    return 0;
}

static void read_delta_after(struct source *s, struct cuts_place *p, unsigned char byte,
                             struct event_cut *cut)
{
    s->is_damaged = s->is_damaged || p->delta == EVENT_NONE;
    cut->type = p->delta;
    cut->item = p->delta_item;
    cut->part = p->delta_part;
    cut->from = p->from;
    cut->len = byte == LONG_DELTA ? read_length(s) : byte;
    cut->logprobs_from = next_logprobs(p);
    cut->logprobs_len = p->has_logprobs ? read_length(s) : 0;
    pass_delta(p, cut);
}

static void read_delta_place(struct source *s, struct event_cut *cut)
{
    cut->from = read_length(s);
    cut->len = read_length(s);
    if ((event_members(cut->type) & EV_LOGPROBS) != 0)
        cut->logprobs_len = read_length(s);
    if (cut->logprobs_len > 0)
        cut->logprobs_from = read_length(s);
}

static void read_event(struct source *s, struct cuts_place *p, struct named *named)
{
    struct event_cut *cut = &named->cut;

    s->is_damaged = s->is_damaged || cut->type == EVENT_NONE ||
                    (named->item && !has_item(cut->type)) || (named->part && !has_part(cut->type));
    if (named->item)
        enter_item(p, cut->item);
    else
        cut->item = has_item(cut->type) ? expected_item(p, cut->type) : 0;
    if (!named->part)
        cut->part = has_part(cut->type) ? expected_part(p, cut->type) : 0;
    if (cut->type == EVENT_TEXT_ANNOTATION)
        cut->annotation = p->part == cut->part ? p->n_annotations : 0;
    if (is_delta(cut->type))
        read_delta_place(s, cut);
    pass_event(p, cut);
}

bool cuts_next(struct cuts_reader *r, str bytes, struct event_cut *ret)
{
    struct named named = {.cut = {.note = STR_NONE}};
    struct source s = {.rest = str_skip(bytes, r->at)};
    struct cuts_place place = r->place;
    const unsigned char byte = read_named(&s, &named);

    if (byte < FIRST_TYPE) {
        s.is_damaged = s.is_damaged || named.item || named.part || !str_is_none(named.cut.note);
        read_delta_after(&s, &place, byte, &named.cut);
    } else {
        named.cut.type = event_of_number(byte - FIRST_TYPE);
        read_event(&s, &place, &named);
    }
    if (s.is_damaged)
        return false;
    r->at = bytes.len - s.rest.len;
    r->n++;
    r->place = place;
    *ret = named.cut;
    return true;
}

static bool append_bytes(struct cuts *c, str bytes)
{
    struct cuts_reader r = {.place = c->place};
    struct event_cut cut;

    while (cuts_next(&r, bytes, &cut))
        continue;
    if (r.at != bytes.len)
        return false;
    buf_append(&c->bytes, bytes);
    if (buf_failed(&c->bytes))
        return false;
    c->n += r.n;
    c->place = r.place;
    return true;
}

bool cuts_append(struct cuts *c, str bytes)
{
    struct buf unpacked = {.limit = 0};
    bool ok;

    if (!cuts_are_packed(bytes))
        return append_bytes(c, bytes);
    ok = cuts_unpack(bytes, &unpacked);
    c->bytes.failed = c->bytes.failed || buf_failed(&unpacked);
    ok = ok && !buf_failed(&unpacked) && append_bytes(c, buf_str(&unpacked));
    buf_fini(&unpacked);
    return ok;
}
