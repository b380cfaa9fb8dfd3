/* metric_word.c -- a table of hashes for each open domain, to which is only added.
 *
 * Whoever looks for a text goes from the place of its hash to the next free one. A text is put into its
 * place when it is complete, so it is found whole or not at all. Nothing is ever taken out: a model whose
 * place was given away keeps its number, and has its counters back when it is learnt again. */
#include "metrics/metric_word.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "base/str_map.h"

enum {
    MODEL_IDS = 65000, /* of all times */
    MODEL_IDLE_S = 24 * 60 * 60,
    MODEL_NAME_BYTES = 256,
};

struct word {
    uint16_t id;
    atomic_bool is_gone, is_listed; /* of models, like the next one */
    atomic_uint_fast32_t used_s;
    size_t len;
    char text[];
};

typedef _Atomic(struct word *) word_place;

struct words {
    word_place *places; /* by hash */
    word_place *by_id;
    size_t n_places; /* a power of two, at least twice the number of ids */
    size_t n_ids, max_ids;
};

static struct {
    struct words of[METRIC_DOMAINS];
    uv_mutex_t lock; /* of whoever adds; nothing else is taken while it is held */
    uint64_t seed;
    size_t n_models, max_models; /* that are not gone */
    bool is_open;
} all;

/* Tools whose names have a place before servers have any. */
static const unsigned own_tools[] = {METRIC_TOOL_KIND_CODE_INTERPRETER,
                                     METRIC_TOOL_KIND_WEB_SEARCH};

static bool is_open_domain(enum metric_domain domain)
{
    return metric_domain_words(domain) == 0 && !metric_domain_is_number(domain);
}

/* They are in `all`, which the analyzer loses sight of; metric_words_close() frees them. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

static bool words_init(struct words *w, size_t max_ids)
{
    w->n_places = 2;
    while (w->n_places < 2 * max_ids)
        w->n_places *= 2;
    w->max_ids = max_ids;
    w->n_ids = METRIC_WORD_OTHER + 1;
    w->places = calloc(w->n_places, sizeof(*w->places));
    w->by_id = calloc(max_ids, sizeof(*w->by_id));
    return w->places != NULL && w->by_id != NULL;
}
#ifndef __clang__
#pragma GCC diagnostic pop
#endif

static size_t max_ids_of(enum metric_domain domain)
{
    switch (domain) {
    case METRIC_DOMAIN_MODEL:
        return MODEL_IDS;
    case METRIC_DOMAIN_TOOL:
        return METRIC_WORD_OTHER + 1 + COUNT_OF(own_tools) + METRIC_TOOLS_MAX;
    default:
        return METRIC_WORDS_MAX;
    }
}

bool metric_words_open(unsigned max_models, uint64_t seed)
{
    all.seed = seed;
    all.n_models = 0;
    all.max_models = max_models;
    if (uv_mutex_init(&all.lock) != 0)
        return false;
    all.is_open = true;
    for (unsigned d = 0; d < METRIC_DOMAINS; d++) {
        if (is_open_domain(d) && !words_init(&all.of[d], max_ids_of(d)))
            return false;
    }
    for (size_t i = 0; i < COUNT_OF(own_tools); i++)
        (void)metric_word(METRIC_DOMAIN_TOOL,
                          metric_closed_word(METRIC_DOMAIN_TOOL_KIND, own_tools[i]));
    return true;
}

void metric_words_close(void)
{
    if (!all.is_open)
        return;
    for (unsigned d = 0; d < METRIC_DOMAINS; d++) {
        struct words *w = &all.of[d];

        for (size_t i = 0; w->by_id != NULL && i < w->n_ids; i++)
            free(atomic_load(&w->by_id[i]));
        free(w->places);
        free(w->by_id);
        *w = (struct words){.places = NULL};
    }
    uv_mutex_destroy(&all.lock);
    all.is_open = false;
}

/* The text, or NULL with the free place that is its own. */
static struct word *find_word(const struct words *w, str text, word_place **ret_place)
{
    size_t at = (size_t)str_map_hash(all.seed, text);

    for (;; at++) {
        word_place *place = &w->places[at & (w->n_places - 1)];
        struct word *found = atomic_load_explicit(place, memory_order_acquire);

        *ret_place = place;
        if (found == NULL || str_eq(str_from(found->text, found->len), text))
            return found;
    }
}

/* Under the lock. NULL: there is no room. */
static struct word *add_word(struct words *w, str text)
{
    word_place *place;
    struct word *word = find_word(w, text, &place);

