/* relay_model.c -- a look at the first bytes of a request. */
#include "front/relay_model.h"

#include "wire/request/request_model.h"

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

    return request_model_find(str_from(body.p, body.len < MOST_BYTES ? body.len : MOST_BYTES), a);
}
