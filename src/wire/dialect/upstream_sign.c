/* upstream_sign.c -- names in URLs, headers, fingerprints and bodies.
 *
 * What a proxy in front of a server keeps as it is counts as the server's own. */
#include "wire/dialect/upstream_sign.h"

#include "base/host_list.h"
#include "base/url.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/dialect/upstream_models.h"

/* ---- the finding */

static void add_sign(struct upstream_finding *f, enum upstream_kind kind,
                     enum upstream_certainty certainty, const char *by)
{
    if (certainty <= f->certainty)
        return;
    if (kind != f->kind)
        f->version[0] = '\0';
    f->kind = kind;
    f->certainty = certainty;
    f->by = by;
}

/* For the log and the terminal; what cannot stand there ends it. */
static void set_version(struct upstream_finding *f, str version)
{
    size_t n = 0;

    while (n < version.len && n + 1 < sizeof(f->version) && version.p[n] > ' ' &&
           version.p[n] < 0x7f && version.p[n] != '"' && version.p[n] != '\\')
        n++;
    if (n == 0)
        return;
    memcpy(f->version, version.p, n);
    f->version[n] = '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- URLs */

static bool is_public(const struct url *u)
{
    static const str private_domains[] = {STR_INIT("local"), STR_INIT("lan"), STR_INIT("internal"),
                                          STR_INIT("home.arpa"), STR_INIT("localhost")};
    char last;

    if (!url_is_https(u))
        return false;
    if (host_is_of_any(u->host, LIST_OF(private_domains)))
        return false;
    /* No top level domain ends in a digit, as addresses do, or in a bracket. */
    last = u->host.p[u->host.len - 1];
    return str_find_char(u->host, '.') < u->host.len && !is_digit(last) && last != ']';
}

void upstream_sign_url(str url, struct upstream_finding *f)
{
    static const struct {
        str domain;
        enum upstream_kind kind;
    } domains[] = {
        {STR_INIT("api.openai.com"), UPSTREAM_OPENAI},
        {STR_INIT("openai.azure.com"), UPSTREAM_OPENAI},
        {STR_INIT("api.mistral.ai"), UPSTREAM_MISTRAL},
        {STR_INIT("openrouter.ai"), UPSTREAM_OPENROUTER},
        {STR_INIT("api.groq.com"), UPSTREAM_GROQ},
        {STR_INIT("api.deepseek.com"), UPSTREAM_DEEPSEEK},
        {STR_INIT("ollama.com"), UPSTREAM_OLLAMA},
    };
    const struct url u = url_split(url);
    bool is_clear = url_host_is_clear(&u);

    f->is_public = is_clear && is_public(&u);
    for (size_t i = 0; i < COUNT_OF(domains); i++) {
        if (is_clear && host_is_of(u.host, domains[i].domain))
            add_sign(f, domains[i].kind, UPSTREAM_SURE, UPSTREAM_BY_URL);
    }
}

/* ---- headers */

void upstream_sign_header(str name, str value, struct upstream_finding *f)
{
    /* Named by the servers' own programs or documentation; hosted services behind a URL of
     * somebody else's keep them as well. */
    static const struct {
        str name;
        enum upstream_kind kind;
    } headers[] = {
        {STR_INIT("openai-processing-ms"), UPSTREAM_OPENAI},
        {STR_INIT("x-compute-characters"), UPSTREAM_TGI},
        {STR_INIT("mistral-correlation-id"), UPSTREAM_MISTRAL},
        {STR_INIT("x-groq-region"), UPSTREAM_GROQ},
        {STR_INIT("x-ds-trace-id"), UPSTREAM_DEEPSEEK},
        {STR_INIT("x-litellm-version"), UPSTREAM_LITELLM},
    };

    /* llama.cpp, and ik_llama.cpp, which was made of it. */
    if (str_eq_nocase(name, STR("server")) && str_ends_with(value, STR("llama.cpp")))
        add_sign(f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "server_header");
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        if (str_eq_nocase(name, headers[i].name))
            add_sign(f, headers[i].kind, UPSTREAM_LIKELY, "header");
    }
}

