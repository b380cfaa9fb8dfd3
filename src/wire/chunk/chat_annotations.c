/* chat_annotations.c -- {"type":"url_citation","url_citation":{...}}, as models with
 * web search and OpenRouter send it; other types have no counterpart here. */
#include "wire/chunk/chat_annotations.h"

#include "json/json_read.h"

static void read_citation(struct jr *j, struct citation *c)
{
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("url")))
            c->url = jr_string(j);
        else if (str_eq(key, STR("title")))
            c->title = jr_string(j);
        else if (str_eq(key, STR("start_index")))
            c->start = jr_int(j, 0);
        else if (str_eq(key, STR("end_index")))
            c->end = jr_int(j, 0);
        else
            jr_skip(j);
    }
}

static void read_annotation(struct chat_reader *r, struct jr *j)
{
    struct delta d = {.kind = DELTA_CITATION};
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("url_citation")))
            read_citation(j, &d.citation);
        else
            jr_skip(j);
    }
    if (d.citation.url.len > 0)
        r->on_delta(r->arg, &d);
}

void chat_annotations(struct chat_reader *r, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j))
        read_annotation(r, &j);
}
