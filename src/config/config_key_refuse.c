/* config_key_refuse.c -- what a key takes, and that a value is none of it. */
#include "config/config_key.h"

static void describe_range(const struct config_key *k, const char *what, struct buf *out)
{
    const str range = config_key_range(k);
    size_t low = str_find_char(range, '.');

    buf_c(out, config_key_may_be_auto(k) ? "auto, or " : "");
    buf_c(out, what);
    buf_c(out, " from ");
    buf_append(out, str_from(range.p, low));
    buf_c(out, " to ");
    buf_append(out, str_skip(range, low + strlen("..")));
}

/* Appends what a value may be; of a list, what an element may be. */
static void describe_value(const struct config_key *k, struct buf *out)
{
    switch (k->kind) {
    case CONFIG_GROUP:
        return;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        buf_c(out, config_form_find(k->valid)->describe);
        return;
    case CONFIG_DURATION:
        describe_range(k, "a duration", out);
        buf_c(out, ", such as 500ms, 15s, 2m or 1h");
        return;
    case CONFIG_SIZE:
        describe_range(k, "a size", out);
        return;
    case CONFIG_COUNT:
        describe_range(k, "a whole number", out);
        return;
    case CONFIG_FLAG:
        buf_c(out, "true or false");
        return;
    case CONFIG_SWITCH:
        buf_c(out, "true, false or auto");
        return;
    case CONFIG_CHOICE:
    case CONFIG_WORD:
        config_write_words(k->valid, out);
        return;
    }
}

void config_key_takes(const struct config_key *k, struct buf *out)
{
    buf_c(out, config_key_is_list(k) ? "a list, each element " : "");
    describe_value(k, out);
}

bool config_key_is_private(const struct config_key *k, str value)
{
    return k->kind == CONFIG_SECRET || k->kind == CONFIG_SECRETS ||
           (k->kind == CONFIG_TEXT && config_form_find(k->valid)->may_hold_password &&
            str_find_char(value, '@') < value.len);
}

void config_key_where(const struct config *c, const struct config_key *k, struct buf *out)
{
    const struct config_place *place = &c->places[k->id];

    if (place->source == CONFIG_FROM_FLAG) {
        config_key_flag(k, out);
    } else if (place->source == CONFIG_FROM_VARIABLE && place->name == NULL) {
        config_key_variable(k, out);
    } else if (place->source == CONFIG_FROM_VARIABLE) {
        buf_c(out, place->name);
    } else if (place->source == CONFIG_FROM_FILE) {
        buf_c(out, place->name);
        buf_c(out, ": line ");
        buf_uint(out, place->line);
        buf_c(out, ": ");
        buf_c(out, place->member == NULL ? k->name : place->member);
    } else {
        buf_c(out, k->name);
    }
}

void config_key_refuse(struct config *c, const struct config_key *k,
                       struct config_problems *problems, const char *message)
{
    struct buf where = {0};

    c->places[k->id].is_refused = true;
    config_key_where(c, k, &where);
    config_error(problems, "%s: %s", buf_cstr(&where), message);
    buf_fini(&where);
}

/* Appends what in particular is wrong with a text or an element, if its form can tell. */
static bool explain_form(const struct config_key *k, str value, struct buf *out)
{
    const struct config_form *form;

    if (k->kind != CONFIG_TEXT && k->kind != CONFIG_LIST)
        return false;
    form = config_form_find(k->valid);
    return form->explain != NULL && form->explain(value, out);
}

void config_key_refuse_value(struct config *c, const struct config_key *k, str value,
                             struct config_problems *problems)
{
    struct buf message = {0};

    buf_c(&message, config_key_is_private(k, value) ? "the value" : config_quote(value).text);
    if (!explain_form(k, value, &message)) {
        buf_c(&message, " is not valid; give ");
        describe_value(k, &message);
    }
    config_key_refuse(c, k, problems, buf_cstr(&message));
    buf_fini(&message);
}
