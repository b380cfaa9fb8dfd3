/* text_file.c -- which files are text, and base64 (RFC 4648, data URLs: RFC 2397). */
#include "conv/text_file.h"

#include <stdint.h>

#include "json/json_text.h"

static const str text_types[] = {
    STR_INIT("application/json"),       STR_INIT("application/jsonl"),
    STR_INIT("application/x-ndjson"),   STR_INIT("application/xml"),
    STR_INIT("application/yaml"),       STR_INIT("application/x-yaml"),
    STR_INIT("application/toml"),       STR_INIT("application/sql"),
    STR_INIT("application/javascript"), STR_INIT("application/x-javascript"),
    STR_INIT("application/typescript"), STR_INIT("application/x-sh"),
    STR_INIT("application/x-tex"),
};

static const str text_endings[] = {
    STR_INIT(".txt"),   STR_INIT(".md"),   STR_INIT(".markdown"), STR_INIT(".rst"),
    STR_INIT(".log"),   STR_INIT(".csv"),  STR_INIT(".tsv"),      STR_INIT(".json"),
    STR_INIT(".jsonl"), STR_INIT(".xml"),  STR_INIT(".html"),     STR_INIT(".htm"),
    STR_INIT(".css"),   STR_INIT(".yaml"), STR_INIT(".yml"),      STR_INIT(".toml"),
    STR_INIT(".ini"),   STR_INIT(".cfg"),  STR_INIT(".conf"),     STR_INIT(".sql"),
    STR_INIT(".tex"),   STR_INIT(".diff"), STR_INIT(".patch"),    STR_INIT(".c"),
    STR_INIT(".h"),     STR_INIT(".cc"),   STR_INIT(".cpp"),      STR_INIT(".hpp"),
    STR_INIT(".cs"),    STR_INIT(".go"),   STR_INIT(".java"),     STR_INIT(".js"),
    STR_INIT(".jsx"),   STR_INIT(".kt"),   STR_INIT(".lua"),      STR_INIT(".mjs"),
    STR_INIT(".php"),   STR_INIT(".pl"),   STR_INIT(".py"),       STR_INIT(".rb"),
    STR_INIT(".rs"),    STR_INIT(".sh"),   STR_INIT(".swift"),    STR_INIT(".ts"),
    STR_INIT(".tsx"),   STR_INIT(".vue"),
};

/* Says nothing about the content: the name decides. */
static const str unknown_type = STR_INIT("application/octet-stream");

static bool is_text_type(str type)
{
    if (str_starts_with_nocase(type, STR("text/")) || str_ends_with_nocase(type, STR("+json")) ||
        str_ends_with_nocase(type, STR("+xml")))
        return true;
    return str_is_one_of_nocase(type, LIST_OF(text_types));
}

static bool is_text_name(str filename)
{
    for (size_t i = 0; i < COUNT_OF(text_endings); i++) {
        if (str_ends_with_nocase(filename, text_endings[i]))
            return true;
    }
    return false;
}

/* ---- data URLs */

/* data:TYPE[;NAME=VALUE]...;base64,DATA -- or base64 alone, which has no type. */
struct file_source {
    str type, base64; /* base64 STR_NONE: the data is written in another way */
};

static struct file_source split_file_data(str file_data)
{
    str head = str_from(file_data.p, str_find_char(file_data, ',')), type;

    if (!str_starts_with_nocase(file_data, STR("data:")))
        return (struct file_source){STR(""), file_data};
    type = str_skip(head, STR("data:").len);
    type.len = str_find_char(type, ';');
    if (head.len == file_data.len || !str_ends_with_nocase(head, STR(";base64")))
        return (struct file_source){type, STR_NONE};
    return (struct file_source){type, str_skip(file_data, head.len + 1)};
}

bool text_file_is_text(str filename, str file_data)
{
    size_t comma = str_find_char(file_data, ',');
    struct shown head = shown(str_from(file_data.p, comma < file_data.len ? comma + 1 : 0));
    struct file_source from = split_file_data(str_from_c(head.text));

    if (str_is_none(file_data) || str_is_none(from.base64))
        return false;
    if (from.type.len == 0 || str_eq_nocase(from.type, unknown_type))
        return is_text_name(filename);
    return is_text_type(from.type);
}

/* ---- base64 */

/* 0..63, or -1 */
static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Line ends are overlooked, as mail tools write them; the padding may be missing. */
static bool decode_base64(str s, struct buf *out)
{
    uint32_t bits = 0;
    unsigned n_digits = 0, n_padding = 0;

    for (size_t i = 0; i < s.len; i++) {
        int value = digit(s.p[i]);

        if (str_is_space(s.p[i]))
            continue;
        n_padding += s.p[i] == '=';
        if (s.p[i] == '=')
            continue;
        if (value == -1 || n_padding > 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        if (++n_digits % 4 != 1)
            buf_char(out, (char)(bits >> (6 - 2 * ((n_digits - 1) % 4)) & 0xFF));
    }
    return n_digits % 4 != 1 && (n_padding == 0 || (n_digits + n_padding) % 4 == 0);
}

static int reject_base64(const struct path *at, struct err *reterr)
{
    err_set_param(reterr, ERR_INVALID_VALUE, path_name(at).text,
                  "Invalid '%s': the data of this file is not valid base64.", path_name(at).text);
    return -1;
}

int text_file_decode(str file_data, const struct path *at, struct arena *a, str *ret,
                     struct err *reterr)
{
    struct buf bytes = {0}, escaped = {0};
    str plain = json_text_dup(a, file_data), text = STR_NONE;
    bool is_base64 = true;

    if (!str_is_none(plain)) {
        is_base64 = decode_base64(split_file_data(plain).base64, &bytes);
        json_text_escape(buf_str(&bytes), &escaped);
    }
    if (!str_is_none(plain) && !buf_failed(&bytes) && !buf_failed(&escaped))
        text = arena_dup(a, buf_str(&escaped));
    buf_fini(&bytes);
    buf_fini(&escaped);
    if (!is_base64)
        return reject_base64(at, reterr);
    if (str_is_none(text))
        return err_set_no_memory(reterr);
    *ret = text;
    return 0;
}
