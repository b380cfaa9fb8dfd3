/* upstream_error.c -- errors of upstream servers in our terms.
 *
 * Servers disagree on everything but the presence of some message: `error` may
 * be an object or a string, the code a number or a word, a full context a 400
 * or a 500. So an error is first read into its parts, then classified by a
 * table of words and by its status. */
#include "wire/dialect/upstream_error.h"

#include "base/buf.h"
#include "base/num.h"
#include "base/utf8.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/dialect/context_size.h"

enum { MAX_TOKENS = INT32_MAX };

/* The parts of an error; text is escaped JSON text. */
struct parts {
    str message, code, type, param;
    int status; /* HTTP status or numeric code; 0: none */
    struct err_tokens tokens;
};

/* Words in message, code or type that name the cause better than a status. */
static const struct {
    str word;
    enum err_code code;
} causes[] = {
#define UPSTREAM_CAUSE(words, code) {STR_INIT(words), ERR_##code},
#include "wire/dialect/upstream_words.def"
};

static const str incurables[] = {
#define UPSTREAM_INCURABLE(words) STR_INIT(words),
#include "wire/dialect/upstream_words.def"
};

static const struct {
    str word;
    int status;
} statuses[] = {
#define UPSTREAM_STATUS(words, status) {STR_INIT(words), status},
#include "wire/dialect/upstream_words.def"
};

static const str loadings[] = {
#define UPSTREAM_LOADING(words) STR_INIT(words),
#include "wire/dialect/upstream_words.def"
};

static const str failed_loads[] = {
#define UPSTREAM_LOAD_FAILED(words) STR_INIT(words),
#include "wire/dialect/upstream_words.def"
};

/* True when text has one of these words, whatever the case of its letters. */
static bool has_one_of(str text, const str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_has_nocase(text, words[i]))
            return true;
    }
    return false;
}

bool upstream_error_is_loading(str text)
{
    return has_one_of(text, LIST_OF(loadings)) && !has_one_of(text, LIST_OF(failed_loads));
}

static enum err_code cause_in(str text)
{
    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        if (str_has_nocase(text, causes[i].word))
            return causes[i].code;
    }
    return ERR_NONE;
}

/* SDKs send a request three times when a status says that the server failed. */
static bool is_incurable(str message)
{
    return has_one_of(message, LIST_OF(incurables));
}

static enum err_code code_of_status(const struct parts *p)
{
    switch (p->status) {
    case 401:
    case 403:
        return ERR_UPSTREAM_AUTH;
    case 402:
        return ERR_INSUFFICIENT_QUOTA;
    case 404:
        return str_has_nocase(p->message, STR("model")) ? ERR_MODEL_NOT_FOUND
                                                        : ERR_UPSTREAM_REJECTED;
    case 408:
    case 504:
        return ERR_UPSTREAM_TIMEOUT;
    case 429:
        return ERR_RATE_LIMIT;
    case 503:
        return ERR_OVERLOADED;
    default:
        return p->status >= 400 && p->status < 500 ? ERR_UPSTREAM_REJECTED : ERR_UPSTREAM_ERROR;
    }
}

static enum err_code classify(const struct parts *p)
{
    const str texts[] = {p->code, p->type, p->message};
    enum err_code by_status = code_of_status(p);

    /* A status that says it all is not overruled by words. */
    if (by_status == ERR_UPSTREAM_AUTH || by_status == ERR_INSUFFICIENT_QUOTA)
        return by_status;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        enum err_code cause = cause_in(texts[i]);

        if (cause == ERR_UPSTREAM_REJECTED && p->status != 0)
            continue; /* the status knows more than a generic type */
        if (cause == ERR_RATE_LIMIT && p->status != 0 && p->status != 429)
            continue;
        if (cause != ERR_NONE)
            return cause;
    }
    if (by_status == ERR_UPSTREAM_ERROR && is_incurable(p->message))
        return ERR_UPSTREAM_REJECTED;
    return by_status;
}

/* ---- reading */

/* A text member: a string, or the number's digits, or STR_NONE. */
static str text_value(struct jr *j)
{
    enum jr_type type = jr_peek(j);

    return type == JR_STRING   ? jr_string(j)
           : type == JR_NUMBER ? jr_raw(j)
                               : (jr_skip(j), STR_NONE);
}

/* A number of tokens; 0 when it is none. */
static int64_t count_value(struct jr *j)
{
    uint64_t n = 0;

    if (jr_peek(j) != JR_NUMBER)
        jr_skip(j);
    else if (!num_uint(jr_raw(j), &n) || n > MAX_TOKENS)
        return 0;
    return (int64_t)n;
}

static bool is_number(str s)
{
    return s.len > 0 && s.len < 4 && s.p[0] >= '1' && s.p[0] <= '9';
}

