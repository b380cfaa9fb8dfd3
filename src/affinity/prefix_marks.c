/* prefix_marks.c -- one pass over the body; messages are chained as they come, members are summed.
 *
 * `messages` may stand before members that belong in front of it, so the two are kept apart until the
 * end: `front` is a sum over members, which knows no order, and `rest` a chain over messages, each
 * hashed under the hash of all before it. A mark's hash is that of the pair. */
#include "affinity/prefix_marks.h"

#include "affinity/keyed_hash.h"
#include "json/json_walk.h"

enum {
    FIRST_CAPACITY = 8,                /* most requests are short, and lists grow by themselves */
    KEPT_FIRST = PREFIX_MARKS_MAX / 2, /* h0 included */
    KEPT_LAST = PREFIX_MARKS_MAX - KEPT_FIRST,
};

/* A body that is being read. */
struct reading {
    uint64_t key;
    struct arena *a;
    struct prefix_mark *marks; /* hash: `rest` at the boundary; bytes: behind the front */
    size_t n, capacity;        /* n: boundaries so far, more than are kept as well */
    uint64_t front, rest;
    size_t front_bytes, rest_bytes;
    bool has_messages, has_failed; /* failed: out of memory */
    str prompt;                    /* escaped, in the body; STR_NONE: there is none */
};

/* ---- boundaries */

static bool grow_marks(struct reading *r)
{
    size_t capacity = r->capacity == 0 ? FIRST_CAPACITY : 2 * r->capacity;
    struct prefix_mark *marks = arena_array(r->a, capacity, sizeof(*marks));

    if (marks == NULL) {
        r->has_failed = true;
        return false;
    }
    if (r->n > 0)
        memcpy(marks, r->marks, r->n * sizeof(*marks));
    r->marks = marks;
    r->capacity = capacity;
    return true;
}

/* The place of boundary i; the last ones share theirs in turn. */
static size_t place_of(size_t i)
{
    return i < PREFIX_MARKS_MAX ? i : KEPT_FIRST + (i - KEPT_FIRST) % KEPT_LAST;
}

static void add_boundary(struct reading *r)
{
    size_t place = place_of(r->n);

    if (r->has_failed || (place == r->capacity && !grow_marks(r)))
        return;
    r->marks[place] = (struct prefix_mark){r->rest, r->rest_bytes};
    r->n++;
}

static void begin_rest(struct reading *r)
{
    r->n = 0;
    r->rest = r->key;
    r->rest_bytes = 0;
    add_boundary(r);
}

static void add_piece(struct reading *r, str piece)
{
    r->rest = keyed_hash(r->rest, piece);
    r->rest_bytes += piece.len;
    add_boundary(r);
}

/* ---- parts of a body */

static bool is_neutral(str name)
{
    return false
#define PROMPT_NEUTRAL(text)                                                                       \
    || (name.len == sizeof(text) - 1 && memcmp(name.p, text, sizeof(text) - 1) == 0)
#include "affinity/prompt_neutral.def"
        ;
}

static void read_front(struct reading *r, str name, str raw)
{
    r->front += keyed_hash(keyed_hash(r->key, name), raw);
    r->front_bytes += name.len + raw.len;
}

/* Of several lists the last counts. */
static void read_messages(struct reading *r, struct json_walk *w)
{
    r->has_messages = true;
    begin_rest(r);
    (void)json_walk_enter(w, JR_ARRAY);
    while (json_walk_element(w))
        add_piece(r, json_walk_value(w));
}

static void read_member(struct reading *r, struct json_walk *w, str name)
{
    if (str_eq(name, STR("messages")) && json_walk_peek(w) == JR_ARRAY)
        read_messages(r, w);
    else if (str_eq(name, STR("prompt")) && json_walk_peek(w) == JR_STRING)
        r->prompt = json_walk_string(w);
    else if (is_neutral(name))
        (void)json_walk_value(w);
    else
        read_front(r, name, json_walk_value(w));
}

static void add_prompt(struct reading *r, str prompt)
{
    const str end = STR("<|end|>");

    begin_rest(r);
    for (size_t n; prompt.len > 0; prompt = str_skip(prompt, n)) {
        n = str_find(prompt, end);
        n += n < prompt.len ? end.len : 0;
        add_piece(r, str_from(prompt.p, n));
    }
}

/* The end of the body, of which the front's part has been counted. */
static void add_body(struct reading *r, str body)
{
    begin_rest(r);
    r->rest = keyed_hash(r->rest, body);
    r->rest_bytes = body.len - r->front_bytes;
    add_boundary(r);
}

/* A prompt beside messages is not what the model is asked. */
static void add_rest(struct reading *r, str body)
{
    if (r->has_messages)
        return;
    if (str_is_none(r->prompt))
        add_body(r, body);
    else
        add_prompt(r, r->prompt);
}

/* ---- marks */

static void reverse_marks(struct prefix_mark *marks, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct prefix_mark mark = marks[i];

        marks[i] = marks[n - 1 - i];
        marks[n - 1 - i] = mark;
    }
}

/* Puts the last marks, which began anew at KEPT_FIRST several times, in their order. */
static void rotate_last(struct reading *r)
{
    struct prefix_mark *last = r->marks + KEPT_FIRST;
    size_t oldest = place_of(r->n) - KEPT_FIRST;

    reverse_marks(last, oldest);
    reverse_marks(last + oldest, KEPT_LAST - oldest);
    reverse_marks(last, KEPT_LAST);
}

static void finish_marks(struct reading *r, struct prefix_marks *ret)
{
    size_t n = r->n;

    if (n > PREFIX_MARKS_MAX) {
        rotate_last(r);
        n = PREFIX_MARKS_MAX;
    }
    for (size_t i = 0; i < n; i++)
        r->marks[i] = (struct prefix_mark){keyed_hash_pair(r->front, r->marks[i].hash),
                                           r->marks[i].bytes + r->front_bytes};
    *ret = (struct prefix_marks){r->marks, n, r->front, r->rest};
}

bool prefix_marks_read(str body, uint64_t key, struct arena *a, struct prefix_marks *ret)
{
    struct reading r = {.key = key, .a = a};
    struct json_walk w = json_walk_of(body);
    str name;

    *ret = (struct prefix_marks){.n = 0};
    if (!json_walk_enter(&w, JR_OBJECT))
        return true;
    while (json_walk_member(&w, &name))
        read_member(&r, &w, name);
    add_rest(&r, body);
    if (!r.has_failed)
        finish_marks(&r, ret);
    return !r.has_failed;
}

struct prefix_mark prefix_marks_behind(const struct prefix_marks *m, str message)
{
    uint64_t rest = keyed_hash(m->rest, message);

    return (struct prefix_mark){keyed_hash_pair(m->front, rest),
                                m->marks[m->n - 1].bytes + message.len};
}
