/* mcp_config_value.c -- one value of an entry becomes one field.
 *
 * Texts are decoded, expanded (MCP 1.5) and kept in the table's memory. What
 * env, args and headers hold may be written as a number or a truth as well,
 * since people do. Messages name the place and never show a value. */
#include "mcp/conf/mcp_config_entry.h"

#include "base/secrets.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "mcp/conf/mcp_env.h"
#include "mcp/conf/mcp_expand.h"

/* No word of a command line may be longer on Linux. */
enum { MAX_TEXT_BYTES = 128 << 10, MAX_PAIRS = 1000 };

struct mcp_where mcp_where_key(enum mcp_key key)
{
    return (struct mcp_where){.key = key, .index = SIZE_MAX};
}

static struct mcp_where where_member(enum mcp_key key, str member)
{
    return (struct mcp_where){.key = key, .member = member, .index = SIZE_MAX};
}

static str raw_value(const struct mcp_entry *e, enum mcp_key key)
{
    return e->values[key].raw;
}

/* Variables that every child gets are no secrets. */
static void on_value(void *arg, str variable, str value)
{
    struct mcp_entry *e = arg;
    str copy;

    if (mcp_env_is_always(variable) || value.len == 0)
        return;
    copy = arena_dup(e->reader->memory, value);
    if (str_is_none(copy))
        e->reader->no_memory = true;
    else
        mcp_entry_add_secret(e, copy);
}

/* Keeps what was expanded; refuses what could not be passed on as a C string. */
static str keep_text(struct mcp_entry *e, struct mcp_where where, const struct buf *text)
{
    str copy;

    if (buf_failed(text)) {
        e->reader->no_memory |= !text->is_full;
        mcp_entry_refuse(e, where, "longer than 128 KiB");
        return STR_NONE;
    }
    if (str_find_char(buf_str(text), '\0') < text->len) {
        mcp_entry_refuse(e, where, "must not contain a NUL character");
        return STR_NONE;
    }
    copy = arena_dup(e->reader->memory, buf_str(text));
    e->reader->no_memory |= str_is_none(copy);
    return copy;
}

/* The characters of an escaped string, expanded. STR_NONE when refused. */
static str expand_string(struct mcp_entry *e, struct mcp_where where, str escaped)
{
    struct mcp_expansion x = {.env = e->reader->source->env, .on_value = on_value, .arg = e};
    struct buf decoded = {0}, text, why = {0};
    str kept = STR_NONE;

    buf_init(&text, MAX_TEXT_BYTES);
    json_text_decode(escaped, &decoded);
    if (mcp_expand(&x, buf_str(&decoded), &text, &why) == -1)
        mcp_entry_refuse(e, where, "%s", buf_cstr(&why));
    else
        kept = keep_text(e, where, &text);
    e->reader->no_memory |= buf_failed(&decoded) || buf_failed(&why);
    secret_buf_fini(&decoded);
    secret_buf_fini(&text);
    buf_fini(&why);
    return kept;
}

/* A string, or a number or truth as written. STR_NONE when refused. */
static str read_plain(struct mcp_entry *e, struct mcp_where where, str raw)
{
    str copy;

    switch (jr_type_of(raw)) {
    case JR_STRING:
        return expand_string(e, where, str_from(raw.p + 1, raw.len - 2));
    case JR_NUMBER:
    case JR_TRUE:
    case JR_FALSE:
        copy = arena_dup(e->reader->memory, raw);
        e->reader->no_memory |= str_is_none(copy);
        return copy;
    default:
        mcp_entry_refuse(e, where, "must be a string");
        return STR_NONE;
    }
}

static str read_string(struct mcp_entry *e, enum mcp_key key)
{
    str raw = raw_value(e, key), text;

    if (str_is_none(raw))
        return STR_NONE;
    if (jr_type_of(raw) != JR_STRING) {
        mcp_entry_refuse(e, mcp_where_key(key), "must be a string");
        return STR_NONE;
    }
    text = expand_string(e, mcp_where_key(key), str_from(raw.p + 1, raw.len - 2));
    if (str_is_none(text) || text.len > 0)
        return text;
    mcp_entry_refuse(e, mcp_where_key(key), "must not be empty");
    return STR_NONE;
}

void mcp_value_read_text(struct mcp_entry *e, enum mcp_key key, const char **field)
{
    str text = read_string(e, key);

    if (!str_is_none(text))
        *field = text.p;
}

void mcp_value_read_secret(struct mcp_entry *e, enum mcp_key key, struct mcp_secret *field)
{
    str text = read_string(e, key);

    if (!str_is_none(text))
        field->hidden = text;
}

