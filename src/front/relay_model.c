/* relay_model.c -- a look at the first bytes of a request. */
#include "front/relay_model.h"

#include "access/allowance.h"
#include "json/json_read.h"
#include "json/json_text.h"
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

/* Of two members a server may take either, and some do not care for the case of their names. */
bool relay_model_is_allowed(const struct allowance *allowance, str body, struct arena *a,
                            str *ret_refused)
{
    bool is_named = false;
    struct jr j;
    str key;

    *ret_refused = STR("");
    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return false;
    while (jr_next_member(&j, &key)) {
        str model;

        if (!str_eq_nocase(key, STR("model"))) {
            jr_skip(&j);
            continue;
        }
        model = json_text_copy(a, jr_string(&j));
        is_named = !str_is_none(model);
        if (is_named && allowance_has_model(allowance, model))
            continue;
        *ret_refused = is_named ? model : STR("");
        return false;
    }
    return is_named && jr_end(&j);
}
