/* search_request.c -- writes what the table of services says. */
#include "search/search_request.h"

#include <stdio.h>

#include "base/secrets.h"
#include "base/version.h"
#include "json/json_write.h"
#include "search/search_domains.h"
#include "search/search_read.h"

static bool is_letter(char c)
{
    return str_lower_char(c) >= 'a' && str_lower_char(c) <= 'z';
}

/* ---- values */

/* Where we alone filter, more are asked for than are wanted. */
static void write_count(const struct search_service_info *s, const struct search_query *q,
                        struct search_request *r)
{
    unsigned n = search_max_results(q);
    bool is_filtered = q->n_allowed + q->n_blocked > 0 && !search_service_takes(s, VALUE_ALLOWED);

    if (n > s->max_results || is_filtered)
        n = s->max_results;
    (void)snprintf(r->count, sizeof(r->count), "%u", n);
}

static void write_country(str code, struct search_request *r)
{
    if (code.len != 2 || !is_letter(code.p[0]) || !is_letter(code.p[1]))
        return;
    for (size_t i = 0; i < 2; i++)
        r->country[i] = (char)(str_lower_char(code.p[i]) - ('a' - 'A'));
}

/* The text of a field; STR_NONE: it is not sent. */
static str field_text(const struct search_request *r, const struct search_query *q,
                      const struct search_field *f)
{
    str country = r->country[0] == '\0' ? STR_NONE : str_from(r->country, 2);

    switch (f->value) {
    case VALUE_QUERY:
        return buf_str(&r->words);
    case VALUE_COUNT:
        return str_from_c(r->count);
    case VALUE_COUNTRY:
        return country;
    case VALUE_COUNTRY_SEARCHED:
        return search_country_is_searched(r->country) ? country : STR_NONE;
    case VALUE_COUNTRY_NAME:
        return str_from_c(search_country_name(r->country));
    case VALUE_CITY:
        return q->city;
    case VALUE_REGION:
        return q->region;
    case VALUE_TIMEZONE:
        return q->timezone;
    case VALUE_FIXED:
        return str_from_c(f->fixed);
    case VALUE_ALLOWED:
    case VALUE_BLOCKED:
        break;
    }
    return STR_NONE;
}

/* ---- URL */

static void write_escaped(str value, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.p[i];

        if (is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_') {
            buf_char(out, c);
        } else {
            buf_char(out, '%');
            buf_hex(out, (const unsigned char *)&c, 1);
        }
    }
}

static void write_url_field(const char *name, str value, struct buf *out)
{
    buf_char(out, str_find_char(buf_str(out), '?') == out->len ? '?' : '&');
    buf_c(out, name);
    buf_char(out, '=');
    write_escaped(value, out);
}

/* The operator's address may bring a query of its own, such as "?language=de". */
static void write_address(str url, const char *path, struct buf *out)
{
    size_t query = str_find_char(url, '?');
    str before = str_from(url.p, query);

    while (str_ends_with(before, STR("/")))
        before.len--;
    if (path == NULL || str_ends_with(before, str_from_c(path))) {
        buf_append(out, url);
        return;
    }
    buf_append(out, before);
    buf_c(out, path);
    buf_append(out, str_skip(url, query));
}

/* ---- body */

/* Not all services take both lists at once. */
static void write_domains(const struct search_query *q, const struct search_field *f, struct jw *j)
{
    bool is_allowed = f->value == VALUE_ALLOWED;
    const str *domains = is_allowed ? q->allowed_domains : q->blocked_domains;
    size_t n = is_allowed ? q->n_allowed : q->n_blocked;

    if (n == 0 || (!is_allowed && q->n_allowed > 0))
        return;
    jw_key(j, f->name);
    jw_array(j);
    for (size_t i = 0; i < n; i++) {
        str domain = search_domain(domains[i]);

        if (!str_is_none(domain))
            jw_string(j, domain);
    }
    jw_array_end(j);
}

static void write_body_field(const struct search_request *r, const struct search_query *q,
                             const struct search_field *f, struct jw *j)
{
    str text = field_text(r, q, f);

    if (f->value == VALUE_ALLOWED || f->value == VALUE_BLOCKED)
        write_domains(q, f, j);
    else if (f->value == VALUE_COUNT || f->value == VALUE_FIXED)
        jw_key_raw(j, f->name, text);
    else if (!str_is_none(text))
        jw_key_string(j, f->name, text);
}

static void write_body(const struct search_service_info *s, const struct search_query *q,
                       struct search_request *r)
{
    struct jw j = jw_to(&r->body);

    jw_object(&j);
    for (size_t i = 0; i < SEARCH_MAX_FIELDS && s->fields[i].place != IN_NOTHING; i++) {
        if (s->fields[i].place == IN_BODY)
            write_body_field(r, q, &s->fields[i], &j);
    }
    jw_object_end(&j);
}

/* ---- headers */

/* A value that no header can hold, such as a city in other letters, is left out. */
static void add_header(struct search_request *r, const char *name, str value)
{
    if (value.len > 0 && header_is_value(value))
        r->headers[r->n_headers++] = (struct http_header){str_from_c(name), value};
}

static void add_own_headers(const struct search_service_info *s, const char *key,
                            struct search_request *r)
{
    add_header(r, "User-Agent", STR("Antiphon/" ANTIPHON_VERSION));
    add_header(r, "Accept-Encoding", STR("identity"));
    if (key == NULL || key[0] == '\0')
        return;
    (void)buf_reserve(&r->key, strlen(s->key_prefix) + strlen(key)); /* never moves */
    buf_c(&r->key, s->key_prefix);
    buf_c(&r->key, key);
    add_header(r, s->key_name, buf_str(&r->key));
}

/* ---- all of it */

static void write_fields(const struct search_service_info *s, const struct search_query *q,
                         struct search_request *r)
{
    for (size_t i = 0; i < SEARCH_MAX_FIELDS && s->fields[i].place != IN_NOTHING; i++) {
        const struct search_field *f = &s->fields[i];
        str text = field_text(r, q, f);

        if (f->place == IN_HEADER)
            add_header(r, f->name, text);
        else if (f->place == IN_URL && !str_is_none(text))
            write_url_field(f->name, text, &r->url);
    }
}

int search_request_write(const struct search_http_conf *conf, const struct search_query *query,
                         struct search_request *ret, struct err *reterr)
{
    const struct search_service_info *s = search_service_info(conf->service);
    const char *url = conf->url == NULL || conf->url[0] == '\0' ? s->url : conf->url;
    bool is_post = s->fields[0].place == IN_BODY;

    if (url == NULL || str_trim(query->query).len == 0) {
        err_set(reterr, ERR_INVALID_VALUE,
                url == NULL ? "search_url is not set." : "The query is empty.");
        return -1;
    }
    search_words_write(query, s->max_query_chars, !search_service_takes(s, VALUE_ALLOWED),
                       &ret->words);
    write_count(s, query, ret);
    write_country(query->country, ret);
    write_address(str_from_c(url), s->path, &ret->url);
    write_fields(s, query, ret);
    add_own_headers(s, conf->key, ret);
    ret->method = is_post ? "POST" : "GET";
    if (is_post)
        write_body(s, query, ret);
    if (buf_failed(&ret->words) || buf_failed(&ret->url) || buf_failed(&ret->body) ||
        buf_failed(&ret->key))
        return err_set_no_memory(reterr);
    return 0;
}

void search_request_fini(struct search_request *r)
{
    buf_fini(&r->url);
    buf_fini(&r->body);
    buf_fini(&r->words);
    secret_buf_fini(&r->key);
}