static void read_object(struct jr *j, struct parts *p)
{
    str key, nested = STR_NONE;

    if (!jr_enter(j, JR_OBJECT))
        return;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("message")) || str_eq(key, STR("detail"))) {
            enum jr_type type = jr_peek(j);
            str value = type == JR_STRING ? jr_string(j) : jr_raw(j);

            if (type == JR_STRING || str_is_none(p->message))
                p->message = value;
        } else if (str_eq(key, STR("code"))) {
            p->code = text_value(j);
        } else if (str_eq(key, STR("type"))) {
            p->type = text_value(j);
        } else if (str_eq(key, STR("param"))) {
            p->param = jr_peek(j) == JR_STRING ? jr_string(j) : (jr_skip(j), STR_NONE);
        } else if (str_eq(key, STR("n_prompt_tokens"))) {
            p->tokens.prompt = count_value(j); /* llama.cpp since September 2025 */
        } else if (str_eq(key, STR("n_ctx"))) {
            p->tokens.limit = count_value(j);
        } else if (str_eq(key, STR("error"))) {
            nested = jr_raw(j);
        } else {
            jr_skip(j);
        }
    }
    if (jr_type_of(nested) == JR_STRING) {
        p->message = str_from(nested.p + 1, nested.len - 2);
    } else if (jr_type_of(nested) == JR_OBJECT) {
        struct jr inner;

        jr_init(&inner, nested);
        read_object(&inner, p);
    }
}

static struct parts read_json(str json)
{
    struct parts p = {.status = 0};
    struct jr j;

    jr_init(&j, json);
    if (jr_peek(&j) == JR_STRING)
        p.message = jr_string(&j);
    else
        read_object(&j, &p);
    if (is_number(p.code)) {
        p.status = (int)jr_number_value(p.code);
        p.code = STR_NONE;
    }
    return p;
}

/* ---- masking */

/* Length of a URL or a key at the start of s, or 0; *ret_mask stands for it. */
static size_t secret_length(str s, const char **ret_mask)
{
    static const struct {
        str prefix;
        const char *mask;
        size_t at_least; /* bytes after the prefix that make it a secret */
    } secrets[] = {
        {STR_INIT("http://"), "[url]", 1},
        {STR_INIT("https://"), "[url]", 1},
        {STR_INIT("sk-"), "[key]", 8},
        {STR_INIT("Bearer "), "Bearer [key]", 8},
    };

    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        size_t n = secrets[i].prefix.len;

        if (!str_starts_with(s, secrets[i].prefix))
            continue;
        while (n < s.len && (unsigned char)s.p[n] > ' ' && strchr("\"'`<>(){},;", s.p[n]) == NULL)
            n++;
        *ret_mask = secrets[i].mask;
        return n - secrets[i].prefix.len >= secrets[i].at_least ? n : 0;
    }
    return 0;
}

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static void mask(str text, struct buf *out)
{
    bool inside_word = false; /* "disk-related" holds no key */

    while (text.len > 0) {
        const char *stands_for;
        size_t n = inside_word ? 0 : secret_length(text, &stands_for);

        if (n > 0) {
            buf_c(out, stands_for);
        } else {
            n = 1;
            buf_char(out, text.p[0]);
        }
        inside_word = is_word_byte(text.p[n - 1]);
        text = str_skip(text, n);
    }
}

/* ---- the error */

static const char *default_message(enum err_code code)
{
    switch (code) {
    case ERR_UPSTREAM_AUTH:
        return "The upstream server refused the credentials.";
    case ERR_OVERLOADED:
        return "The upstream server is overloaded.";
    case ERR_RATE_LIMIT:
        return "Rate limit reached.";
    case ERR_UPSTREAM_TIMEOUT:
        return "The upstream server did not answer in time.";
    default:
        return "The upstream server failed.";
    }
}

/* How many bytes of a message are one of the marks. */
static size_t mark_length(str plain)
{
    static const str marks[] = {STR_INIT(UPSTREAM_SERVER_ERROR),
                                STR_INIT(UPSTREAM_CONNECTION_ERROR)};

    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if (str_starts_with(plain, marks[i]))
            return marks[i].len;
    }
    return 0;
}

str upstream_error_unmarked(const struct err *e)
{
    str plain = str_from_c(e->msg);

    return str_skip(plain, mark_length(plain));
}

/* The words that a message begins with. What the request is to blame for, and limits of
 * rate, whose texts clients read, stay as they are; so does what another gateway marked. */
static const char *mark_of(enum err_code code, str plain)
{
    bool is_servers =
        code == ERR_UPSTREAM_ERROR || code == ERR_UPSTREAM_TIMEOUT || code == ERR_OVERLOADED;

    return is_servers && mark_length(plain) == 0 ? UPSTREAM_SERVER_ERROR : "";
}

