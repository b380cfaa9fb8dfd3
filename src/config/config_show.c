/* config_show.c -- the configuration that is in effect, as a file that says
 * where each value came from. */
#include "config/config_key.h"
#include "json/json_text.h"

/* Units from large to small; the first that divides a number writes it. */
struct unit {
    uint64_t size;
    const char *name;
};

static const struct unit durations[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
static const struct unit sizes[] = {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};

static void show_text(str text, struct buf *out)
{
    buf_char(out, '"');
    json_text_escape(text, out);
    buf_char(out, '"');
}

static void show_number(uint64_t n, const struct unit *units, struct buf *out)
{
    while (n % units->size != 0)
        units++;
    buf_char(out, '"');
    buf_uint(out, n / units->size);
    buf_c(out, n == 0 ? "" : units->name);
    buf_char(out, '"');
}

static void show_size(size_t bytes, struct buf *out)
{
    if (bytes == CONFIG_SIZE_AUTO)
        show_text(STR("auto"), out);
    else
        show_number(bytes, sizes, out);
}

static void show_count(unsigned n, struct buf *out)
{
    if (n == CONFIG_COUNT_AUTO)
        show_text(STR("auto"), out);
    else
        buf_uint(out, n);
}

static void show_list(const struct config_list *list, struct buf *out)
{
    buf_char(out, '[');
    for (size_t i = 0; i < list->n; i++) {
        buf_c(out, i == 0 ? "" : ", ");
        show_text(str_from_c(list->items[i]), out);
    }
    buf_char(out, ']');
}

static void show_value(const struct config *c, const struct config_key *k, struct buf *out)
{
    const void *field = (const char *)c + k->offset;

    switch (k->kind) {
    case CONFIG_GROUP:
        return;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
        show_text(str_from_c(*(const char *const *)field), out);
        return;
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        show_list(field, out);
        return;
    case CONFIG_DURATION:
        show_number(*(const uint64_t *)field, durations, out);
        return;
    case CONFIG_SIZE:
        show_size(*(const size_t *)field, out);
        return;
    case CONFIG_COUNT:
        show_count(*(const unsigned *)field, out);
        return;
    case CONFIG_FLAG:
        buf_c(out, *(const bool *)field ? "true" : "false");
        return;
    case CONFIG_CHOICE:
    case CONFIG_WORD:
    case CONFIG_SWITCH:
        show_text(config_key_chosen(c, k), out);
        return;
    }
}

/* A value that must not be seen; "" can be. */
static bool is_hidden(const struct config_key *k, const void *field)
{
    const char *text;

    if (k->kind == CONFIG_SECRETS)
        return ((const struct config_list *)field)->n > 0;
    if (k->kind != CONFIG_SECRET && k->kind != CONFIG_TEXT)
        return false;
    text = *(const char *const *)field;
    return text != NULL && config_key_is_private(k, str_from_c(text));
}

/* A line end in a name must not end the comment. */
static void show_place(const struct config *c, const struct config_key *k, struct buf *out)
{
    static const char *const sources[] = {
        [CONFIG_FROM_DEFAULT] = "default", [CONFIG_FROM_PRESET] = "preset ",
        [CONFIG_FROM_FILE] = "file ",      [CONFIG_FROM_VARIABLE] = "variable ",
        [CONFIG_FROM_FLAG] = "flag ",
    };
    const struct config_place *place = &c->places[k->id];
    struct buf name = {0};

    buf_c(out, " // ");
    buf_c(out, sources[place->source]);
    if (place->source == CONFIG_FROM_FILE) {
        buf_c(&name, place->name);
        buf_c(&name, ", line ");
        buf_uint(&name, place->line);
    } else if (place->source == CONFIG_FROM_PRESET) {
        buf_c(&name, place->name);
    } else if (place->source != CONFIG_FROM_DEFAULT) {
        config_key_where(c, k, &name);
    }
    json_text_escape(buf_str(&name), out);
    buf_fini(&name);
}

static void show_key(const struct config *c, const struct config_key *k, struct buf *out)
{
    bool hidden = is_hidden(k, (const char *)c + k->offset);

    buf_c(out, hidden ? "  // \"" : "  \"");
    buf_c(out, k->name);
    buf_c(out, "\": ");
    if (hidden)
        buf_c(out, "\"***\"");
    else
        show_value(c, k, out);
    buf_char(out, ',');
    show_place(c, k, out);
    buf_char(out, '\n');
}

/* Shows the old keys that are given: they have no default. */
static void show_old_keys(const struct config *c, struct buf *out)
{
    const char *title = "\n  // Old keys: in model_settings they are \"* NAME=WORD\"\n";

    for (const struct config_key *k = config_old_keys; k->name != NULL; k++) {
        if (str_is_none(config_key_chosen(c, k)))
            continue;
        buf_c(out, title);
        show_key(c, k, out);
        title = "";
    }
}

void config_show(const struct config *c, struct buf *out)
{
    buf_c(out, "{\n");
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP) {
            show_key(c, k, out);
            continue;
        }
        buf_c(out, k == config_keys ? "  // " : "\n  // ");
        buf_c(out, k->name);
        buf_char(out, '\n');
    }
    show_old_keys(c, out);
    buf_c(out, "}\n");
}
