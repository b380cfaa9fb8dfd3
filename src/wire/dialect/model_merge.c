/* model_merge.c -- the first element, member by member, with another id and smaller windows.
 *
 * Servers have different words for the window: where one has not the word of another, the smallest that it
 * says by any of them stands for it. The windows of an element alone are as they are, since a server may say with two
 * words two things: what it has, and what the model could have. */
#include "wire/dialect/model_merge.h"

#include "json/json_copy.h"
#include "json/json_read.h"

/* The members that say how much fits; NULL: it is one of the element itself. */
static const struct window_word {
    const char *object, *member;
} words[] = {{NULL, "context_length"}, {NULL, "max_model_len"}, {"meta", "n_ctx"}};

/* Elements of one model. */
struct merging {
    const str *elements;
    size_t n;
    size_t first; /* that is written; n: none */
};

/* ---- windows */

/* Above 0, or 0: it does not say. */
static int64_t window_in(str element, const struct window_word *word)
{
    const str object =
        word->object == NULL ? element : jr_member(element, str_from_c(word->object));

    return jr_member_int(object, str_from_c(word->member), 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return b <= 0 || (a > 0 && a < b) ? a : b;
}

static int64_t smallest_in(str element)
{
    int64_t least = 0;

    for (size_t i = 0; i < COUNT_OF(words); i++)
        least = smaller(least, window_in(element, &words[i]));
    return least;
}

/* What this word stands for in all elements; 0: the first does not say it. */
static int64_t merged_window(const struct merging *m, const struct window_word *word)
{
    int64_t least = window_in(m->elements[m->first], word);

    for (size_t i = m->first + 1; least > 0 && i < m->n; i++) {
        const int64_t said = window_in(m->elements[i], word);

        least = smaller(least, said > 0 ? said : smallest_in(m->elements[i]));
    }
    return least;
}

/* The word that a member of the element, or of an object in it, is; NULL: it is none. */
static const struct window_word *find_word(const char *object, str member)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq(member, str_from_c(words[i].member)) &&
            (object == NULL ? words[i].object == NULL
                            : words[i].object != NULL && strcmp(object, words[i].object) == 0))
            return &words[i];
    }
    return NULL;
}

/* ---- writing */

static void write_value(const struct merging *m, const struct window_word *word, str raw,
                        struct jw *w)
{
    const int64_t window = word == NULL ? 0 : merged_window(m, word);

    if (window > 0 && jr_type_of(raw) == JR_NUMBER)
        jw_int(w, window);
    else
        jw_raw(w, raw);
}

/* An object in the element in which a window may stand. */
static void write_object(const struct merging *m, const char *name, str raw, struct jw *w)
{
    struct jr j;
    str key;

    jw_object(w);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        const struct window_word *word = find_word(name, key);

        json_copy_key(w, j.raw_key);
        write_value(m, word, jr_raw(&j), w);
    }
    jw_object_end(w);
}

static const char *object_with_window(str key)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (words[i].object != NULL && str_eq(key, str_from_c(words[i].object)))
            return words[i].object;
    }
    return NULL;
}

static void write_members(const struct merging *m, struct jw *w)
{
    struct jr j;
    str key;

    jr_init(&j, m->elements[m->first]);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        const bool is_id = str_eq(key, STR("id"));
        const char *object = object_with_window(key);
        const struct window_word *word = find_word(NULL, key);
        const str raw_key = j.raw_key, raw = jr_raw(&j);

        if (is_id)
            continue;
        json_copy_key(w, raw_key);
        if (object != NULL && jr_type_of(raw) == JR_OBJECT)
            write_object(m, object, raw, w);
        else
            write_value(m, word, raw, w);
    }
}

void model_merge_write(str name, const str *elements, size_t n, struct buf *out)
{
    struct merging m = {.elements = elements, .n = n};
    struct jw w = jw_to(out);
    str element;

    while (m.first < n && str_is_none(elements[m.first]))
        m.first++;
    element = m.first < n ? elements[m.first] : STR("{}");
    jw_object(&w);
    jw_key_string(&w, "id", name);
    if (m.first < n)
        write_members(&m, &w);
    if (str_is_none(jr_member(element, STR("object"))))
        jw_key_string(&w, "object", STR("model"));
    if (str_is_none(jr_member(element, STR("created"))))
        jw_key_int(&w, "created", 0); /* nobody knows, and it is the same each time */
    if (str_is_none(jr_member(element, STR("owned_by"))))
        jw_key_string(&w, "owned_by", STR("antiphon"));
    jw_object_end(&w);
}
