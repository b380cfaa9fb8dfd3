/* upstream_file_table.c -- upstream_member.def, routing_policy.def and retry_word.def: what the file of upstreams
 * can say. */
#include <string.h>

#include "table.h"

static void write_cell(const char *text, struct buf *out)
{
    buf_c(out, " ");
    buf_c(out, text);
    buf_c(out, " |");
}

static void write_word(const char *word, struct buf *out)
{
    buf_c(out, "| `");
    buf_c(out, word);
    buf_c(out, "` |");
}

/* ---- members */

enum place { OWN, ANY };

static const struct {
    const char *name, *takes, *initial, *help;
    enum place place;
} members[] = {
#define MEMBER(name, place, takes, initial, help) {#name, takes, initial, help, place},
#include "upstream/upstream_member.def"
};

void table_upstream_members(struct buf *out)
{
    buf_c(out, "| Member | Takes | Default | In `defaults` | Meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        write_word(members[i].name, out);
        write_cell(members[i].takes, out);
        write_cell(members[i].initial, out);
        write_cell(members[i].place == ANY ? "yes" : "-", out);
        write_cell(members[i].help, out);
        buf_char(out, '\n');
    }
}

static const struct {
    const char *name, *key;
} overrides[] = {
#define OVERRIDE(name, key) {#name, #key},
#include "upstream/upstream_member.def"
};

/* A list, not a table: most have the name of their key. */
void table_upstream_overrides(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(overrides); i++) {
        const char *name = overrides[i].name, *key = overrides[i].key;

        buf_c(out, "* [`");
        buf_c(out, name);
        buf_c(out, "`](config.md#");
        buf_c(out, key);
        buf_c(out, ")");
        if (strcmp(name, key) != 0) {
            buf_c(out, ", which is the key `");
            buf_c(out, key);
            buf_c(out, "`");
        }
        buf_char(out, '\n');
    }
}

/* ---- words */

static const struct word {
    const char *word, *help;
} policies[] =
    {
#define ROUTING_POLICY(symbol, word, help) {word, help},
#include "affinity/routing_policy.def"
},
  retries[] = {
#define RETRY_WORD(symbol, word, help) {word, help},
#include "config/retry_word.def"
#undef RETRY_WORD
};

static void write_words(const char *head, const struct word *words, size_t n, struct buf *out)
{
    buf_c(out, head);
    for (size_t i = 0; i < n; i++) {
        write_word(words[i].word, out);
        write_cell(words[i].help, out);
        buf_char(out, '\n');
    }
}

void table_upstream_policies(struct buf *out)
{
    write_words("| `policy` | Who is asked |\n|---|---|\n", LIST_OF(policies), out);
}

void table_retry_words(struct buf *out)
{
    write_words("| `retry_on` | When |\n|---|---|\n", LIST_OF(retries), out);
}