/* ---- fingerprints */

static size_t count_digits(str s)
{
    size_t n = 0;

    while (n < s.len && is_digit(s.p[n]))
        n++;
    return n;
}

/* Build and commit: b9999-d32676d77, or b0-unknown where there was no repository. */
static bool is_llama_cpp_build(str s)
{
    size_t n;

    if (!str_starts_with(s, STR("b")))
        return false;
    s = str_skip(s, 1);
    n = count_digits(s);
    if (n == 0 || n == s.len || s.p[n] != '-')
        return false;
    s = str_skip(s, n + 1);
    if (str_eq(s, STR("unknown")))
        return true;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.p[i]) && (s.p[i] < 'a' || s.p[i] > 'f'))
            return false;
    }
    return s.len >= 4;
}

/* Version and build: 3.3.5-native, 2.4.1-dev0-sha-d4e1a2b. */
static bool is_tgi_build(str s)
{
    for (int i = 0; i < 3; i++) {
        size_t n = count_digits(s);

        if (n == 0 || n == s.len || s.p[n] != (i < 2 ? '.' : '-'))
            return false;
        s = str_skip(s, n + 1);
    }
    return str_eq(s, STR("native")) || str_find(s, STR("sha-")) < s.len;
}

/* What follows "vllm-" up to the last but one dash: version, then how it is spread, then a hash. */
static void set_vllm_version(struct upstream_finding *f, str rest)
{
    set_version(f, str_from(rest.p, str_find_char(rest, '-')));
}

void upstream_sign_fingerprint(str value, struct upstream_finding *f)
{
    const str vllm = STR("vllm-");

    if (is_llama_cpp_build(value)) {
        add_sign(f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "fingerprint");
        if (f->kind == UPSTREAM_LLAMA_CPP && f->version[0] == '\0')
            set_version(f, value);
    } else if (str_starts_with(value, vllm)) {
        add_sign(f, UPSTREAM_VLLM, UPSTREAM_SURE, "fingerprint");
        if (f->kind == UPSTREAM_VLLM && f->version[0] == '\0')
            set_vllm_version(f, str_skip(value, vllm.len));
    } else if (str_eq(value, STR("fp_ollama"))) {
        add_sign(f, UPSTREAM_OLLAMA, UPSTREAM_SURE, "fingerprint");
    } else if (is_tgi_build(value)) {
        add_sign(f, UPSTREAM_TGI, UPSTREAM_LIKELY, "fingerprint");
    }
}

/* Skips white space, and this byte behind it. */
static bool skip_byte(str *rest, char c)
{
    *rest = str_trim_start(*rest);
    if (rest->len == 0 || rest->p[0] != c)
        return false;
    *rest = str_skip(*rest, 1);
    return true;
}

void upstream_sign_answer(str bytes, struct upstream_finding *f)
{
    enum { FIRST_BYTES = 8 * 1024 };
    const str key = STR("\"system_fingerprint\"");
    str rest = bytes;
    size_t end;

    if (rest.len > FIRST_BYTES)
        rest.len = FIRST_BYTES;
    rest = str_skip(rest, str_find(rest, key) + key.len);
    if (!skip_byte(&rest, ':') || !skip_byte(&rest, '"'))
        return;
    end = str_find_char(rest, '"');
    if (end < rest.len)
        upstream_sign_fingerprint(str_from(rest.p, end), f);
}

/* ---- bodies */

static const struct {
    str owner;
    enum upstream_kind kind;
    enum upstream_certainty certainty;
} owners[] = {
    {STR_INIT("llamacpp"), UPSTREAM_LLAMA_CPP, UPSTREAM_SURE},
    {STR_INIT("vllm"), UPSTREAM_VLLM, UPSTREAM_SURE},
    {STR_INIT("sglang"), UPSTREAM_SGLANG, UPSTREAM_SURE},
    {STR_INIT("library"), UPSTREAM_OLLAMA, UPSTREAM_LIKELY},
    {STR_INIT("organization_owner"), UPSTREAM_LMSTUDIO, UPSTREAM_LIKELY},
    {STR_INIT("organization-owner"), UPSTREAM_LMSTUDIO, UPSTREAM_LIKELY}, /* older */
    {STR_INIT("mistralai"), UPSTREAM_MISTRAL, UPSTREAM_LIKELY},
    {STR_INIT("deepseek"), UPSTREAM_DEEPSEEK, UPSTREAM_LIKELY},
};

