/* upstream_models.c -- bodies of strangers: what is not as it should be is not there. */
#include "wire/dialect/upstream_models.h"

#include "base/num.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { MAX_WINDOW = 1000000000 };

enum weight { LEAST, FIRST, GUESS };

static const struct list_row {
    enum upstream_path path;
    str list, name;
} lists[] = {
#define MODELS_AT(path, list, name) {UPSTREAM_PATH_##path, STR_INIT(list), STR_INIT(name)},
#include "wire/dialect/upstream_models.def"
};

static const struct {
    str member, only_if;
    enum upstream_path path;
    enum weight weight;
} windows[] = {
#define MODEL_WINDOW(path, member, only_if, weight, source)                                        \
    {STR_INIT(member), STR_INIT(only_if), UPSTREAM_PATH_##path, weight},
#include "wire/dialect/upstream_models.def"
};

static const struct word_row {
    enum upstream_path path;
    str member, word;
} efforts[] =
    {
#define MODEL_EFFORTS(path, member, word, source)                                                  \
    {UPSTREAM_PATH_##path, STR_INIT(member), STR_INIT(word)},
#include "wire/dialect/upstream_models.def"
},
  images[] = {
#define MODEL_IMAGES(path, member, word, source)                                                   \
    {UPSTREAM_PATH_##path, STR_INIT(member), STR_INIT(word)},
#include "wire/dialect/upstream_models.def"
};

/* ---- members */

/* The first member whose name ends so, raw. */
static str member_ending_in(str object, str end)
{
    struct jr j;
    str name;

    jr_init(&j, object);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &name)) {
            if (str_ends_with(name, end))
                return jr_raw(&j);
            jr_skip(&j);
        }
    }
    return STR_NONE;
}

/* What stands behind a name in a text of lines `NAME VALUE`, which is escaped. */
static str value_in_lines(str escaped, str name)
{
    const str newline = STR("\\n");

    while (escaped.len > 0) {
        size_t end = str_find(escaped, newline);
        str line = str_from(escaped.p, end), word = str_cut(&line, ' ');

        if (str_eq(word, name))
            return str_trim(line);
        escaped = str_skip(escaped, end < escaped.len ? end + newline.len : end);
    }
    return STR_NONE;
}

/* The value at a member path of upstream_models.def, raw; STR_NONE: none. */
static str value_at(str value, str path)
{
    while (path.len > 0 && !str_is_none(value)) {
        str name = str_cut(&path, '/');

        if (jr_type_of(value) == JR_STRING)
            value = value_in_lines(jr_string_of(value), name);
        else if (str_starts_with(name, STR("*")))
            value = member_ending_in(value, str_skip(name, 1));
        else
            value = jr_member(value, name);
    }
    return value;
}

/* A number of tokens; 0: none, or one that cannot be meant. */
static int64_t window_value(str raw)
{
    struct jr j;
    int64_t n;

    if (str_is_none(raw) || raw.len == 0)
        return 0;
    jr_init(&j, raw);
    n = jr_int(&j, 0);
    return n < 0 || n > MAX_WINDOW || !jr_end(&j) ? 0 : n;
}

/* True, the word, or a list that has it. */
static bool is_or_has(str raw, str word)
{
    bool is_there = false;
    struct jr j;

    if (jr_type_of(raw) == JR_STRING)
        return json_text_eq(jr_string_of(raw), word);
    if (jr_type_of(raw) != JR_ARRAY)
        return str_eq(raw, word);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        const str one = jr_string(&j);

        is_there = is_there || (!str_is_none(one) && json_text_eq(one, word));
    }
    return is_there;
}

static bool holds(str entry, str only_if)
{
    const str member = str_cut(&only_if, '=');

    return member.len == 0 || is_or_has(value_at(entry, member), only_if);
}

/* ---- limits */

static void add_window(int64_t window, enum weight weight, struct upstream_limits *to)
{
    const bool is_known = to->window > 0 && !to->is_guess;

    if (window == 0 || (weight == GUESS && to->window > 0) || (weight == FIRST && is_known) ||
        (weight == LEAST && is_known && to->window <= window))
        return;
    to->window = window;
    to->is_guess = weight == GUESS;
}

static void add_limits(enum upstream_path path, str entry, struct upstream_limits *to)
{
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        if (windows[i].path == path && holds(entry, windows[i].only_if))
            add_window(window_value(value_at(entry, windows[i].member)), windows[i].weight, to);
    }
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        const str value = images[i].path == path ? value_at(entry, images[i].member) : STR_NONE;

        if (!str_is_none(value))
            to->images =
                is_or_has(value, images[i].word) ? MODEL_IMAGES_TAKEN : MODEL_IMAGES_NOT_TAKEN;
    }
    for (size_t i = 0; i < COUNT_OF(efforts); i++) {
        if (efforts[i].path == path &&
            is_or_has(value_at(entry, efforts[i].member), efforts[i].word))
            to->takes_efforts = true;
    }
}

