/* doctor_report.c -- findings as text and as JSON. */
#include "cli/doctor_report.h"

#include "base/url.h"
#include "config/config_key.h"
#include "json/json_write.h"
#include "upstream/upstream_options.h"

static const char *const ids[] = {
#define CHECK(symbol, id, is_quick, what) id,
#include "cli/doctor_check.def"
};

static const char *const words[] = {"skip", "ok", "set", "bad"};

static enum doctor_status status_of(const struct doctor_visit *v, size_t i)
{
    return doctor_setting_status(&v->findings.v[i], &v->subject);
}

static enum doctor_check check_of(const struct doctor_visit *v, size_t i)
{
    return doctor_finding_row(v->findings.v[i].id)->check;
}

static void write_fact(const struct doctor_finding *f, struct buf *out)
{
    buf_c(out, doctor_finding_row(f->id)->says);
    buf_c(out, f->detail[0] == '\0' ? "" : " ");
    buf_c(out, f->detail);
}

/* ---- settings */

void doctor_report_line(const struct doctor_visit *v, struct buf *out)
{
    const size_t before = out->len;

    for (size_t i = 0; i < v->findings.n; i++) {
        struct buf setting = {.limit = 0};

        doctor_setting_write(&v->findings.v[i], &setting);
        if (doctor_setting_is_of_model(buf_str(&setting)) &&
            doctor_setting_is_needed(&v->findings.v[i], &v->subject) &&
            str_find(str_skip(buf_str(out), before), buf_str(&setting)) == out->len - before) {
            if (out->len == before)
                buf_append(out, doctor_setting_pattern(v->subject.model));
            buf_char(out, ' ');
            buf_append(out, buf_str(&setting));
        }
        buf_fini(&setting);
    }
}

/* Calls write for each key with what to give it. */
static void each_setting(const struct doctor_visit *v, void (*write)(str key, str value, void *arg),
                         void *arg)
{
    struct buf line = {.limit = 0};

    for (size_t i = 0; i < v->findings.n; i++) {
        struct buf setting = {.limit = 0};
        str value;

        doctor_setting_write(&v->findings.v[i], &setting);
        value = buf_str(&setting);
        if (!doctor_setting_is_of_model(value) &&
            doctor_setting_is_needed(&v->findings.v[i], &v->subject)) {
            const str key = str_cut(&value, '=');

            write(key, value, arg);
        }
        buf_fini(&setting);
    }
    doctor_report_line(v, &line);
    if (line.len > 0)
        write(STR("model_settings"), buf_str(&line), arg);
    buf_fini(&line);
}

/* ---- text */

struct text_settings {
    struct buf *out;
    bool all_forms;
    size_t n;
};

/* Text as a shell takes it. */
static void write_quoted(str value, struct buf *out)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < value.len; i++) {
        if (value.p[i] == '\'')
            buf_c(out, "'\\''");
        else
            buf_char(out, value.p[i]);
    }
    buf_char(out, '\'');
}

static void write_forms(const struct config_key *k, str value, struct buf *out)
{
    struct jw w = jw_to(out);

    buf_c(out, "    file:      ");
    jw_string(&w, str_from_c(k->name));
    buf_c(out, config_key_is_list(k) ? ": [" : ": ");
    w.comma = false;
    jw_string(&w, value);
    buf_c(out, config_key_is_list(k) ? "]\n" : "\n");
    buf_c(out, "    variable:  ");
    config_key_variable(k, out);
    buf_char(out, '=');
    write_quoted(value, out);
    buf_c(out, "\n    flag:      ");
    config_key_flag(k, out);
    buf_char(out, ' ');
    write_quoted(value, out);
    buf_char(out, '\n');
}

static void write_text_setting(str key, str value, void *arg)
{
    struct text_settings *t = arg;

    buf_c(t->out, t->n++ == 0 ? "\nSettings:\n  " : "  ");
    buf_append(t->out, key);
    buf_char(t->out, '=');
    buf_append(t->out, value);
    buf_char(t->out, '\n');
    if (t->all_forms)
        write_forms(config_key_find(key), value, t->out);
}

static void pad(struct buf *out, size_t from, size_t width)
{
    do
        buf_char(out, ' ');
    while (out->len - from < width);
}

