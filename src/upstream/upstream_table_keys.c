/* upstream_table_keys.c -- keys in files of their own (key_file), which are exchanged while the gateway runs.
 *
 * A table does not change, so another one is made: the same texts, which belong to the first, and keys of its
 * own. A file that cannot be read is told of once: what is noted of it is new, and the key is the old one. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/secrets.h"
#include "upstream/upstream_table_internal.h"

struct upstream_key_stamp upstream_key_stamp_of(const char *path)
{
    struct upstream_key_stamp stamp = {.bytes = 0};
    struct stat s;

    if (stat(path, &s) == 0)
        stamp = (struct upstream_key_stamp){
            .time = s.st_mtim, .bytes = (uint64_t)s.st_size, .inode = (uint64_t)s.st_ino};
    return stamp;
}

static bool is_same_stamp(const struct upstream_key_stamp *a, const struct upstream_key_stamp *b)
{
    return a->time.tv_sec == b->time.tv_sec && a->time.tv_nsec == b->time.tv_nsec &&
           a->bytes == b->bytes && a->inode == b->inode;
}

static bool has_changed(const struct upstream_shared *s, size_t i)
{
    const char *path = s->entries[i].key_file;
    struct upstream_key_stamp now;

    if (path == NULL)
        return false;
    now = upstream_key_stamp_of(path);
    return !is_same_stamp(&now, &s->stamps[i]);
}

static bool any_has_changed(const struct upstream_shared *s)
{
    for (size_t i = 0; i < s->table.n; i++) {
        if (has_changed(s, i))
            return true;
    }
    return false;
}

/* The key in the file, or the old one. STR_NONE when out of memory. */
static str read_key(struct arena *a, const struct upstream_entry *entry,
                    struct config_problems *problems)
{
    struct buf token = {.limit = 0};
    str authorization;

    if (config_read_token(entry->key_file, &token)) {
        authorization = upstream_bearer(a, buf_str(&token));
    } else {
        config_warning(problems,
                       "%s: holds no key that can be read; the upstream %.*s goes on with the one "
                       "before",
                       entry->key_file, STR_ARG(entry->name));
        authorization = arena_dup(a, entry->authorization);
    }
    secret_buf_fini(&token);
    return authorization;
}

/* False when out of memory. */
static bool renew_entry(struct upstream_shared *to, const struct upstream_shared *from, size_t i,
                        struct config_problems *problems)
{
    struct upstream_entry *entry = &to->entries[i];
    const bool is_new = has_changed(from, i);

    *entry = from->entries[i];
    to->stamps[i] = is_new ? upstream_key_stamp_of(entry->key_file) : from->stamps[i];
    if (str_is_none(entry->authorization))
        return true;
    entry->authorization = is_new ? read_key(&to->memory, &from->entries[i], problems)
                                  : arena_dup(&to->memory, entry->authorization);
    return !str_is_none(entry->authorization);
}

/* All but the entries of a table that has the texts of another. */
static struct upstream_shared *shell_of(struct upstream_shared *from)
{
    struct upstream_shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    atomic_init(&s->n_refs, 1);
    s->table = from->table;
    s->table.n = 0;
    s->entries = arena_array(&s->memory, from->table.n, sizeof(*s->entries));
    s->stamps = arena_array(&s->memory, from->table.n, sizeof(*s->stamps));
    s->table.entries = s->entries;
    s->origin = from->origin == NULL ? from : from->origin;
    (void)upstream_table_ref(&s->origin->table);
    if (s->entries != NULL && s->stamps != NULL)
        return s;
    upstream_shared_free(s);
    return NULL;
}

struct upstream_table *upstream_table_renew_keys(struct upstream_table *t,
                                                 struct config_problems *problems)
{
    struct upstream_shared *from = (struct upstream_shared *)(void *)t, *s;

    if (!any_has_changed(from))
        return NULL;
    s = shell_of(from);
    if (s == NULL)
        return NULL;
    for (size_t i = 0; i < from->table.n; i++) {
        s->table.n++;
        if (!renew_entry(s, from, i, problems)) {
            upstream_shared_free(s);
            return NULL;
        }
    }
    return &s->table;
}
