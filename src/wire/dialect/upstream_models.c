/* upstream_models.c -- bodies of strangers: what is not as it should be is not there. */
#include "wire/dialect/upstream_models.h"

#include "json/json_read.h"
#include "json/json_text.h"

/* A number of tokens; 0: not said. */
static int64_t window_of(str object, str name)
{
    const int64_t n = jr_member_int(object, name, 0);

    return n < 0 ? 0 : n;
}

bool upstream_props_read(str body, struct upstream_props *ret)
{
    str settings;

    body = str_trim(body);
    settings = jr_member(body, STR("default_generation_settings"));
    if (jr_type_of(settings) != JR_OBJECT || !jr_is_valid(body))
        return false;
    *ret = (struct upstream_props){.chat_template = jr_member_string(body, STR("chat_template")),
                                   .model_alias = jr_member_string(body, STR("model_alias")),
                                   .model_path = jr_member_string(body, STR("model_path"))};
    ret->context_window = window_of(settings, STR("n_ctx"));
    return true;
}

static bool read_model(str raw, struct arena *a, struct upstream_model *ret)
{
    str id = jr_member_string(raw, STR("id")), root = jr_member_string(raw, STR("root"));
    str meta = jr_member(raw, STR("meta"));

    *ret = (struct upstream_model){.id = json_text_copy(a, id), .root = json_text_copy(a, root)};
    ret->context_window = window_of(raw, STR("max_model_len"));
    if (ret->context_window == 0)
        ret->context_window = window_of(meta, STR("n_ctx"));
    return str_is_none(ret->id) == str_is_none(id) && str_is_none(ret->root) == str_is_none(root);
}

bool upstream_models_read(str body, struct arena *a, struct upstream_models *ret)
{
    str data;
    size_t n;
    struct jr j;

    *ret = (struct upstream_models){.n = 0};
    body = str_trim(body);
    data = jr_is_valid(body) ? jr_member(body, STR("data")) : STR_NONE;
    n = jr_type_of(data) == JR_ARRAY ? jr_count(data) : 0;
    if (n == 0)
        return true;
    ret->v = arena_array(a, n < UPSTREAM_MAX_MODELS ? n : UPSTREAM_MAX_MODELS, sizeof(*ret->v));
    if (ret->v == NULL)
        return false;
    jr_init(&j, data);
    if (jr_enter(&j, JR_ARRAY)) {
        while (jr_next_element(&j)) {
            str raw = jr_raw(&j);

            if (ret->n == UPSTREAM_MAX_MODELS)
                break;
            if (str_is_none(jr_member_string(raw, STR("id"))))
                continue;
            if (!read_model(raw, a, &ret->v[ret->n]))
                return false;
            ret->n++;
        }
    }
    return true;
}
