/* key_setting.c -- a table of words, and what each of them reads. */
#include "access/key_setting.h"

#include "access/rate_limit.h"
#include "base/num.h"
#include "base/utc.h"

enum { MAX_WEIGHT = 100 };

/* ---- values; each returns false when it is none */

static bool read_number(str value, uint64_t least, uint64_t most, uint64_t *ret)
{
    return num_uint(value, ret) && *ret >= least && *ret <= most;
}

/* An empty name would fit a request without a model. */
static bool read_models(str value, struct key_settings *s)
{
    str rest = value;

    s->name.models = value;
    while (rest.len > 0) {
        if (str_cut(&rest, ',').len == 0)
            return false;
    }
    return value.len > 0 && !str_ends_with(value, STR(","));
}

static bool read_rpm(str value, struct key_settings *s)
{
    return read_number(value, 0, RATE_MOST, &s->name.limits.rpm);
}

static bool read_tpm(str value, struct key_settings *s)
{
    return read_number(value, 0, RATE_MOST, &s->name.limits.tpm);
}

static bool read_concurrency(str value, struct key_settings *s)
{
    return read_number(value, 0, RATE_MOST, &s->name.limits.concurrency);
}

static bool read_weight(str value, struct key_settings *s)
{
    uint64_t weight;

    if (!read_number(value, 1, MAX_WEIGHT, &weight))
        return false;
    s->name.weight = (unsigned)weight;
    return true;
}

static const str priorities[] = {
    [KEY_PRIORITY_NORMAL] = STR_INIT("normal"),
    [KEY_PRIORITY_HIGH] = STR_INIT("high"),
    [KEY_PRIORITY_LOW] = STR_INIT("low"),
};

str key_priority_word(enum key_priority priority)
{
    return priorities[priority];
}

static bool read_priority(str value, struct key_settings *s)
{
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        if (!str_eq(value, priorities[i]))
            continue;
        s->name.priority = (enum key_priority)i;
        return true;
    }
    return false;
}

static bool read_store(str value, struct key_settings *s)
{
    return num_size_bytes(value, &s->name.store_bytes);
}

static bool read_expires(str value, struct key_settings *s)
{
    return utc_read(value, &s->expires_s);
}

static bool read_admin(str value, struct key_settings *s)
{
    (void)value;
    s->is_admin = true;
    return true;
}

/* ---- the table */

static const struct setting {
    str word;
    const char *rule;
    bool has_value;
} settings[KEY_SETTINGS] = {
#define KEY_SETTING(symbol, word, value, rule, help)                                               \
    [KEY_SETTING_##symbol] = {STR_INIT(word), rule, (value) != NULL},
#include "access/key_setting.def"
};

static bool (*const readers[KEY_SETTINGS])(str value, struct key_settings *s) = {
    [KEY_SETTING_MODELS] = read_models, [KEY_SETTING_RPM] = read_rpm,
    [KEY_SETTING_TPM] = read_tpm,       [KEY_SETTING_CONCURRENCY] = read_concurrency,
    [KEY_SETTING_WEIGHT] = read_weight, [KEY_SETTING_PRIORITY] = read_priority,
    [KEY_SETTING_STORE] = read_store,   [KEY_SETTING_EXPIRES] = read_expires,
    [KEY_SETTING_ADMIN] = read_admin,
};

str key_setting_word(enum key_setting which)
{
    return settings[which].word;
}

bool key_setting_has_value(enum key_setting which)
{
    return settings[which].has_value;
}

/* ---- a line */

str key_setting_next_word(str *rest)
{
    str line = str_trim(*rest), word = line;

    word.len = 0;
    while (word.len < line.len && !str_is_space(line.p[word.len]))
        word.len++;
    *rest = str_skip(line, word.len);
    return word;
}

/* Only the first `=` divides: names of models may have others. */
static bool find_setting(str word, enum key_setting *ret, str *ret_value)
{
    const size_t n = str_find_char(word, '=');
    const str name = str_from(word.p, n);

    *ret_value = str_skip(word, n + 1);
    for (unsigned i = 0; i < KEY_SETTINGS; i++) {
        if (!str_eq(name, settings[i].word) || settings[i].has_value != (n < word.len))
            continue;
        *ret = (enum key_setting)i;
        return true;
    }
    return false;
}

static bool refuse_word(struct buf *why)
{
    buf_c(why, "behind the SHA-256 of a key only these settings are known: ");
    for (unsigned i = 0; i < KEY_SETTINGS; i++) {
        buf_c(why, i == 0 ? "" : ", ");
        buf_append(why, settings[i].word);
        buf_c(why, settings[i].has_value ? "=" : "");
    }
    buf_c(why, "; remove what else stands there");
    return false;
}

static bool refuse_value(const struct setting *s, struct buf *why)
{
    buf_append(why, s->word);
    buf_c(why, "= must be ");
    buf_c(why, s->rule);
    return false;
}

static bool refuse_second(const struct setting *s, struct buf *why)
{
    buf_append(why, s->word);
    buf_c(why, " is given twice; remove one");
    return false;
}

static bool read_word(str word, struct key_settings *ret, struct buf *why)
{
    enum key_setting which;
    str value;

    if (!find_setting(word, &which, &value))
        return refuse_word(why);
    if (allowance_has(&ret->name, which))
        return refuse_second(&settings[which], why);
    if (!readers[which](value, ret))
        return refuse_value(&settings[which], why);
    ret->name.given |= 1U << which;
    return true;
}

bool key_settings_read(str text, struct key_settings *ret, struct buf *why)
{
    const unsigned of_the_key = 1U << KEY_SETTING_EXPIRES | 1U << KEY_SETTING_ADMIN;
    str word;

    *ret = (struct key_settings){.expires_s = INT64_MAX};
    while ((word = key_setting_next_word(&text)).len > 0) {
        if (!read_word(word, ret, why))
            return false;
    }
    ret->name.given &= ~of_the_key;
    if (!allowance_has(&ret->name, KEY_SETTING_STORE))
        return true;
    buf_c(why, "store= is not supported yet; remove it, and set store_max_owner, which is for all "
               "names");
    return false;
}