struct upstream_limits upstream_models_entry(enum upstream_path path, str entry)
{
    struct upstream_limits limits = {.window = 0};

    add_limits(path, entry, &limits);
    return limits;
}

/* ---- lists */

bool upstream_props_read(str body, struct upstream_props *ret)
{
    body = str_trim(body);
    if (jr_type_of(jr_member(body, STR("default_generation_settings"))) != JR_OBJECT ||
        !jr_is_valid(body))
        return false;
    *ret = (struct upstream_props){.chat_template = jr_member_string(body, STR("chat_template")),
                                   .model_alias = jr_member_string(body, STR("model_alias")),
                                   .model_path = jr_member_string(body, STR("model_path")),
                                   .n_slots = jr_member_int(body, STR("total_slots"), 0)};
    return true;
}

static const struct list_row *find_list(enum upstream_path path)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (lists[i].path == path)
            return &lists[i];
    }
    return NULL;
}

static bool read_model(str raw, struct arena *a, struct upstream_model *ret)
{
    str id = jr_member_string(raw, STR("id")), root = jr_member_string(raw, STR("root"));

    *ret = (struct upstream_model){.id = json_text_copy(a, id), .root = json_text_copy(a, root)};
    add_limits(UPSTREAM_PATH_MODELS, raw, &ret->limits);
    ret->listed_window = ret->limits.window;
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

static bool is_named(const struct upstream_model *m, str escaped)
{
    return !str_is_none(escaped) && json_text_eq(escaped, m->id);
}

/* Several entries may have one name: deployments behind a proxy. */
static void add_list(const struct list_row *row, str body, struct upstream_models *models)
{
    str list = jr_member(body, row->list);
    struct jr j;

    if (jr_type_of(list) != JR_ARRAY)
        return;
    jr_init(&j, list);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str entry = jr_raw(&j), name = jr_member_string(entry, row->name);

        for (size_t i = 0; i < models->n; i++) {
            if (is_named(&models->v[i], name))
                add_limits(row->path, entry, &models->v[i].limits);
        }
    }
}

void upstream_models_add(enum upstream_path path, str body, str model,
                         struct upstream_models *models, struct upstream_limits *only)
{
    const struct list_row *row = find_list(path);
    struct upstream_model *named;

    body = str_trim(body);
    if (!jr_is_valid(body))
        return;
    if (row != NULL) {
        add_list(row, body, models);
    } else if (!str_is_none(model)) {
        named = upstream_models_find(models, model);
        if (named != NULL)
            add_limits(path, body, &named->limits);
    } else {
        add_limits(path, body, only);
        /* Entries of one engine are its model and what was adapted of it, with one cache; but
         * llama.cpp may run several models, and then tells of none of them. */
        for (size_t i = 0; i < models->n && (models->n == 1 || path != UPSTREAM_PATH_PROPS); i++)
            add_limits(path, body, &models->v[i].limits);
    }
}

bool upstream_models_is_latest(str listed, str name)
{
    const str latest = STR(":latest");

    return listed.len == name.len + latest.len && str_starts_with(listed, name) &&
           str_ends_with(listed, latest);
}

struct upstream_model *upstream_models_find(const struct upstream_models *models, str name)
{
    struct upstream_model *found = NULL;

    for (size_t i = 0; i < models->n; i++) {
        struct upstream_model *m = &models->v[i];

        if (str_eq(m->id, name))
            return m;
        if (found == NULL && upstream_models_is_latest(m->id, name))
            found = m;
    }
    return found;
}

str upstream_models_choose(const struct upstream_models *models, str wanted, str running)
{
    const struct list_row *row = find_list(UPSTREAM_PATH_RUNNING_MODELS);
    const struct upstream_model *found =
        str_is_none(wanted) ? NULL : upstream_models_find(models, wanted);
    str first;
    struct jr j;

    if (found != NULL)
        return found->id;
    jr_init(&j, jr_is_valid(running) ? jr_member(running, row->list) : STR("[]"));
    (void)jr_enter(&j, JR_ARRAY);
    first = jr_next_element(&j) ? jr_member_string(jr_raw(&j), row->name) : STR_NONE;
    for (size_t i = 0; i < models->n; i++) {
        if (is_named(&models->v[i], first))
            return models->v[i].id;
    }
    return models->n == 0 ? STR_NONE : models->v[0].id;
}

bool upstream_models_are_same(const struct upstream_models *a, const struct upstream_models *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (!str_eq(a->v[i].id, b->v[i].id) || a->v[i].listed_window != b->v[i].listed_window)
            return false;
    }
    return true;
}
