/* token_memory.c -- a table of hashes, in rows of four, and a time for each way. */
#include "upstream/token_memory.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "affinity/keyed_hash.h"

enum { ROW = 4 };

static const uint64_t ruled_out_ms = 3600 * 1000;

struct slot {
    struct token_key key;
    int64_t tokens;     /* 0: free */
    enum token_way way; /* TOKEN_WAYS: the upstream's usage */
    uint64_t kept_ms;
};

struct token_memory {
    uv_mutex_t lock; /* guards what follows; nothing else is taken while it is held */
    struct {
        uint64_t out_until_ms; /* 0: not ruled out */
        bool has_worked;
    } ways[TOKEN_WAYS];
    uint64_t lifetime_ms;
    size_t n_rows;
    struct slot slots[];
};

struct token_memory *token_memory_new(const struct token_memory_conf *conf, struct err *reterr)
{
    const size_t n_rows = (conf->max_entries + ROW - 1) / ROW;
    struct token_memory *m = calloc(1, sizeof(*m) + n_rows * ROW * sizeof(m->slots[0]));

    if (m == NULL || uv_mutex_init(&m->lock) != 0) {
        free(m);
        err_set_no_memory(reterr);
        return NULL;
    }
    m->n_rows = n_rows;
    m->lifetime_ms = conf->lifetime_ms;
    return m;
}

void token_memory_free(struct token_memory *m)
{
    if (m == NULL)
        return;
    uv_mutex_destroy(&m->lock);
    free(m);
}

/* ---- ways */

bool token_memory_may_try(struct token_memory *m, enum token_way way, uint64_t now_ms)
{
    bool may;

    uv_mutex_lock(&m->lock);
    may = now_ms >= m->ways[way].out_until_ms;
    uv_mutex_unlock(&m->lock);
    return may;
}

/* With the lock held. */
static bool rule_out(struct token_memory *m, enum token_way way, uint64_t now_ms)
{
    const bool is_news = now_ms >= m->ways[way].out_until_ms;

    m->ways[way].out_until_ms = now_ms + ruled_out_ms;
    return is_news;
}

bool token_memory_rule_out(struct token_memory *m, enum token_way way, uint64_t now_ms)
{
    bool is_news;

    uv_mutex_lock(&m->lock);
    is_news = rule_out(m, way, now_ms);
    uv_mutex_unlock(&m->lock);
    return is_news;
}

bool token_memory_has_worked(struct token_memory *m, enum token_way way)
{
    bool has;

    uv_mutex_lock(&m->lock);
    has = m->ways[way].has_worked;
    uv_mutex_unlock(&m->lock);
    return has;
}

void token_memory_note_worked(struct token_memory *m, enum token_way way)
{
    uv_mutex_lock(&m->lock);
    m->ways[way].has_worked = true;
    uv_mutex_unlock(&m->lock);
}

/* ---- counts */

/* Both halves tell all of the prompt, for the first chooses the row as well. */
struct token_key token_key_make(str owner, const struct prefix_marks *marks, bool is_prompt)
{
    const uint64_t kind = is_prompt ? 1 : 0;

    return (struct token_key){
        {keyed_hash(keyed_hash_pair(marks->front, marks->rest) ^ kind, owner),
         keyed_hash(keyed_hash_pair(marks->rest, marks->front) ^ kind, owner)}};
}

/* With the lock held, like what follows. */
static struct slot *row_of(struct token_memory *m, const struct token_key *key)
{
    return &m->slots[key->hash[0] % m->n_rows * ROW];
}

static struct slot *find_slot(struct token_memory *m, const struct token_key *key, uint64_t now_ms)
{
    struct slot *row = row_of(m, key);

    for (size_t i = 0; i < ROW; i++) {
        if (row[i].tokens > 0 && now_ms < row[i].kept_ms + m->lifetime_ms &&
            memcmp(&row[i].key, key, sizeof(*key)) == 0)
            return &row[i];
    }
    return NULL;
}

static struct slot *oldest_slot(struct token_memory *m, const struct token_key *key)
{
    struct slot *row = row_of(m, key), *oldest = row;

    for (size_t i = 1; i < ROW; i++) {
        if (row[i].kept_ms < oldest->kept_ms)
            oldest = &row[i];
    }
    return oldest;
}

int64_t token_memory_find(struct token_memory *m, const struct token_key *key, uint64_t now_ms)
{
    const struct slot *slot = NULL;
    int64_t tokens;

    if (m->n_rows == 0)
        return 0;
    uv_mutex_lock(&m->lock);
    slot = find_slot(m, key, now_ms);
    tokens = slot == NULL ? 0 : slot->tokens;
    uv_mutex_unlock(&m->lock);
    return tokens;
}

/* Returns the way that has told another number, or TOKEN_WAYS. */
static enum token_way keep_count(struct token_memory *m, const struct token_key *key,
                                 enum token_way way, int64_t tokens, uint64_t now_ms)
{
    struct slot *slot = find_slot(m, key, now_ms);
    const enum token_way other = slot != NULL && slot->tokens != tokens ? slot->way : TOKEN_WAYS;

    if (slot == NULL)
        slot = oldest_slot(m, key);
    *slot = (struct slot){.key = *key, .tokens = tokens, .way = way, .kept_ms = now_ms};
    return other;
}

void token_memory_keep(struct token_memory *m, const struct token_key *key, enum token_way way,
                       int64_t tokens, uint64_t now_ms)
{
    if (m->n_rows == 0)
        return;
    uv_mutex_lock(&m->lock);
    (void)keep_count(m, key, way, tokens, now_ms);
    uv_mutex_unlock(&m->lock);
}

enum token_way token_memory_keep_usage(struct token_memory *m, const struct token_key *key,
                                       int64_t tokens, uint64_t now_ms)
{
    enum token_way other;

    if (m->n_rows == 0)
        return TOKEN_WAYS;
    uv_mutex_lock(&m->lock);
    other = keep_count(m, key, TOKEN_WAYS, tokens, now_ms);
    if (other == TOKEN_WAY_COMPLETION)
        other = TOKEN_WAYS; /* the same source: it has told both */
    if (other != TOKEN_WAYS)
        (void)rule_out(m, other, now_ms);
    uv_mutex_unlock(&m->lock);
    return other;
}
