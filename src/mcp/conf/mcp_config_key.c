/* mcp_config_key.c -- the keys of an entry under all their names, and messages
 * that say them as the operator did. */
#include "mcp/conf/mcp_config_entry.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "config/spelling.h"
#include "json/json_relax.h"

enum { MAX_PROBLEM_BYTES = 500 };

/* Every spelling; the first one of a key is the one that messages use. */
static const struct {
    const char *text;
    enum mcp_key key;
} spellings[] = {
#define KEY(symbol, name, initial, help) {name, MCP_KEY_##symbol},
#define ALSO(symbol, name)               {name, MCP_KEY_##symbol},
#include "mcp/conf/mcp_config_key.def"
};

enum { SPELLINGS = COUNT_OF(spellings) };

bool mcp_entry_has(const struct mcp_entry *e, enum mcp_key key)
{
    return !str_is_none(e->values[key].raw);
}

/* The key as the entry spells it, else as messages do. */
static str key_name(const struct mcp_entry *e, enum mcp_key key)
{
    if (!str_is_none(e->values[key].name))
        return e->values[key].name;
    for (size_t i = 0; i < SPELLINGS; i++) {
        if (spellings[i].key == key)
            return str_from_c(spellings[i].text);
    }
    return STR("entry");
}

/* "env.NAME: ", "args[2]: ", or nothing for the entry as a whole. */
static void append_where(const struct mcp_entry *e, struct mcp_where where, struct buf *out)
{
    if (where.key == MCP_KEY_NONE)
        return;
    buf_append(out, key_name(e, where.key));
    if (!str_is_none(where.member)) {
        buf_char(out, '.');
        buf_append(out, str_from(where.member.p, utf8_cut(where.member, CONFIG_QUOTE_BYTES)));
    }
    if (where.index != SIZE_MAX) {
        buf_char(out, '[');
        buf_uint(out, where.index);
        buf_char(out, ']');
    }
    buf_c(out, ": ");
}

/* A problem is shown to clients, too: one line, whatever a name was made of. */
static void make_visible(struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        if ((unsigned char)text->p[i] < ' ' || text->p[i] == 0x7F)
            text->p[i] = '?';
    }
}

__attribute__((format(printf, 3, 0))) static void compose_problem(const struct mcp_entry *e,
                                                                  struct mcp_where where,
                                                                  const char *format, va_list args,
                                                                  struct buf *out)
{
    char phrase[MAX_PROBLEM_BYTES + 1];

    append_where(e, where, out);
    (void)vsnprintf(phrase, sizeof(phrase), format, args);
    buf_append(out, str_from(phrase, utf8_cut(str_from_c(phrase), MAX_PROBLEM_BYTES)));
    make_visible(out);
}

/* Counting lines takes time, so it is done for problems that somebody sees. */
static size_t line_of(const struct mcp_entry *e, struct mcp_where where)
{
    const struct config_problems *p = e->reader->problems;
    str raw = where.key == MCP_KEY_NONE ? e->label_raw : e->values[where.key].raw;
    size_t line = 0, column;

    if (p != NULL && p->n_kept < CONFIG_MAX_PROBLEMS)
        json_relax_place(e->reader->text,
                         (size_t)((raw.p == NULL ? e->label_raw.p : raw.p) - e->reader->text.p),
                         &line, &column);
    return line;
}

void mcp_entry_warn(struct mcp_entry *e, struct mcp_where where, const char *format, ...)
{
    struct buf text = {0};
    va_list args;

    va_start(args, format);
    compose_problem(e, where, format, args, &text);
    va_end(args);
    config_warning(e->reader->problems, "%s: line %zu: MCP server %s: %s", e->reader->source->name,
                   line_of(e, where), config_quote(e->server->label).text, buf_cstr(&text));
    buf_fini(&text);
}

void mcp_entry_refuse(struct mcp_entry *e, struct mcp_where where, const char *format, ...)
{
    const struct mcp_server_conf *s = e->server;
    const char *name = e->reader->source->name;
    struct config_quote label = config_quote(s->label);
    struct buf text = {0};
    va_list args;

    va_start(args, format);
    compose_problem(e, where, format, args, &text);
    va_end(args);
    if (s->is_required && s->is_enabled)
        config_error(e->reader->problems, "%s: line %zu: MCP server %s is required: %s", name,
                     line_of(e, where), label.text, buf_cstr(&text));
    else
        config_warning(e->reader->problems, "%s: line %zu: MCP server %s is off: %s", name,
                       line_of(e, where), label.text, buf_cstr(&text));
    if (s->problem == NULL)
        e->server->problem = arena_dup(e->reader->memory, buf_str(&text)).p;
    e->reader->no_memory |= buf_failed(&text) || s->problem == NULL;
    buf_fini(&text);
}

enum mcp_key mcp_key_find(str name)
{
    for (size_t i = 0; i < SPELLINGS; i++) {
        if (str_eq(name, str_from_c(spellings[i].text)))
            return spellings[i].key;
    }
    return MCP_KEY_NONE;
}

void mcp_entry_warn_unknown(struct mcp_entry *e, str name)
{
    struct spelling s = spelling_of(name, name.len / 3);

    for (size_t i = 0; i < SPELLINGS; i++)
        (void)spelling_try(&s, spellings[i].text);
    if (s.best != NULL)
        mcp_entry_warn(e, mcp_where_key(MCP_KEY_NONE),
                       "unknown key %s has no effect; did you mean \"%s\"?",
                       config_quote(name).text, s.best);
    else
        mcp_entry_warn(e, mcp_where_key(MCP_KEY_NONE), "unknown key %s has no effect",
                       config_quote(name).text);
}