    if (word != NULL)
        return word; /* another thread was faster */
    if (w->n_ids == w->max_ids || (word = calloc(1, sizeof(*word) + text.len)) == NULL)
        return NULL;
    word->id = (uint16_t)w->n_ids;
    word->len = text.len;
    memcpy(word->text, text.p, text.len);
    atomic_store_explicit(&w->by_id[w->n_ids++], word, memory_order_release);
    atomic_store_explicit(place, word, memory_order_release);
    return word;
}

uint16_t metric_word(enum metric_domain domain, str text)
{
    struct words *w = &all.of[domain];
    word_place *place;
    struct word *word;

    if (text.len == 0 || !all.is_open)
        return METRIC_WORD_NONE;
    word = find_word(w, text, &place);
    if (word == NULL) {
        uv_mutex_lock(&all.lock);
        word = add_word(w, text);
        uv_mutex_unlock(&all.lock);
    }
    return word == NULL ? METRIC_WORD_OTHER : word->id;
}

static struct word *word_of(enum metric_domain domain, uint16_t id)
{
    const struct words *w = &all.of[domain];

    return id < w->max_ids ? atomic_load_explicit(&w->by_id[id], memory_order_acquire) : NULL;
}

str metric_word_text(enum metric_domain domain, uint16_t id)
{
    const struct word *word = word_of(domain, id);

    if (word != NULL)
        return str_from(word->text, word->len);
    return id == METRIC_WORD_OTHER ? STR("_other") : STR("");
}

/* ---- models */

uint16_t metric_model(str name, uint32_t now_s)
{
    word_place *place;
    struct word *word;

    if (name.len == 0 || !all.is_open)
        return METRIC_WORD_NONE;
    word = find_word(&all.of[METRIC_DOMAIN_MODEL], name, &place);
    if (word == NULL || atomic_load_explicit(&word->is_gone, memory_order_relaxed))
        return METRIC_WORD_OTHER;
    if (atomic_load_explicit(&word->used_s, memory_order_relaxed) != now_s)
        atomic_store_explicit(&word->used_s, now_s, memory_order_relaxed);
    return word->id;
}

/* Loops read the clock each for itself: it may have been used by one whose time is ahead. */
static bool is_idle(const struct word *word, uint32_t now_s)
{
    return now_s >= atomic_load(&word->used_s) + MODEL_IDLE_S;
}

/* Has somebody given up its place? Under the lock. */
static bool make_place(uint32_t now_s)
{
    const struct words *w = &all.of[METRIC_DOMAIN_MODEL];

    for (size_t id = METRIC_WORD_OTHER + 1; id < w->n_ids; id++) {
        struct word *word = atomic_load(&w->by_id[id]);

        if (atomic_load(&word->is_gone) || atomic_load(&word->is_listed) || !is_idle(word, now_s))
            continue;
        atomic_store(&word->is_gone, true);
        all.n_models--;
        return true;
    }
    return false;
}

/* Under the lock. */
static struct word *learn_model(str name, uint32_t now_s)
{
    struct words *w = &all.of[METRIC_DOMAIN_MODEL];
    word_place *place;
    struct word *word = find_word(w, name, &place);

    if (word != NULL && !atomic_load(&word->is_gone))
        return word;
    if (all.n_models >= all.max_models && !make_place(now_s))
        return NULL;
    word = add_word(w, name);
    if (word == NULL)
        return NULL;
    atomic_store(&word->used_s, now_s);
    atomic_store(&word->is_gone, false);
    all.n_models++;
    return word;
}

uint16_t metric_model_learn(str name, bool is_listed, uint32_t now_s)
{
    uint16_t id = metric_model(name, now_s);
    struct word *word;

    if (name.len > MODEL_NAME_BYTES || id == METRIC_WORD_NONE ||
        (id != METRIC_WORD_OTHER && !is_listed))
        return id;
    uv_mutex_lock(&all.lock);
    word = learn_model(name, now_s);
    if (word != NULL && is_listed)
        atomic_store(&word->is_listed, true);
    uv_mutex_unlock(&all.lock);
    return word == NULL ? METRIC_WORD_OTHER : word->id;
}

bool metric_model_is_gone(uint16_t id)
{
    const struct word *word = word_of(METRIC_DOMAIN_MODEL, id);

    return word != NULL && atomic_load_explicit(&word->is_gone, memory_order_relaxed);
}
