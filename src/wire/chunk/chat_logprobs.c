/* chat_logprobs.c -- rebuilt member by member: servers add keys and leave out bytes. */
#include "wire/chunk/chat_logprobs.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"

struct logprob {
    str token, value, bytes, top; /* raw JSON; token escaped */
};

static struct logprob read_logprob(struct jr *j)
{
    struct logprob l = {.token = STR("")};
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return l;
    while (jr_next_member(j, &key)) {
        if (str_eq(key, STR("token")))
            l.token = jr_string(j);
        else if (str_eq(key, STR("logprob")))
            l.value = jr_raw(j);
        else if (str_eq(key, STR("bytes")))
            l.bytes = jr_raw(j);
        else if (str_eq(key, STR("top_logprobs")))
            l.top = jr_raw(j);
        else
            jr_skip(j);
    }
    return l;
}

static void write_bytes(struct jw *w, const struct logprob *l)
{
    struct buf token = {.limit = 0};

    if (jr_type_of(l->bytes) == JR_ARRAY) {
        json_copy_key_value(w, "bytes", l->bytes);
        return;
    }
    jw_key(w, "bytes");
    json_text_decode(l->token, &token);
    jw_array(w);
    for (size_t i = 0; i < token.len; i++)
        jw_int(w, (unsigned char)token.p[i]);
    jw_array_end(w);
    buf_fini(&token);
}

static void write_logprob(struct jw *w, const struct logprob *l)
{
    json_copy_key_text(w, "token", str_is_none(l->token) ? STR("") : l->token);
    /* JSON has no minus infinity: servers send null for it, clients want a number */
    jw_key_raw(w, "logprob", jr_type_of(l->value) == JR_NUMBER ? l->value : STR("-9999.0"));
    write_bytes(w, l);
}

static void write_top(struct jw *w, str raw)
{
    struct jr j;

    jw_key(w, "top_logprobs");
    jw_array(w);
    jr_init(&j, raw);
    if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j)) {
            struct logprob l = read_logprob(&j);

            jw_object(w);
            write_logprob(w, &l);
            jw_object_end(w);
        }
    }
    jw_array_end(w);
}

static void write_content(struct jw *w, str raw)
{
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_ARRAY))
        return;
    while (jr_next_element(&j)) {
        struct logprob l = read_logprob(&j);

        jw_object(w);
        write_logprob(w, &l);
        write_top(w, l.top);
        jw_object_end(w);
    }
}

void chat_logprobs(str raw, struct buf *out)
{
    struct jw w = {.out = out, .comma = out->len > 0};

    write_content(&w, jr_member(raw, STR("content")));
}