void mcp_value_read_flag(struct mcp_entry *e, enum mcp_key key, bool *field)
{
    enum jr_type type = jr_type_of(raw_value(e, key));

    if (type == JR_TRUE || type == JR_FALSE)
        *field = type == JR_TRUE;
    else if (type != JR_NONE)
        mcp_entry_refuse(e, mcp_where_key(key), "must be true or false");
}

void mcp_value_read_count(struct mcp_entry *e, enum mcp_key key, uint64_t least, uint64_t most,
                          uint64_t *field)
{
    str raw = raw_value(e, key);
    int64_t n;
    struct jr j;

    if (str_is_none(raw))
        return;
    jr_init(&j, raw);
    n = jr_int(&j, -1);
    if (n < 0 || (uint64_t)n < least || (uint64_t)n > most)
        mcp_entry_refuse(e, mcp_where_key(key), "must be a whole number from %llu to %llu",
                         (unsigned long long)least, (unsigned long long)most);
    else
        *field = (uint64_t)n;
}

void mcp_value_read_word(struct mcp_entry *e, enum mcp_key key, const struct mcp_word *words,
                         const char *valid, unsigned *field)
{
    str raw = raw_value(e, key);

    if (str_is_none(raw))
        return;
    for (; jr_type_of(raw) == JR_STRING && words->text != NULL; words++) {
        if (json_text_eq(str_from(raw.p + 1, raw.len - 2), str_from_c(words->text))) {
            *field = words->number;
            return;
        }
    }
    mcp_entry_refuse(e, mcp_where_key(key), "must be %s", valid);
}

void mcp_value_read_names(struct mcp_entry *e, enum mcp_key key, struct mcp_name_list *field)
{
    str raw = raw_value(e, key);
    struct buf why = {0};

    if (!str_is_none(raw) && mcp_name_list_read(raw, e->reader->memory, field, &why) == -1)
        mcp_entry_refuse(e, mcp_where_key(key), "%s", buf_cstr(&why));
    buf_fini(&why);
}

/* Reads the command and behind it the words of args, which may be missing. */
void mcp_value_read_argv(struct mcp_entry *e, const char *const **field)
{
    struct mcp_where where = {.key = MCP_KEY_ARGS};
    str raw = raw_value(e, MCP_KEY_ARGS), command = read_string(e, MCP_KEY_COMMAND);
    const char **argv;
    struct jr j;

    if (!str_is_none(raw) && jr_type_of(raw) != JR_ARRAY) {
        mcp_entry_refuse(e, mcp_where_key(MCP_KEY_ARGS),
                         "must be an array of strings, one for each word");
        return;
    }
    argv = arena_array(e->reader->memory, jr_count(raw) + 2, sizeof(*argv));
    if (argv == NULL) {
        e->reader->no_memory = true;
        return;
    }
    argv[0] = command.p;
    jr_init(&j, raw);
    if (!str_is_none(raw) && jr_enter(&j, JR_ARRAY)) {
        for (; jr_next_element(&j); where.index++)
            argv[where.index + 1] = read_plain(e, where, jr_raw(&j)).p;
    }
    if (argv[0] != NULL)
        *field = argv;
}

/* Adds a pair; of two with one name the last one counts. */
static void add_pair(struct mcp_entry *e, struct mcp_where where, struct mcp_pair pair,
                     struct mcp_pair *items, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        if (where.key == MCP_KEY_HEADERS ? str_eq_nocase(items[i].name, pair.name)
                                         : str_eq(items[i].name, pair.name)) {
            mcp_entry_warn(e, where, "is there twice; the last one counts");
            items[i] = pair;
            return;
        }
    }
    items[(*n)++] = pair;
}

void mcp_value_read_pairs(struct mcp_entry *e, enum mcp_key key, struct mcp_pairs *field)
{
    str raw = raw_value(e, key), name;
    struct mcp_pair *items;
    size_t n = 0, most = jr_count(raw);
    struct jr j;

    if (str_is_none(raw))
        return;
    if (jr_type_of(raw) != JR_OBJECT || most > MAX_PAIRS) {
        mcp_entry_refuse(e, mcp_where_key(key), "must be an object of strings, at most 1000");
        return;
    }
    items = arena_array(e->reader->memory, most, sizeof(*items));
    e->reader->no_memory |= items == NULL;
    jr_init(&j, raw);
    for (bool more = items != NULL && jr_enter(&j, JR_OBJECT); more && jr_next_member(&j, &name);) {
        struct mcp_pair pair = {.name = json_text_copy(e->reader->memory, j.raw_key)};
        struct mcp_where where = where_member(key, pair.name);

        pair.value.hidden = read_plain(e, where, jr_raw(&j));
        if (str_is_none(pair.name) || str_is_none(pair.value.hidden))
            continue;
        add_pair(e, where, pair, items, &n);
        mcp_entry_add_secret(e, pair.value.hidden);
    }
    *field = (struct mcp_pairs){items, n};
}