enum { N_OWNERS = COUNT_OF(owners) };

static int find_owner(str owner)
{
    for (int i = 0; i < N_OWNERS; i++) {
        if (json_text_eq(owner, owners[i].owner))
            return i;
    }
    return N_OWNERS;
}

/* Behind a gateway there may be several: a list with two of these names says nothing. */
static void sign_models(str body, struct upstream_finding *f)
{
    str data = jr_member(body, STR("data"));
    int found = N_OWNERS;
    struct jr j;

    if (str_is_none(data))
        return;
    jr_init(&j, data);
    if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j)) {
            int owner = find_owner(jr_member_string(jr_raw(&j), STR("owned_by")));

            f->hides_owner = true;
            if (owner == N_OWNERS)
                continue;
            if (found != N_OWNERS && owners[owner].kind != owners[found].kind)
                return;
            found = owner;
        }
    }
    if (!jr_end(&j) || found == N_OWNERS)
        return;
    f->hides_owner = false;
    add_sign(f, owners[found].kind, owners[found].certainty, "models");
}

static void sign_props(str body, struct upstream_finding *f)
{
    struct upstream_props props;
    str build;

    if (!upstream_props_read(body, &props))
        return;
    add_sign(f, UPSTREAM_LLAMA_CPP, UPSTREAM_SURE, "props");
    build = jr_member_string(body, STR("build_info"));
    if (f->kind == UPSTREAM_LLAMA_CPP && !str_is_none(build))
        set_version(f, build);
}

static void set_version_of(enum upstream_kind kind, str version, struct upstream_finding *f)
{
    if (f->kind == kind && f->certainty != UPSTREAM_UNKNOWN)
        set_version(f, version);
}

/* Two servers answer with nothing but their version, on paths that are not theirs alone: llama-swap
 * adds what it was built of, and the /version of Open WebUI looks the same. But that lists models,
 * and those of vLLM are always its own. */
static void sign_version(enum upstream_kind kind, int status, str body, struct upstream_finding *f)
{
    str version = jr_member_string(body, STR("version"));

    if (status != 200 || str_is_none(version))
        return;
    if (jr_count(body) == 1 && is_digit(version.p[0]) && !(kind == UPSTREAM_VLLM && f->hides_owner))
        add_sign(f, kind, UPSTREAM_LIKELY, "version");
    set_version_of(kind, version, f);
}

static void sign_server_info(int status, str body, struct upstream_finding *f)
{
    str version = jr_member_string(body, STR("version"));

    if (status != 200 || str_is_none(version) ||
        str_is_none(jr_member_string(body, STR("model_path"))))
        return;
    add_sign(f, UPSTREAM_SGLANG, UPSTREAM_LIKELY, "version");
    set_version_of(UPSTREAM_SGLANG, version, f);
}

/* Each with the name it is asked by, and what the proxy knows of it. */
static void sign_proxy_models(int status, str body, struct upstream_finding *f)
{
    const str data = jr_member(body, STR("data"));
    struct jr j;

    if (status != 200 || jr_type_of(data) != JR_ARRAY)
        return;
    jr_init(&j, data);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        const str entry = jr_raw(&j);

        if (!str_is_none(jr_member_string(entry, STR("model_name"))) &&
            jr_type_of(jr_member(entry, STR("model_info"))) == JR_OBJECT)
            add_sign(f, UPSTREAM_LITELLM, UPSTREAM_LIKELY, "models");
    }
}

/* Types of errors that nobody else has; a number as code is in many. */
static bool is_llama_cpp_error(str error)
{
    static const str types[] = {
        STR_INIT("not_found_error"),
        STR_INIT("exceed_context_size_error"),
        STR_INIT("unavailable_error"),
        STR_INIT("not_supported_error"),
    };
    str type = jr_member_string(error, STR("type"));

    if (str_is_none(type) || jr_type_of(jr_member(error, STR("code"))) != JR_NUMBER)
        return false;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (json_text_eq(type, types[i]))
            return true;
    }
    return false;
}

