/* chat_memo.c -- two comparisons and one look at the string. */
#include "wire/chunk/chat_memo.h"

#include "json/json_read.h"

void chat_memo_fini(struct chat_memo *m)
{
    buf_fini(&m->bytes);
}

void chat_memo_keep(struct chat_memo *m, str chunk, const struct chat_saying *saying)
{
    size_t offset = (size_t)(saying->text.p - chunk.p);

    m->saying = *saying;
    m->saying.text = STR_NONE;
    m->text_offset = offset;
    buf_reset(&m->bytes);
    buf_append(&m->bytes, str_from(chunk.p, offset));
    buf_append(&m->bytes, str_skip(chunk, offset + saying->text.len));
    if (buf_failed(&m->bytes))
        buf_reset(&m->bytes);
}

bool chat_memo_fits(const struct chat_memo *m, str chunk, struct chat_saying *ret)
{
    str kept = buf_str(&m->bytes), text;

    if (kept.len == 0 || chunk.len < kept.len ||
        !str_starts_with(chunk, str_from(kept.p, m->text_offset)) ||
        !str_ends_with(chunk, str_skip(kept, m->text_offset)))
        return false;
    text = str_from(chunk.p + m->text_offset, chunk.len - kept.len);
    if (!jr_is_string_content(text))
        return false;
    *ret = m->saying;
    ret->text = text;
    return true;
}
