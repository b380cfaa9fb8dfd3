/* secrets.c -- a list of secrets, and texts without them. */
#include "base/secrets.h"

#include <stdlib.h>

struct secret {
    struct secret *next;
    size_t len;
    char bytes[];
};

void secrets_add(struct secrets *s, str secret)
{
    struct secret *kept;

    if (secret.len < SECRET_MIN_BYTES)
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

/* How many bytes the longest secret has that rest begins with; 0 for none. */
static size_t longest_at(const struct secrets *s, str rest)
{
    size_t longest = 0;

    for (const struct secret *secret = s->first; secret != NULL; secret = secret->next) {
        if (secret->len > longest && str_starts_with(rest, str_from(secret->bytes, secret->len)))
            longest = secret->len;
    }
    return longest;
}

void secrets_hide(const struct secrets *s, str text, struct buf *out)
{
    static const str mark = STR_INIT("[redacted]");
    size_t hidden_to = 0;

    if (s->failed) {
        buf_append(out, mark);
        return;
    }
    for (size_t i = 0; i < text.len; i++) {
        size_t n = longest_at(s, str_skip(text, i));

        if (n > 0 && i >= hidden_to)
            buf_append(out, mark);
        if (i + n > hidden_to)
            hidden_to = i + n;
        if (i >= hidden_to)
            buf_char(out, text.p[i]);
    }
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
