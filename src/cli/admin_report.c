/* admin_report.c -- columns out of lists in JSON. */
#include "cli/admin_report.h"

#include "base/utc.h"
#include "base/utf8.h"
#include "cli/text_table.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { MODELS_CHARS = 40 };

/* ---- cells */

static void add_heads(struct text_table *t, const str *heads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_table_cell(t, heads[i]);
    text_table_end_row(t);
}

/* Adds a cell and empties the text of it. Nothing is shown as "-". */
static void add_cell(struct text_table *t, struct buf *text)
{
    t->text.failed = t->text.failed || buf_failed(text);
    text_table_cell(t, text->len == 0 ? STR("-") : buf_str(text));
    buf_reset(text);
}

static void add_string(struct text_table *t, str raw, const char *member, struct buf *text)
{
    json_text_decode(jr_member_string(raw, str_from_c(member)), text);
    add_cell(t, text);
}

static void add_number(struct text_table *t, str raw, const char *member, struct buf *text)
{
    buf_int(text, jr_member_int(raw, str_from_c(member), 0));
    add_cell(t, text);
}

static void write_moment(int64_t unix_s, struct buf *out)
{
    if (unix_s > 0)
        utc_write(unix_s, out);
}

/* "3/8", or "3" where there is no limit. */
static void write_share(int64_t n, int64_t limit, struct buf *out)
{
    buf_int(out, n);
    if (limit == 0)
        return;
    buf_char(out, '/');
    buf_int(out, limit);
}

/* ---- models */

/* Appends the characters of a name, or its first ones. Returns how many these are. */
static size_t write_model(str name, struct buf *out)
{
    size_t n_chars = 0;

    while (name.len > 0 && n_chars < MODELS_CHARS) {
        size_t n = utf8_char(name);

        buf_append(out, str_from(name.p, n > 0 ? n : 1));
        name = str_skip(name, n > 0 ? n : 1);
        n_chars++;
    }
    buf_c(out, name.len > 0 ? "..." : "");
    return n_chars;
}

/* As many names as there is room for, one at least, and the number of the others: "gemma, qwen3 +12". */
static void write_models(str raw, struct buf *out)
{
    struct buf name = {.limit = 0};
    size_t n_chars = 0, n_left = 0;
    struct jr j;

    jr_init(&j, raw);
    for (bool is_list = jr_enter(&j, JR_ARRAY); is_list && jr_next_element(&j);) {
        buf_reset(&name);
        json_text_decode(jr_string(&j), &name);
        out->failed = out->failed || buf_failed(&name);
        if (n_left > 0 || (n_chars > 0 && n_chars + utf8_count(buf_str(&name)) > MODELS_CHARS)) {
            n_left++;
            continue;
        }
        buf_c(out, n_chars > 0 ? ", " : "");
        n_chars += write_model(buf_str(&name), out) + 2;
    }
    if (n_left > 0) {
        buf_c(out, " +");
        buf_uint(out, n_left);
    }
    buf_fini(&name);
}

/* ---- upstreams */

static void add_last_error(struct text_table *t, str raw, struct buf *text)
{
    if (jr_type_of(raw) != JR_OBJECT)
        return;
    buf_c(text, "last error, ");
    utc_write(jr_member_int(raw, STR("at"), 0), text);
    buf_c(text, ": ");
    json_text_decode(jr_member_string(raw, STR("message")), text);
    t->text.failed = t->text.failed || buf_failed(text);
    text_table_note(t, buf_str(text));
    buf_reset(text);
}

static void add_upstream(struct text_table *t, str raw)
{
    struct buf text = {.limit = 0};

    add_string(t, raw, "name", &text);
    add_string(t, raw, "state", &text);
    write_moment(jr_member_int(raw, STR("since"), 0), &text);
    add_cell(t, &text);
    write_share(jr_member_int(raw, STR("in_flight"), 0), jr_member_int(raw, STR("limit"), 0),
                &text);
    add_cell(t, &text);
    add_number(t, raw, "served", &text);
    add_number(t, raw, "failures", &text);
    add_string(t, raw, "url", &text);
    write_models(jr_member(raw, STR("models")), &text);
    add_cell(t, &text);
    text_table_end_row(t);
    add_last_error(t, jr_member(raw, STR("last_error")), &text);
    buf_fini(&text);
}

/* ---- keys */

/* The keys of one name, summed up for its line. */
struct keys {
    size_t n;
    str mark; /* of the first, escaped; STR_NONE: it has none */
    bool have_admin;
    int64_t expires_s; /* the last of them; 0: one never does */
};