static void set_message(struct err *e, enum err_code code, str plain, int status, int retry_after_s)
{
    struct buf text = {.limit = 4 * (size_t)ERR_MSG_BYTES};

    mask(str_from(plain.p, utf8_cut(plain, ERR_MSG_BYTES)), &text);
    if (text.len == 0) {
        buf_c(&text, default_message(code));
        if (status != 0) {
            buf_c(&text, " (status ");
            buf_int(&text, status);
            buf_char(&text, ')');
        }
    }
    if (code == ERR_RATE_LIMIT && retry_after_s > 0 &&
        !str_has_nocase(buf_str(&text), STR("try again in"))) {
        buf_c(&text, str_ends_with(buf_str(&text), STR(".")) ? "" : ".");
        buf_c(&text, " Please try again in ");
        buf_int(&text, retry_after_s);
        buf_c(&text, "s.");
    }
    err_set(e, code, "%s%s", mark_of(code, plain), buf_cstr(&text));
    e->retry_after_s = retry_after_s;
    if (code == ERR_CONTEXT_LENGTH)
        e->tokens = context_size_read(plain);
    buf_fini(&text);
}

/* Both numbers say more than the words in which servers put them (CONTRACT 15.4). */
static void say_size(struct err *e)
{
    const struct err_tokens tokens = e->tokens;
    const int retry_after_s = e->retry_after_s;

    if (e->code != ERR_CONTEXT_LENGTH || tokens.prompt == 0 ||
        tokens.prompt + tokens.answer <= tokens.limit)
        return;
    context_size_error(e, tokens.limit, tokens.prompt + tokens.answer);
    e->tokens = tokens;
    e->retry_after_s = retry_after_s;
}

static void set_own_code(struct err *e, str code)
{
    struct buf text = {.limit = 4 * sizeof(e->own_code)};

    json_text_decode(code, &text);
    if (!buf_failed(&text) && text.len > 0 && text.len < sizeof(e->own_code))
        memcpy(e->own_code, buf_cstr(&text), text.len + 1);
    buf_fini(&text);
}

static void set_own_param(struct err *e, str param)
{
    struct buf text = {.limit = 4 * sizeof(e->param)};

    json_text_decode(param, &text);
    if (!buf_failed(&text) && text.len < sizeof(e->param))
        memcpy(e->param, buf_cstr(&text), text.len + 1);
    buf_fini(&text);
}

/* The status that a code or a type stands for, or 0. */
static int status_named_by(str word)
{
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        if (str_has_nocase(word, statuses[i].word))
            return statuses[i].status;
    }
    return 0;
}

/* What told_status says of an error with these parts. */
static int status_told(const struct parts *p)
{
    const int by_code = status_named_by(p->code);
    const int by_word = by_code != 0 ? by_code : status_named_by(p->type);

    if (p->status != 0)
        return p->status;
    return by_word != 0 ? by_word : ERR_TOLD_WITHOUT_STATUS;
}

static void from_parts(const struct parts *p, int retry_after_s, struct err *ret)
{
    enum err_code code = classify(p);
    struct buf plain = {0};

    json_text_decode(p->message, &plain);
    set_message(ret, code, buf_str(&plain), p->status, retry_after_s);
    if (code == ERR_CONTEXT_LENGTH && p->tokens.limit > 0)
        ret->tokens = context_size_check(p->tokens);
    say_size(ret);
    if (code == ERR_UPSTREAM_REJECTED)
        set_own_code(ret, p->code);
    set_own_param(ret, p->param);
    if (code == ERR_MODEL_NOT_FOUND)
        memcpy(ret->param, "model", sizeof("model"));
    ret->told_status = status_told(p);
    buf_fini(&plain);
}

/* Neither a web page nor JSON that was cut: words that can stand as a message. */
static bool is_prose(str text)
{
    return text.len > 0 && strchr("<{[", text.p[0]) == NULL && utf8_is_valid(text);
}

void upstream_error_from_answer(int status, int retry_after_s, str body, struct err *ret)
{
    struct parts p = {.status = status};
    str text = str_trim(body);

    if (jr_is_valid(text)) {
        p = read_json(text);
    } else if (is_prose(text)) {
        p.message = text;
        set_message(ret, cause_in(text) == ERR_CONTEXT_LENGTH ? ERR_CONTEXT_LENGTH : classify(&p),
                    text, status, retry_after_s);
        say_size(ret);
        ret->told_status = status;
        return;
    }
    p.status = status;
    from_parts(&p, retry_after_s, ret);
}

void upstream_error_from_value(str json, struct err *ret)
{
    struct parts p = read_json(json);

    from_parts(&p, 0, ret);
}

void upstream_error_from_text(str text, struct err *ret)
{
    const struct parts p = {.message = text};

    set_message(ret, classify(&p), text, 0, 0);
    say_size(ret);
    ret->told_status = ERR_TOLD_WITHOUT_STATUS;
}
