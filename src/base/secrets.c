/* secrets.c -- a list of secrets, and texts without them.
 *
 * What servers repeat they often repeat as JSON: a line of their log, or the request that
 * they did not like. So a secret is looked for as it is, and as a JSON string may hold it,
 * with any of its characters escaped. */
#include "base/secrets.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/utf8.h"

/* Bounds of one search, a fraction of a second in all: secrets and text may be made up so that each
 * secret almost matches everywhere in the text. */
enum { WORK = 4096, WORK_PER_BYTE = 256, MOST_WORK = 16 * 1024 * 1024 };

struct secret {
    struct secret *next;
    size_t len;
    char bytes[];
};

static bool has_secret(const struct secrets *s, str secret)
{
    for (const struct secret *one = s->first; one != NULL; one = one->next) {
        if (str_eq(secret, str_from(one->bytes, one->len)))
            return true;
    }
    return false;
}

void secrets_add(struct secrets *s, str secret)
{
    struct secret *kept;

    if (secret.len < SECRET_MIN_BYTES || has_secret(s, secret))
        return;
    kept = malloc(sizeof(*kept) + secret.len);
    if (kept == NULL) {
        s->failed = true;
        return;
    }
    memcpy(kept->bytes, secret.p, secret.len);
    kept->len = secret.len;
    kept->next = s->first;
    s->first = kept;
}

void secrets_add_header(struct secrets *s, str value)
{
    str trimmed = str_trim(value);

    secrets_add(s, trimmed);
    secrets_add(s, str_trim(str_skip(trimmed, str_find_char(trimmed, ' '))));
}

/* ---- secrets in JSON strings */

/* The number in "\uXXXX", or -1. */
static int32_t code_unit(str s)
{
    int32_t n = 0;

    if (s.len < 6 || s.p[0] != '\\' || s.p[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        int digit = num_hex_digit(s.p[i]);

        if (digit == -1)
            return -1;
        n = n * 16 + digit;
    }
    return n;
}

/* An escaped character: returns its length in s, 0 when there is none, and puts what it
 * stands for into out, *ret_n bytes. */
static size_t read_escape(str s, char out[4], size_t *ret_n)
{
    static const str names = STR_INIT("\"\\/bfnrt"), values = STR_INIT("\"\\/\b\f\n\r\t");
    int32_t high = code_unit(s), low;
    size_t at;

    if (high >= 0xD800 && high < 0xDC00) {
        low = code_unit(str_skip(s, 6));
        if (low < 0xDC00 || low > 0xDFFF)
            return 0;
        *ret_n = utf8_encode(0x10000 + (((uint32_t)high - 0xD800) << 10) + ((uint32_t)low - 0xDC00),
                             out);
        return 12;
    }
    if (high != -1) {
        *ret_n = utf8_encode((uint32_t)high, out);
        return 6;
    }
    at = s.len < 2 ? names.len : str_find_char(names, s.p[1]);
    if (at == names.len)
        return 0;
    out[0] = values.p[at];
    *ret_n = 1;
    return 2;
}

/* Length of the secret at the start of rest with at least one character escaped; 0: rest does not
 * begin with that. */
static size_t escaped_at(const struct secret *secret, str rest)
{
    size_t at = 0;
    char c[4];

    for (size_t i = 0, n, used; i < secret->len; i += n, at += used) {
        if (at >= rest.len)
            return 0;
        n = used = 1;
        c[0] = rest.p[at];
        if (c[0] == '\\')
            used = read_escape(str_skip(rest, at), c, &n);
        if (used == 0 || n > secret->len - i || memcmp(c, secret->bytes + i, n) != 0)
            return 0;
    }
    return at;
}

/* Length of the secret at the start of rest, as it is or escaped; 0: none. The first n_plain bytes
 * of rest hold no escape. Adds the cost to *work. */
static size_t length_at(const struct secret *secret, str rest, size_t n_plain, size_t *work)
{
    size_t n = n_plain < secret->len ? n_plain : secret->len;

    ++*work;
    if (n > 0 && rest.p[0] != secret->bytes[0])
        return 0;
    *work += n / 16; /* memcmp() compares them at once */
    if (memcmp(rest.p, secret->bytes, n) != 0)
        return 0;
    if (str_starts_with(rest, str_from(secret->bytes, secret->len)))
        return secret->len;
    *work += secret->len;
    return escaped_at(secret, rest);
}

/* ---- texts without secrets */

/* Length of the longest secret that rest begins with; 0 for none. */
static size_t longest_at(const struct secrets *s, str rest, size_t n_plain, size_t *work)
{
    size_t longest = 0;

    for (const struct secret *secret = s->first; secret != NULL; secret = secret->next) {
        size_t n = length_at(secret, rest, n_plain, work);

        longest = n > longest ? n : longest;
    }
    return longest;
}

static size_t work_for(str text)
{
    return text.len > MOST_WORK / WORK_PER_BYTE ? MOST_WORK : WORK + WORK_PER_BYTE * text.len;
}

void secrets_hide(const struct secrets *s, str text, struct buf *out)
{
    static const str mark = STR_INIT("[redacted]");
    size_t hidden_to = 0, escape_at = 0, work = 0, most_work = work_for(text);

    if (s->failed) {
        buf_append(out, mark);
        return;
    }
    for (size_t i = 0; i < text.len; i++) {
        str rest = str_skip(text, i);
        size_t n;

        if (work > most_work) {
            buf_append(out, mark);
            return;
        }
        if (i == 0 || escape_at < i)
            escape_at = i + str_find_char(rest, '\\');
        n = longest_at(s, rest, escape_at - i, &work);
        if (n > 0 && i >= hidden_to)
            buf_append(out, mark);
        if (i + n > hidden_to)
            hidden_to = i + n;
        if (i >= hidden_to)
            buf_char(out, text.p[i]);
    }
}

/* The view is const, the memory is not. */
void secret_wipe(str secret)
{
    if (secret.len > 0)
        explicit_bzero((void *)(uintptr_t)secret.p, secret.len);
}

void secret_buf_fini(struct buf *b)
{
    secret_wipe(buf_str(b));
    buf_fini(b);
}

void secrets_fini(struct secrets *s)
{
    for (struct secret *secret = s->first, *next; secret != NULL; secret = next) {
        next = secret->next;
        explicit_bzero(secret->bytes, secret->len);
        free(secret);
    }
    *s = (struct secrets){.first = NULL};
}