static void write_finding(const struct doctor_visit *v, size_t i, struct buf *out)
{
    const struct doctor_finding *f = &v->findings.v[i];
    const enum doctor_status status = status_of(v, i);
    const struct doctor_finding_row *row = doctor_finding_row(f->id);
    const size_t begin = out->len;

    buf_c(out, words[status]);
    pad(out, begin, 6);
    buf_c(out, ids[row->check]);
    pad(out, begin, 19);
    write_fact(f, out);
    buf_char(out, '\n');
    if ((status == DOCTOR_SET || status == DOCTOR_BAD) && row->why[0] != '\0') {
        const size_t line = out->len;

        pad(out, line, 19);
        buf_c(out, row->why);
        buf_char(out, '\n');
    }
}

static void write_upstream(const struct doctor_visit *v, struct buf *out)
{
    url_write_shown(str_from_c(v->subject.config->upstream), out);
}

void doctor_report_text(const struct doctor_visit *v, bool all_forms, struct buf *out)
{
    struct text_settings t = {out, all_forms, 0};

    buf_c(out, "Upstream ");
    write_upstream(v, out);
    buf_c(out, "\n\n");
    for (size_t i = 0; i < v->findings.n; i++)
        write_finding(v, i, out);
    each_setting(v, write_text_setting, &t);
}

/* ---- JSON */

static void write_json_setting(str key, str value, void *arg)
{
    struct jw *w = arg;
    struct buf name = {.limit = 0};

    buf_append(&name, key);
    jw_key_string(w, buf_cstr(&name), value);
    buf_fini(&name);
}

static void write_own_setting(const struct doctor_visit *v, const struct doctor_finding *f,
                              struct jw *w)
{
    struct buf setting = {.limit = 0};
    str value;

    jw_key(w, "settings");
    jw_object(w);
    doctor_setting_write(f, &setting);
    value = buf_str(&setting);
    if (doctor_setting_is_needed(f, &v->subject)) {
        const str key = str_cut(&value, '=');

        write_json_setting(key, value, w);
    }
    jw_object_end(w);
    buf_fini(&setting);
}

static void write_check(const struct doctor_visit *v, size_t i, struct jw *w)
{
    const struct doctor_finding *f = &v->findings.v[i];
    struct buf fact = {.limit = 0};

    write_fact(f, &fact);
    jw_object(w);
    jw_key_string(w, "id", str_from_c(ids[check_of(v, i)]));
    jw_key_string(w, "status", str_from_c(words[status_of(v, i)]));
    jw_key_string(w, "fact", buf_str(&fact));
    jw_key_int(w, "ms", (int64_t)v->ms[check_of(v, i)]);
    write_own_setting(v, f, w);
    jw_object_end(w);
    buf_fini(&fact);
}

void doctor_report_json(const struct doctor_visit *v, struct buf *out)
{
    static const char *const summaries[] = {"good", "to set", "unusable", "unreachable"};
    struct jw w = jw_to(out);
    struct buf upstream = {.limit = 0};

    write_upstream(v, &upstream);
    jw_object(&w);
    jw_key_string(&w, "upstream", buf_str(&upstream));
    jw_key_string(&w, "server", upstream_kind_profile(v->subject.config, v->facts)->word);
    jw_key_string(&w, "model", v->subject.model.len > 0 ? v->subject.model : STR_NONE);
    jw_key(&w, "checks");
    jw_array(&w);
    for (size_t i = 0; i < v->findings.n; i++)
        write_check(v, i, &w);
    jw_array_end(&w);
    jw_key(&w, "settings");
    jw_object(&w);
    each_setting(v, write_json_setting, &w);
    jw_object_end(&w);
    jw_key_string(&w, "summary", str_from_c(summaries[doctor_report_status(v)]));
    jw_object_end(&w);
    buf_char(out, '\n');
    buf_fini(&upstream);
}

/* ---- the exit status */

/* Without these nothing works. A model that is not listed may be served all the same. */
static bool is_vital(enum doctor_finding_id id)
{
    const enum doctor_check check = doctor_finding_row(id)->check;

    return check == DOCTOR_CHECK_REACH || check == DOCTOR_CHECK_AUTH ||
           check == DOCTOR_CHECK_STREAM || id == DOCTOR_FOUND_NO_MODELS;
}

int doctor_report_status(const struct doctor_visit *v)
{
    enum { GOOD, TO_SET, UNUSABLE, UNREACHABLE };
    int status = GOOD;

    for (size_t i = 0; i < v->findings.n; i++) {
        const enum doctor_status s = status_of(v, i);

        if (v->findings.v[i].id == DOCTOR_FOUND_UNREACHABLE)
            return UNREACHABLE;
        if (s == DOCTOR_BAD && is_vital(v->findings.v[i].id))
            status = UNUSABLE;
        else if ((s == DOCTOR_BAD || s == DOCTOR_SET) && status == GOOD)
            status = TO_SET;
    }
    return status;
}
