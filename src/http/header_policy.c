/* header_policy.c -- names and values are checked one by one, then gathered. */
#include "http/header_policy.h"

#include <stdio.h>

enum { SHOWN_NAME_BYTES = 64 };

/* Fields that only the gateway writes. Names that end in "*" are beginnings. */
static const str reserved[] = {
    STR_INIT("host"),       STR_INIT("content-*"), STR_INIT("transfer-encoding"),
    STR_INIT("connection"), STR_INIT("upgrade"),   STR_INIT("te"),
    STR_INIT("trailer"),    STR_INIT("expect"),    STR_INIT("keep-alive"),
    STR_INIT("proxy-*"),    STR_INIT("accept*"),   STR_INIT("last-event-id"),
    STR_INIT("mcp-*"),
};

static bool is_reserved_name(str name)
{
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        str r = reserved[i];

        if (!str_ends_with(r, STR("*"))) {
            if (str_eq_nocase(name, r))
                return true;
        } else if (str_starts_with_nocase(name, str_from(r.p, r.len - 1))) {
            return true;
        }
    }
    return false;
}

static bool is_authorization(str name)
{
    return str_eq_nocase(name, STR("authorization"));
}

/* --- messages ---------------------------------------------------------------------- */

/* Refuses `at`.member, in a sentence that may name a field. */
static int refuse_field(const char *at, const char *member, str name, const char *reason,
                        struct err *reterr)
{
    char param[sizeof(reterr->param)];
    int shown = (int)(name.len < SHOWN_NAME_BYTES ? name.len : SHOWN_NAME_BYTES);

    (void)snprintf(param, sizeof(param), "%s.%s", at, member);
    err_set_param(reterr, ERR_INVALID_VALUE, param, "Invalid value in '%s': %s%.*s%s%s.", param,
                  shown > 0 ? "'" : "", shown, shown > 0 ? name.p : "", shown > 0 ? "' " : "",
                  reason);
    return -1;
}

static int check_field(const struct http_header *h, const char *at, struct err *reterr)
{
    if (!header_is_name(h->name))
        return refuse_field(at, "headers", STR(""), "a name is not one of an HTTP header", reterr);
    if (is_reserved_name(h->name))
        return refuse_field(at, "headers", h->name, "is set by the gateway", reterr);
    if (!header_is_value(h->value))
        return refuse_field(at, "headers", h->name, "has characters other than printable ASCII",
                            reterr);
    return 0;
}

/* Checks the limits first: they bound what the rest looks at. */
static int check_fields(const struct http_header *headers, size_t n, size_t n_bytes, const char *at,
                        struct err *reterr)
{
    size_t n_authorizations = 0;

    if (n > HEADER_POLICY_MAX_FIELDS)
        return refuse_field(at, "headers", STR(""), "there are more than 32", reterr);
    for (size_t i = 0; i < n; i++)
        n_bytes += headers[i].name.len + headers[i].value.len;
    if (n_bytes > HEADER_POLICY_MAX_BYTES)
        return refuse_field(at, "headers", STR(""), "they are larger than 8 KiB", reterr);
    for (size_t i = 0; i < n; i++) {
        if (check_field(&headers[i], at, reterr) == -1)
            return -1;
        if (is_authorization(headers[i].name) && ++n_authorizations > 1)
            return refuse_field(at, "headers", headers[i].name, "is there twice", reterr);
    }
    return 0;
}

/* --- gathering --------------------------------------------------------------------- */

static str bearer_value(str token, struct arena *a)
{
    static const str scheme = STR_INIT("Bearer ");
    char *p = arena_alloc(a, scheme.len + token.len);

    if (p == NULL)
        return STR_NONE;
    memcpy(p, scheme.p, scheme.len);
    memcpy(p + scheme.len, token.p, token.len);
    return str_from(p, scheme.len + token.len);
}

static bool gather_fields(const struct http_header *headers, size_t n, str authorization,
                          struct arena *a, struct header_list *ret)
{
    bool has_own = !str_is_none(authorization);
    struct http_header *fields = arena_array(a, n + 1, sizeof(*fields));
    size_t n_kept = 0;

    if (fields == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!has_own || !is_authorization(headers[i].name))
            fields[n_kept++] = (struct http_header){headers[i].name, str_trim(headers[i].value)};
    }
    if (has_own) {
        fields[n_kept] = (struct http_header){STR("Authorization"), bearer_value(authorization, a)};
        if (str_is_none(fields[n_kept++].value))
            return false;
    }
    *ret = (struct header_list){fields, n_kept};
    return true;
}

int header_policy_check(const struct http_header *headers, size_t n, str authorization,
                        const char *at, struct arena *a, struct header_list *ret,
                        struct err *reterr)
{
    if (check_fields(headers, n, authorization.len, at, reterr) == -1)
        return -1;
    if (!str_is_none(authorization) &&
        (str_trim(authorization).len == 0 || !header_is_value(authorization)))
        return refuse_field(at, "authorization", STR(""), "it must be a token of printable ASCII",
                            reterr);
    if (!gather_fields(headers, n, str_is_none(authorization) ? STR_NONE : str_trim(authorization),
                       a, ret))
        return err_set_no_memory(reterr);
    return 0;
}
