/* relay_model.c -- a look at the first bytes of a request. */
#include "front/relay_model.h"

#include "json/json_read.h"
#include "json/json_text.h"

const char *relay_operation(str path)
{
    static const struct {
        str path;
        const char *operation;
    } all[] = {
        {STR_INIT("/v1/chat/completions"), "chat"},
        {STR_INIT("/v1/completions"), "text_completion"},
        {STR_INIT("/v1/embeddings"), "embeddings"},
    };

    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (str_eq(path, all[i].path))
            return all[i].operation;
    }
    return NULL;
}

/* What stands behind so many bytes is not looked for. */
str relay_model(str body, struct arena *a)
{
    enum { MOST_BYTES = 16 * 1024 };
    struct jr j;
    str key;

    jr_init(&j, str_from(body.p, body.len < MOST_BYTES ? body.len : MOST_BYTES));
    if (!jr_enter(&j, JR_OBJECT))
        return STR_NONE;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, STR("model")))
            return json_text_copy(a, jr_string(&j));
        jr_skip(&j);
    }
    return STR_NONE;
}
