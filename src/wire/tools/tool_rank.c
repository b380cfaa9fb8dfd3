/* tool_rank.c -- each tool is read once: its words are counted against those of the query, and nothing else
 * of it is kept. */
#include "wire/tools/tool_rank.h"

#include <math.h>
#include <stdlib.h>

#include "json/json_read.h"
#include "json/json_text.h"
#include "text/word_cut.h"

enum {
    MAX_WORDS = 32, /* of the query; further ones do not count */
    NAME_WEIGHT = 3,
    TEXT_WEIGHT = 1,
};

/* The usual ones: how soon a word that comes again stops counting, and how much a long text weighs. */
static const double saturation = 1.2, length_share = 0.75;

/* The words of the query. */
struct query {
    char text[MAX_WORDS][WORD_CUT_MAX_BYTES];
    str words[MAX_WORDS];
    size_t n;
};

/* A tool, and what was found in it. */
struct candidate {
    const struct tool *tool;
    unsigned counts[MAX_WORDS]; /* of each word of the query, weighted */
    unsigned length;            /* the same of all words */
    double score;
    size_t place; /* among the candidates */
};

struct counting {
    const struct query *query;
    struct candidate *candidate;
    unsigned weight;
    struct buf plain; /* of the text that is read */
    bool has_failed;
};

/* ---- words of the query */

static size_t find_word(const struct query *q, str word)
{
    size_t i = 0;

    while (i < q->n && !str_eq(q->words[i], word))
        i++;
    return i;
}

static void add_query_word(void *arg, str word)
{
    struct query *q = arg;

    if (q->n == MAX_WORDS || find_word(q, word) < q->n)
        return;
    memcpy(q->text[q->n], word.p, word.len);
    q->words[q->n] = str_from(q->text[q->n], word.len);
    q->n++;
}

/* ---- words of a tool */

static void count_word(void *arg, str word)
{
    const struct counting *c = arg;
    const size_t i = find_word(c->query, word);

    c->candidate->length += c->weight;
    if (i < c->query->n)
        c->candidate->counts[i] += c->weight;
}

static void count_text(struct counting *c, str escaped, unsigned weight)
{
    if (str_is_none(escaped))
        return;
    buf_reset(&c->plain);
    json_text_decode(escaped, &c->plain);
    c->has_failed = c->has_failed || buf_failed(&c->plain);
    c->weight = weight;
    word_cut(buf_str(&c->plain), count_word, c);
}

/* Names and descriptions of parameters, wherever they stand in the schema: the members of what is called
 * "properties", and every "description" that is a text. j stands before a value. */
static void count_schema(struct counting *c, struct jr *j, bool holds_names)
{
    str key;

    if (jr_peek(j) == JR_ARRAY) {
        (void)jr_enter(j, JR_ARRAY);
        while (jr_next_element(j))
            count_schema(c, j, false);
        return;
    }
    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        const bool is_text = !holds_names && str_eq(key, STR("description"));
        const bool has_names = !holds_names && str_eq(key, STR("properties"));

        if (holds_names)
            count_text(c, j->raw_key, TEXT_WEIGHT);
        if (is_text && jr_peek(j) == JR_STRING)
            count_text(c, jr_string(j), TEXT_WEIGHT);
        else
            count_schema(c, j, has_names);
    }
}

static void count_tool(struct counting *c, const struct tool *t)
{
    struct jr j;

    count_text(c, t->name, NAME_WEIGHT);
    count_text(c, t->name_space, NAME_WEIGHT);
    count_text(c, t->server_label, NAME_WEIGHT);
    count_text(c, t->description, TEXT_WEIGHT);
    count_text(c, t->space_description, TEXT_WEIGHT);
    if (str_is_none(t->parameters))
        return;
    jr_init(&j, t->parameters);
    count_schema(c, &j, false);
}

/* ---- BM25 */

static double average_length(const struct candidate *candidates, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += candidates[i].length;
    return n == 0 || sum == 0 ? 1 : sum / (double)n;
}

/* What a word says by itself: the less tools have it, the more. */
static double weigh_word(const struct candidate *candidates, size_t n, size_t word)
{
    double with = 0;

    for (size_t i = 0; i < n; i++)
        with += candidates[i].counts[word] > 0 ? 1 : 0;
    return log(1 + ((double)n - with + 0.5) / (with + 0.5));
}

static void add_scores(struct candidate *candidates, size_t n, size_t word, double average)
{
    const double weight = weigh_word(candidates, n, word);

    for (size_t i = 0; i < n; i++) {
        struct candidate *c = &candidates[i];
        const double count = c->counts[word];
        const double length = 1 - length_share + length_share * c->length / average;

        c->score += weight * count * (saturation + 1) / (count + saturation * length);
    }
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

/* ---- all */

static int count_all(const struct query *q, struct candidate *candidates, size_t n)
{
    struct counting c = {.query = q};

    for (size_t i = 0; i < n; i++) {
        c.candidate = &candidates[i];
        count_tool(&c, candidates[i].tool);
    }
    buf_fini(&c.plain);
    return c.has_failed ? -1 : 0;
}

static size_t put_best_first(const struct tool **tools, struct candidate *candidates, size_t n,
                             const struct query *q, size_t limit)
{
    const double average = average_length(candidates, n);
    size_t n_found = 0;

    for (size_t word = 0; word < q->n; word++)
        add_scores(candidates, n, word, average);
    qsort(candidates, n, sizeof(*candidates), compare_candidates);
    while (n_found < n && n_found < limit && candidates[n_found].score > 0)
        n_found++;
    for (size_t i = 0; i < n; i++)
        tools[i] = candidates[i].tool;
    return n_found;
}

ssize_t tool_rank(const struct tool **tools, size_t n, str query, size_t limit, struct err *reterr)
{
    struct candidate *candidates = n == 0 ? NULL : calloc(n, sizeof(*candidates));
    struct query q = {.n = 0};
    ssize_t n_found = -1;

    if (n == 0)
        return 0;
    word_cut(query, add_query_word, &q);
    for (size_t i = 0; candidates != NULL && i < n; i++)
        candidates[i] = (struct candidate){.tool = tools[i], .place = i};
    if (candidates != NULL && count_all(&q, candidates, n) == 0)
        n_found = (ssize_t)put_best_first(tools, candidates, n, &q, limit);
    free(candidates);
    return n_found == -1 ? err_set_no_memory(reterr) : n_found;
}
