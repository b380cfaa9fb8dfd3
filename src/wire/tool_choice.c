/* tool_choice.c -- read a choice and tie it to the tools it names. */
#include "wire/tool_choice.h"

#include "conv/fields.h"
#include "conv/tool_name.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct choice_fields {
    str type, name, function, server_label, mode, tools;
};

static const struct field choice_table[] = {
    FIELD(struct choice_fields, type, FIELD_TEXT),
    FIELD(struct choice_fields, name, FIELD_TEXT),
    FIELD(struct choice_fields, function, FIELD_OBJECT),
    FIELD(struct choice_fields, server_label, FIELD_TEXT),
    FIELD(struct choice_fields, mode, FIELD_TEXT),
    FIELD(struct choice_fields, tools, FIELD_ARRAY),
};

static const struct field name_table[] = {
    FIELD(struct choice_fields, name, FIELD_TEXT),
};

struct choice_reader {
    const struct tool_index *index;
    struct tool_set *set;
    struct arena *arena;
    struct err *reterr;
};

static const struct path choice_at = {.member = STR_INIT("tool_choice")};

const char *tool_choice_word(enum tool_choice_mode mode)
{
    static const char *const words[] = {
        [TOOL_CHOICE_NOT_GIVEN] = "auto", [TOOL_CHOICE_AUTO] = "auto",
        [TOOL_CHOICE_NONE] = "none",      [TOOL_CHOICE_REQUIRED] = "required",
        [TOOL_CHOICE_TOOL] = "required",
    };

    return words[mode];
}

/* ---- finding what is named; what a partial index lacks may still come */

static int reject_unknown(const struct choice_reader *r, str type)
{
    if (r->index->is_partial)
        return 0;
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' not found in 'tools' parameter.", shown(type).text);
    return -1;
}

static int reject_unserved(const struct choice_reader *r, str type)
{
    if (r->index->is_partial)
        return 0;
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' names a tool that this gateway cannot serve.",
                  shown(type).text);
    return -1;
}

static int reject_no_tools(const struct choice_reader *r, const char *what)
{
    if (r->index->is_partial)
        return 0;
    err_set_param(r->reterr, ERR_INVALID_VALUE, "tool_choice",
                  "Tool choice '%s' must be specified with 'tools' parameter.", what);
    return -1;
}

static bool is_declared(const struct choice_reader *r, str type)
{
    struct shown plain = shown(type);

    return str_map_get(&r->index->types, str_from_c(plain.text)) != NULL;
}

static bool is_named_type(str type)
{
    return json_text_eq(type, STR("function")) || json_text_eq(type, STR("custom"));
}

static int find_named(const struct choice_reader *r, const struct choice_fields *f,
                      struct tool **ret)
{
    str name = tool_name_for_upstream(r->arena, STR_NONE, f->name);

    if (str_is_none(name))
        return reject_memory(r->reterr);
    *ret = str_map_get(&r->index->by_name, name);
    return *ret == NULL ? reject_unknown(r, f->type) : 0;
}

/* The tool of a hosted type; NULL when it is declared but not served. */
static int find_hosted(const struct choice_reader *r, str type, struct tool **ret)
{
    *ret = NULL;
    if (!is_declared(r, type))
        return reject_unknown(r, type);
    if (json_text_eq(type, STR("local_shell")))
        *ret = str_map_get(&r->index->by_name, STR("local_shell"));
    return 0;
}

/* ---- the forms of a choice */

static int read_word(const struct choice_reader *r, str word, struct tool_choice *ret)
{
    static const str words[] = {STR_INIT("none"), STR_INIT("auto"), STR_INIT("required")};
    static const enum tool_choice_mode modes[] = {TOOL_CHOICE_NONE, TOOL_CHOICE_AUTO,
                                                  TOOL_CHOICE_REQUIRED};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (json_text_eq(word, words[i]))
            ret->mode = modes[i];
    }
    if (ret->mode == TOOL_CHOICE_NOT_GIVEN)
        return reject_value(&choice_at, word, words, sizeof(words) / sizeof(words[0]), r->reterr);
    if (ret->mode == TOOL_CHOICE_REQUIRED && r->set->n_sent == 0)
        return reject_no_tools(r, "required");
    return 0;
}