/* Of a path that it has not: LM Studio answers that with status 200. */
static void sign_error(str body, struct upstream_finding *f)
{
    str error = jr_member(body, STR("error"));
    str text = jr_member_string(body, STR("error"));

    if (!str_is_none(text) && str_starts_with(text, STR("Unexpected endpoint or method.")))
        add_sign(f, UPSTREAM_LMSTUDIO, UPSTREAM_SURE, "error");
    else if (!str_is_none(error) && is_llama_cpp_error(error))
        add_sign(f, UPSTREAM_LLAMA_CPP, UPSTREAM_LIKELY, "error");
}

void upstream_sign_body(enum upstream_path path, int status, str body, struct upstream_finding *f)
{
    body = str_trim(body);
    if (!jr_is_valid(body))
        return;
    sign_error(body, f);
    switch (path) {
    case UPSTREAM_PATH_MODELS:
        sign_models(body, f);
        return;
    case UPSTREAM_PATH_PROPS:
        sign_props(body, f);
        return;
    case UPSTREAM_PATH_VERSION:
        sign_version(UPSTREAM_VLLM, status, body, f);
        return;
    case UPSTREAM_PATH_API_VERSION:
        sign_version(UPSTREAM_OLLAMA, status, body, f);
        return;
    case UPSTREAM_PATH_SERVER_INFO:
        sign_server_info(status, body, f);
        return;
    case UPSTREAM_PATH_PROXY_MODELS:
        sign_proxy_models(status, body, f);
        return;
    default:
        return; /* asked of servers that are known */
    }
}

/* ---- what to ask */

/* Of a kind that is known, the first path of its own that has not been asked; UPSTREAM_PATHS: none. */
static enum upstream_path path_of_kind(enum upstream_kind kind, unsigned asked)
{
    for (int p = 0; p < UPSTREAM_PATHS; p++) {
        if ((asked >> p & 1) == 0 && upstream_path_is_of((enum upstream_path)p, kind))
            return (enum upstream_path)p;
    }
    return UPSTREAM_PATHS;
}

static bool is_told(const struct upstream_finding *f, const char *by)
{
    return f->by != NULL && strcmp(f->by, by) == 0;
}

bool upstream_sign_next(const struct upstream_finding *f, unsigned asked, enum upstream_path *ret)
{
    /* Where nothing is known: rarely SGLang, whose list of models has its name. */
    static const enum upstream_path unknown[] = {UPSTREAM_PATH_MODELS, UPSTREAM_PATH_PROPS,
                                                 UPSTREAM_PATH_VERSION, UPSTREAM_PATH_API_VERSION,
                                                 UPSTREAM_PATH_PROXY_MODELS};
    const bool lists_windows = upstream_has(upstream_profile(f->kind), UPSTREAM_LISTS_WINDOWS);
    const bool is_by_url = is_told(f, UPSTREAM_BY_URL);

    if ((is_by_url && !lists_windows) || (is_told(f, UPSTREAM_BY_CONFIGURATION) && !lists_windows &&
                                          path_of_kind(f->kind, 0) == UPSTREAM_PATHS))
        return false;
    if ((asked >> UPSTREAM_PATH_MODELS & 1) == 0) {
        *ret = UPSTREAM_PATH_MODELS;
        return true;
    }
    if (f->certainty != UPSTREAM_UNKNOWN) {
        *ret = is_by_url ? UPSTREAM_PATHS : path_of_kind(f->kind, asked);
        return *ret != UPSTREAM_PATHS;
    }
    for (size_t i = 0; !f->is_public && i < COUNT_OF(unknown); i++) {
        if ((asked >> unknown[i] & 1) != 0 ||
            (unknown[i] == UPSTREAM_PATH_VERSION && f->hides_owner))
            continue;
        *ret = unknown[i];
        return true;
    }
    return false;
}
