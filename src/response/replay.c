/* replay.c -- frames of events, as response_emit.c wrote them first. */
#include "response/replay.h"

#include "response/output_announced.h"
#include "response/replay_walk.h"
#include "response/response_internal.h"

void replay_init(struct replay *p)
{
    *p = (struct replay){.next = 0};
}

/* ---- the response */

/* A response of the background says from the beginning that it waits. */
static bool was_queued(const struct replay *p, str cuts)
{
    struct cuts_reader next = p->reader;
    struct event_cut cut;

    return cuts_next(&next, cuts, &cut) && cut.type == EVENT_QUEUED;
}

static str first_service_tier(str cuts)
{
    struct cuts_reader begin = {.at = 0};
    struct event_cut cut;

    return cuts_next(&begin, cuts, &cut) && !str_is_none(cut.note) ? cut.note : STR("default");
}

/* The rest of a response does not change before it ends. */
static struct response as_begun(const struct response *r, enum response_status status, str cuts)
{
    struct response begun = *r;

    begun.status = status;
    begun.service_tier = first_service_tier(cuts);
    return begun;
}

static bool is_terminal(enum event_type type)
{
    return type == EVENT_COMPLETED || type == EVENT_INCOMPLETE || type == EVENT_FAILED;
}

static bool has_failed(const struct response *r)
{
    return r->status == RESPONSE_CANCELLED || (r->status == RESPONSE_FAILED && r->error != NULL);
}

/* Does a terminal event, or the error before it, tell what the response came to? */
static bool is_its_end(const struct response *r, enum event_type type)
{
    switch (type) {
    case EVENT_COMPLETED:
        return r->status == RESPONSE_COMPLETED;
    case EVENT_INCOMPLETE:
        return r->status == RESPONSE_INCOMPLETE;
    default:
        return has_failed(r);
    }
}

static int frame_object(const struct replay *p, const struct response *r, str cuts,
                        enum event_type type, struct buf *out)
{
    const bool is_queued = type == EVENT_QUEUED || (type == EVENT_CREATED && was_queued(p, cuts));
    struct response begun;

    if (is_terminal(type)) {
        if (!is_its_end(r, type))
            return -1;
        response_frame_object(r, type, p->next, out);
        return 0;
    }
    begun = as_begun(r, is_queued ? RESPONSE_QUEUED : RESPONSE_IN_PROGRESS, cuts);
    response_frame_object(&begun, type, p->next, out);
    return 0;
}

/* ---- items and texts */

static struct event event_of(const struct event_cut *cut, const struct replay_event *e,
                             bool obfuscate)
{
    return (struct event){.item_id = e->item == NULL ? STR("") : id_str(&e->item->id),
                          .output_index = cut->item,
                          .part_index = cut->part,
                          .annotation_index = cut->annotation,
                          .text = e->text,
                          .name = e->item == NULL ? STR("") : e->item->name,
                          .logprobs = e->logprobs,
                          .annotation = e->annotation,
                          .obfuscate = obfuscate};
}

static void write_item(const struct event_cut *cut, const struct output_item *item, struct buf *out)
{
    struct output_item announced;

    if (cut->type == EVENT_ITEM_ADDED) {
        announced = output_item_announced(item, cut->note);
        item = &announced;
    }
    output_item_write(item, out);
}

static void write_part(const struct event_cut *cut, const struct output_part *part, struct buf *out)
{
    struct output_part announced;

    if (cut->type == output_part_row(part->kind)->added) {
        announced = output_part_announced(part);
        part = &announced;
    }
    output_part_write(part, out);
}

static int frame_event(const struct replay *p, struct replay_walk *w, const struct event_cut *cut,
                       bool obfuscate, struct buf *out)
{
    struct replay_event found;
    struct event e;

    if (!replay_walk_to(w, cut, &found) ||
        (cut->type == EVENT_ITEM_DONE && found.item->status == OUTPUT_IN_PROGRESS))
        return -1;
    e = event_of(cut, &found, obfuscate);
    event_begin(cut->type, p->next, &e, out);
    if ((event_members(cut->type) & EV_ITEM) != 0)
        write_item(cut, found.item, out);
    if ((event_members(cut->type) & EV_PART) != 0)
        write_part(cut, found.part, out);
    event_end(out);
    return 0;
}

/* ---- all */

static int frame_cut(const struct replay *p, struct replay_walk *w, str cuts,
                     const struct event_cut *cut, bool obfuscate, struct buf *out)
{
    const unsigned members = event_members(cut->type);

    if ((members & EV_RESPONSE) != 0)
        return frame_object(p, w->response, cuts, cut->type, out);
    if ((members & EV_ERROR) == 0)
        return frame_event(p, w, cut, obfuscate, out);
    if (!is_its_end(w->response, EVENT_ERROR))
        return -1;
    response_frame_error(w->response, p->next, out);
    return 0;
}

static bool is_behind(uint64_t number, int64_t after)
{
    return after < 0 || number > (uint64_t)after;
}

int replay_events(struct replay *p, const struct response *r, str cuts, uint64_t limit,
                  int64_t after, bool obfuscate, size_t max, struct buf *out)
{
    struct replay_walk walk = {.response = r};
    struct event_cut cut;

    for (bool has_any = false; p->next < limit && !(has_any && out->len >= max); p->next++) {
        if (!cuts_next(&p->reader, cuts, &cut))
            return p->reader.at == cuts.len ? 0 : -1;
        p->has_ended = is_terminal(cut.type);
        if (!is_behind(p->next, after))
            continue;
        if (frame_cut(p, &walk, cuts, &cut, obfuscate, out) == -1)
            return -1;
        has_any = true;
    }
    return 0;
}
