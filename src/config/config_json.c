/* config_json.c -- the value of a key as JSON: as in a flag ("32MiB"), or a number or truth; lists as arrays,
 * lists of pairs as objects. */
#include "config/config_key.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* A value that is being read. */
struct reading {
    struct config *config;
    const struct config_key *key;
    str raw;
    const struct config_place *place;
    struct config_problems *problems;
};

static void refuse_type(const struct reading *r, const char *message)
{
    config_key_refuse(r->config, r->key, r->problems, message);
}

/* The characters of a raw string. */
static str decode_text(const struct reading *r, str raw)
{
    return json_text_dup(&r->config->memory, str_from(raw.p + 1, raw.len - 2));
}

static void set_array(const struct reading *r)
{
    struct jr j;

    jr_init(&j, r->raw);
    config_list_begin(r->config, r->key, r->place);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        str raw = jr_raw(&j);

        if (jr_type_of(raw) != JR_STRING)
            refuse_type(r, "every element must be a string");
        else if (!config_list_add(r->config, r->key, decode_text(r, raw), r->problems))
            return;
    }
}

/* Adds one member of {"name": "model"} as the pair that a flag would hold. */
static bool add_pair(const struct reading *r, str name, str raw)
{
    struct buf pair = {0};
    bool goes_on = true;

    json_text_decode(name, &pair);
    if (jr_type_of(raw) != JR_STRING || str_find_char(buf_str(&pair), '=') < pair.len) {
        refuse_type(r, "names must not contain \"=\", and values must be strings");
    } else {
        buf_char(&pair, '=');
        buf_append(&pair, decode_text(r, raw));
        goes_on = config_list_add(r->config, r->key, buf_str(&pair), r->problems);
    }
    buf_fini(&pair);
    return goes_on;
}

static void set_pairs(const struct reading *r)
{
    struct jr j;
    str name;

    jr_init(&j, r->raw);
    config_list_begin(r->config, r->key, r->place);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        str raw_name = j.raw_key;

        if (!add_pair(r, raw_name, jr_raw(&j)))
            return;
    }
}

static void set_plain(const struct reading *r, str value)
{
    config_key_set(r->config, r->key, value, r->place, r->problems);
}

static void set_list(const struct reading *r)
{
    bool is_pair = config_form_find(r->key->valid)->is_pair;

    switch (jr_type_of(r->raw)) {
    case JR_STRING:
        set_plain(r, decode_text(r, r->raw));
        return;
    case JR_ARRAY:
        set_array(r);
        return;
    case JR_OBJECT:
        if (is_pair) {
            set_pairs(r);
            return;
        }
        break;
    default:
        break;
    }
    r->config->places[r->key->id] = *r->place;
    refuse_type(r, is_pair ? "must be an object of strings, an array of strings or a string"
                           : "must be an array of strings, or a string");
}

static void set_scalar(const struct reading *r)
{
    switch (jr_type_of(r->raw)) {
    case JR_OBJECT:
    case JR_ARRAY:
    case JR_NULL:
        r->config->places[r->key->id] = *r->place;
        refuse_type(r, "must be a string, a number or true or false");
        return;
    case JR_STRING:
        set_plain(r, decode_text(r, r->raw));
        return;
    default:
        set_plain(r, r->raw);
        return;
    }
}

void config_key_set_json(struct config *c, const struct config_key *k, str raw,
                         const struct config_place *place, struct config_problems *problems)
{
    const struct reading r = {c, k, raw, place, problems};

    if (config_key_is_list(k))
        set_list(&r);
    else
        set_scalar(&r);
}
