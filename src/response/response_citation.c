/* response_citation.c -- citations of a text, sent when all of it is known.
 *
 * An upstream may name its sources before the words they belong to; clients
 * want the event after the text, with a range inside of it. */
#include "json/json_copy.h"
#include "json/json_text.h"
#include "response/response_internal.h"

bool response_keep_citation(struct response *r, const struct citation *c)
{
    struct output_part *p = r->prose == NULL ? NULL : r->prose->open;
    struct output_citation *kept;

    if (p == NULL || p->kind != OUTPUT_PART_TEXT)
        return true;
    if (!response_claim(r, sizeof(*kept) + c->url.len + c->title.len))
        return false;
    kept = arena_alloc(&r->arena, sizeof(*kept));
    if (kept == NULL) {
        response_break(r, ERR_INTERNAL);
        return false;
    }
    kept->citation = *c;
    kept->citation.url = arena_dup(&r->arena, c->url);
    kept->citation.title = arena_dup(&r->arena, str_is_none(c->title) ? STR("") : c->title);
    if (str_is_none(kept->citation.url) || str_is_none(kept->citation.title)) {
        response_break(r, ERR_INTERNAL);
        return false;
    }
    *p->citations_end = kept;
    p->citations_end = &kept->next;
    return true;
}

static int64_t within(int64_t n, int64_t least, int64_t most)
{
    return n < least ? least : n > most ? most : n;
}

static void write_citation(const struct citation *c, int64_t text_chars, struct buf *out)
{
    int64_t start = within(c->start, 0, text_chars);
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "type", STR("url_citation"));
    json_copy_key_text(&w, "url", c->url);
    json_copy_key_text(&w, "title", c->title);
    jw_key_int(&w, "start_index", start);
    jw_key_int(&w, "end_index", within(c->end, start, text_chars));
    jw_object_end(&w);
}

void response_write_citations(struct response *r, struct output_part *p)
{
    int64_t text_chars = p->citation == NULL ? 0 : (int64_t)json_text_count(buf_str(&p->text));

    for (struct output_citation *c = p->citation; c != NULL; c = c->next) {
        size_t before = p->annotations.len, from;

        if (p->annotations.len > 0)
            buf_char(&p->annotations, ',');
        from = p->annotations.len;
        write_citation(&c->citation, text_chars, &p->annotations);
        if (buf_failed(&p->annotations)) {
            p->annotations.len = before; /* no event will carry it */
            response_break(r, ERR_INTERNAL);
            return;
        }
        c->from = from;
        c->to = p->annotations.len;
    }
}

void response_emit_citations(struct response *r, const struct output_item *item,
                             const struct output_part *p, struct buf *out)
{
    struct event e = {
        .item_id = id_str(&item->id), .output_index = item->index, .part_index = p->index};

    for (const struct output_citation *c = p->citation; c != NULL && c->to > 0; c = c->next) {
        e.annotation = str_from(p->annotations.p + c->from, c->to - c->from);
        response_emit(r, EVENT_TEXT_ANNOTATION, &e, out);
        e.annotation_index++;
    }
}
