/* call_rounds.c -- marks are copied as they stand in memory: they never leave the process. */
#include "wire/request/call_rounds.h"

#include <string.h>

#include "base/str_map.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { HASH_SEED = 0x5eed };

/* ---- places */

void call_place_pass(struct call_place *p, const struct item *it)
{
    const bool is_said = it->kind == ITEM_MESSAGE && it->role == ROLE_USER;

    if (is_said && p->first == NULL)
        p->first = it;
    if (is_said || it->kind == ITEM_OUTPUT)
        p->before = it;
}

/* 0: nothing was said. */
static bool hash_content(const struct item *it, uint64_t *ret)
{
    struct arena scratch = {0};
    uint64_t h = HASH_SEED;
    bool ok = true;

    for (const struct part *p = it == NULL ? NULL : it->content.first; ok && p != NULL;
         p = p->next) {
        str text = p->kind == PART_AUDIO ? p->text : json_text_dup(&scratch, p->text);

        ok = !str_is_none(text);
        h = str_map_hash(h, text);
    }
    arena_fini(&scratch);
    *ret = it == NULL ? 0 : h;
    return ok;
}

bool call_context_move(struct call_context *c, const struct call_place *from,
                       const struct call_place *to)
{
    return (from->first == to->first || hash_content(to->first, &c->first)) &&
           (from->before == to->before || hash_content(to->before, &c->before));
}

/* ---- calls */

/* Some clients write arguments anew, with other spaces between them. */
bool call_hash_arguments(str arguments, uint64_t *ret)
{
    struct buf plain = {.limit = 0}, compact = {.limit = 0};
    bool ok;

    json_text_decode(arguments, &plain);
    if (!buf_failed(&plain) && jr_is_valid(buf_str(&plain)))
        json_copy_value(buf_str(&plain), &compact);
    else
        buf_append(&compact, buf_str(&plain));
    ok = !buf_failed(&plain) && !buf_failed(&compact);
    *ret = str_map_hash(HASH_SEED, buf_str(&compact));
    buf_fini(&plain);
    buf_fini(&compact);
    return ok;
}

static str write_hash(uint64_t hash, struct arena *a)
{
    static const char digits[] = "0123456789abcdef";
    char text[16];

    for (size_t i = 0; i < sizeof(text); i++, hash >>= 4)
        text[i] = digits[hash & 15];
    return arena_dup(a, str_from(text, sizeof(text)));
}

bool call_rounds_of_call(const struct item *call, struct arena *a, struct call_key *ret)
{
    const str name = call->kind == ITEM_CALL ? call->name : STR("");
    uint64_t hash;

    if (!call_hash_arguments(call->arguments, &hash))
        return false;
    *ret = (struct call_key){STR_NONE, call_rounds_id(call),
                             write_hash(str_map_hash(hash, name), a), STR("call")};
    return !str_is_none(ret->arguments);
}

/* ---- marks */

size_t call_marks_count(str marks)
{
    return marks.len / sizeof(struct call_mark);
}

struct call_mark call_mark_at(str marks, size_t i)
{
    struct call_mark mark;

    memcpy(&mark, marks.p + i * sizeof(mark), sizeof(mark));
    return mark;
}

void call_marks_write(str marks, const struct call_mark *mark, struct buf *out)
{
    const size_t n = call_marks_count(marks);

    if (n >= CALL_MARKS_MAX)
        marks = str_skip(marks, (n - CALL_MARKS_MAX + 1) * sizeof(*mark));
    if (marks.len > 0)
        buf_append(out, marks);
    buf_append(out, str_from((const char *)mark, sizeof(*mark)));
}