/* Members of a choice or of one allowed tool, with the name of the Chat form. */
static int read_fields(const struct choice_reader *r, str raw, const struct path *at,
                       struct choice_fields *f)
{
    struct path type_at = path_member(at, STR("type"));
    struct path function_at = path_member(at, STR("function"));
    struct path name_at = path_member(at, STR("name"));

    if (fields_read_raw(raw, FIELDS(choice_table), at, f, r->reterr) == -1)
        return -1;
    if (str_is_none(f->type))
        return reject_missing(&type_at, r->reterr);
    if (!str_is_none(f->function) &&
        fields_read_raw(f->function, FIELDS(name_table), &function_at, f, r->reterr) == -1)
        return -1;
    if (is_named_type(f->type) && str_is_none(f->name))
        return reject_missing(&name_at, r->reterr);
    return 0;
}

static int read_allowed_tool(const struct choice_reader *r, str raw, const struct path *at)
{
    struct choice_fields f = {0};
    struct tool *t = NULL;
    int rc;

    if (read_fields(r, raw, at, &f) == -1)
        return -1;
    rc = is_named_type(f.type) ? find_named(r, &f, &t) : find_hosted(r, f.type, &t);
    if (rc == -1)
        return -1;
    if (t != NULL && !t->sent) {
        t->sent = true;
        r->set->n_sent++;
    }
    return 0;
}

static int read_allowed_list(const struct choice_reader *r, str raw)
{
    const struct path list_at = path_member(&choice_at, STR("tools"));
    struct jr j;

    for (struct tool *t = r->set->first; t != NULL; t = t->next)
        t->sent = false;
    r->set->n_sent = 0;
    r->set->is_restricted = true;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    for (size_t i = 0; jr_next_element(&j); i++) {
        struct path at = path_index(&list_at, i);

        if (read_allowed_tool(r, jr_raw(&j), &at) == -1)
            return -1;
    }
    return 0;
}

static int read_allowed(const struct choice_reader *r, const struct choice_fields *f,
                        struct tool_choice *ret)
{
    static const str modes[] = {STR_INIT("auto"), STR_INIT("required")};
    const struct path mode_at = path_member(&choice_at, STR("mode"));
    const struct path tools_at = path_member(&choice_at, STR("tools"));

    if (str_is_none(f->mode))
        return reject_missing(&mode_at, r->reterr);
    if (str_is_none(f->tools))
        return reject_missing(&tools_at, r->reterr);
    if (check_value(&mode_at, f->mode, modes, 2, r->reterr) == -1 ||
        read_allowed_list(r, f->tools) == -1)
        return -1;
    ret->mode = json_text_eq(f->mode, STR("auto")) ? TOOL_CHOICE_AUTO : TOOL_CHOICE_REQUIRED;
    ret->allowed_tools = f->tools;
    if (ret->mode == TOOL_CHOICE_REQUIRED && r->set->n_sent == 0)
        return reject_no_tools(r, "allowed_tools");
    return 0;
}

static int read_tool_type(const struct choice_reader *r, const struct choice_fields *f,
                          struct tool_choice *ret)
{
    struct tool *t = NULL;
    int rc = is_named_type(f->type) ? find_named(r, f, &t) : find_hosted(r, f->type, &t);

    if (rc == -1)
        return -1;
    if (t == NULL)
        return reject_unserved(r, f->type);
    ret->mode = TOOL_CHOICE_TOOL;
    ret->tool = t;
    return 0;
}

int tool_choice_parse(str raw, const struct tool_index *index, struct tool_set *set,
                      struct arena *a, struct tool_choice *ret, struct err *reterr)
{
    const struct choice_reader r = {.index = index, .set = set, .arena = a, .reterr = reterr};
    struct tool_choice choice = {.mode = TOOL_CHOICE_NOT_GIVEN};
    struct choice_fields f = {0};
    int rc;

    if (str_is_none(raw)) {
        *ret = choice;
        return 0;
    }
    if (jr_type_of(raw) == JR_STRING) {
        rc = read_word(&r, field_text(raw), &choice);
    } else {
        if (read_fields(&r, raw, &choice_at, &f) == -1)
            return -1;
        choice.type = f.type;
        choice.name = is_named_type(f.type) ? f.name : STR_NONE;
        rc = json_text_eq(f.type, STR("allowed_tools")) ? read_allowed(&r, &f, &choice)
                                                        : read_tool_type(&r, &f, &choice);
    }
    if (rc == 0)
        *ret = choice;
    return rc;
}