static struct keys keys_of(str raw)
{
    struct keys keys = {.mark = STR_NONE};
    bool never_end = false;
    struct jr j;

    jr_init(&j, raw);
    for (bool is_list = jr_enter(&j, JR_ARRAY); is_list && jr_next_element(&j); keys.n++) {
        str key = jr_raw(&j);
        int64_t expires_s = jr_member_int(key, STR("expires"), 0);

        if (keys.n == 0)
            keys.mark = jr_member_string(key, STR("mark"));
        keys.have_admin |= jr_type_of(jr_member(key, STR("admin"))) == JR_TRUE;
        never_end |= expires_s == 0;
        if (expires_s > keys.expires_s)
            keys.expires_s = expires_s;
    }
    keys.expires_s = never_end ? 0 : keys.expires_s;
    return keys;
}

/* A key without a name is known by its mark. */
static void write_key_name(str name, const struct keys *keys, struct buf *out)
{
    if (!str_is_none(name) || str_is_none(keys->mark)) {
        json_text_decode(name, out);
        return;
    }
    buf_char(out, '(');
    json_text_decode(keys->mark, out);
    buf_char(out, ')');
}

/* "57/60": what there is of a limit; "57" without one, and nothing when that is not counted. */
static void add_share(struct text_table *t, str raw, const char *member, const char *limit,
                      struct buf *text)
{
    str n = jr_member(raw, str_from_c(member));

    if (jr_type_of(n) == JR_NUMBER)
        write_share(jr_member_int(raw, str_from_c(member), 0),
                    jr_member_int(raw, str_from_c(limit), 0), text);
    add_cell(t, text);
}

static void add_key_name(struct text_table *t, str raw)
{
    const struct keys keys = keys_of(jr_member(raw, STR("keys")));
    str models = jr_member(raw, STR("models"));
    struct buf text = {.limit = 0};

    write_key_name(jr_member_string(raw, STR("name")), &keys, &text);
    add_cell(t, &text);
    buf_uint(&text, keys.n);
    add_cell(t, &text);
    buf_c(&text, keys.have_admin ? "yes" : "");
    add_cell(t, &text);
    add_share(t, raw, "running", "concurrency", &text);
    add_share(t, raw, "requests_left", "rpm", &text);
    add_share(t, raw, "tokens_left", "tpm", &text);
    add_number(t, raw, "weight", &text);
    add_string(t, raw, "priority", &text);
    write_moment(keys.expires_s, &text);
    add_cell(t, &text);
    write_models(models, &text);
    buf_c(&text, jr_type_of(models) == JR_NULL ? "all" : "");
    add_cell(t, &text);
    text_table_end_row(t);
    buf_fini(&text);
}

/* ---- lists */

/* Appends a table of the elements of `data`. False when there is no such list. */
static bool write_list(str json, const str *heads, size_t n_heads,
                       void (*add)(struct text_table *t, str raw), struct buf *out)
{
    struct text_table t = {.n_cells = 0};
    str data = jr_is_valid(json) ? jr_member(json, STR("data")) : STR_NONE;
    struct jr j;

    if (jr_type_of(data) != JR_ARRAY)
        return false;
    add_heads(&t, heads, n_heads);
    jr_init(&j, data);
    for (bool is_list = jr_enter(&j, JR_ARRAY); is_list && jr_next_element(&j);)
        add(&t, jr_raw(&j));
    text_table_write(&t, out);
    text_table_fini(&t);
    return true;
}

bool admin_report_upstreams(str json, struct buf *out)
{
    static const str heads[] = {
        STR_INIT("NAME"),   STR_INIT("STATE"),    STR_INIT("SINCE"), STR_INIT("IN FLIGHT"),
        STR_INIT("SERVED"), STR_INIT("FAILURES"), STR_INIT("URL"),   STR_INIT("MODELS"),
    };

    return write_list(json, heads, COUNT_OF(heads), add_upstream, out);
}

bool admin_report_keys(str json, struct buf *out)
{
    static const str heads[] = {
        STR_INIT("NAME"),    STR_INIT("KEYS"),          STR_INIT("ADMIN"),
        STR_INIT("RUNNING"), STR_INIT("REQUESTS LEFT"), STR_INIT("TOKENS LEFT"),
        STR_INIT("WEIGHT"),  STR_INIT("PRIORITY"),      STR_INIT("EXPIRES"),
        STR_INIT("MODELS"),
    };

    return write_list(json, heads, COUNT_OF(heads), add_key_name, out);
}
