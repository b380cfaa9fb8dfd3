/* call_id.c -- first the ids that fit are put down as taken, then the others
 * get one that is free. */
#include "conv/call_id.h"

#include <stdint.h>

#include "base/str_map.h"
#include "conv/reject.h"
#include "json/json_text.h"

struct shortener {
    struct str_map taken;   /* short ids; not NULL when in use */
    struct str_map renamed; /* long id -> char[CALL_ID_CHARS] */
    uint64_t collisions;
    struct arena *arena;
};

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool fits(str id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (!is_alphanumeric(id.p[i]))
            return false;
    }
    return id.len == CALL_ID_CHARS;
}

/* FNV-1a; the last step brings its upper bits into the lower ones. */
static uint64_t hash(str s)
{
    uint64_t h = 14695981039346656037U;

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211U;
    return (h ^ h >> 32) * 1111111111111111111U;
}

static void spell(uint64_t h, char out[CALL_ID_CHARS])
{
    static const char chars[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < CALL_ID_CHARS; i++, h /= 62)
        out[i] = chars[h % 62];
}

/* Puts id down as taken: 1, or 0 when it was taken before, or -1 without memory. */
static int reserve(struct shortener *s, str id)
{
    void **slot = str_map_slot(&s->taken, id, s->arena);

    if (slot == NULL)
        return -1;
    if (*slot != NULL)
        return 0;
    *slot = s;
    return 1;
}

/* A free id for a long one: its hash, else the next of a row that all share, so
 * that ids made to collide cost no more than others. */
static char *make_short(struct shortener *s, str id)
{
    char *name = arena_alloc(s->arena, CALL_ID_CHARS);
    uint64_t h = hash(id);
    int reserved = name == NULL ? -1 : 0;

    while (reserved == 0) {
        spell(h, name);
        reserved = reserve(s, str_from(name, CALL_ID_CHARS));
        if (reserved == 0)
            h = ++s->collisions;
    }
    return reserved == 1 ? name : NULL;
}

static int shorten(struct shortener *s, struct call *c)
{
    str id = json_text_dup(s->arena, c->id);
    void **slot;

    if (fits(id)) {
        c->id = id;
        return 0;
    }
    slot = str_is_none(id) ? NULL : str_map_slot(&s->renamed, id, s->arena);
    if (slot == NULL)
        return -1;
    if (*slot == NULL)
        *slot = make_short(s, id);
    if (*slot == NULL)
        return -1;
    c->id = str_from(*slot, CALL_ID_CHARS);
    return 0;
}

/* For every call of the conversation, until one fails. */
static int for_each_call(struct shortener *s, struct conversation *c,
                         int (*visit)(struct shortener *s, struct call *c))
{
    for (struct message *m = c->first; m != NULL; m = m->next) {
        for (struct call *call = m->first_call; call != NULL; call = call->next) {
            if (visit(s, call) == -1)
                return -1;
        }
    }
    return 0;
}

static int reserve_fitting(struct shortener *s, struct call *c)
{
    str id = json_text_dup(s->arena, c->id);

    if (str_is_none(id))
        return -1;
    return fits(id) && reserve(s, id) == -1 ? -1 : 0;
}

int call_ids_shorten(struct conversation *c, const struct id_source *ids, struct arena *a,
                     struct err *reterr)
{
    struct shortener s = {.arena = a};

    str_map_init(&s.taken, ids);
    str_map_init(&s.renamed, ids);
    if (for_each_call(&s, c, reserve_fitting) == -1 || for_each_call(&s, c, shorten) == -1)
        return err_set_no_memory(reterr);
    return 0;
}
