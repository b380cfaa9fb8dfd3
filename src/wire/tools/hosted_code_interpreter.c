/* hosted_code_interpreter.c -- the tool code_interpreter: its declaration, and what the model is
 * told of it. What a call shows is its argument "code". */
#include "conv/fields.h"
#include "json/json_read.h"
#include "wire/tools/hosted_tool.h"
#include "wire/tools/tool_fields.h"

struct container_fields {
    str type, file_ids, memory_limit, network_policy;
};

static const struct field container_table[] = {
    FIELD(struct container_fields, type, FIELD_TEXT),
    FIELD(struct container_fields, file_ids, FIELD_ARRAY),
    FIELD(struct container_fields, memory_limit, FIELD_TEXT),
    FIELD(struct container_fields, network_policy, FIELD_OBJECT),
};

int hosted_check_memory(str escaped, const struct path *at, struct err *reterr)
{
    static const str limits[] = {STR_INIT("1g"), STR_INIT("4g"), STR_INIT("16g"), STR_INIT("64g")};

    return check_value(at, escaped, LIST_OF(limits), reterr);
}

static int read_new_container(str raw, const struct path *at, struct code_declaration *d,
                              struct err *reterr)
{
    static const str types[] = {STR_INIT("auto")};
    struct path type_at = path_member(at, STR("type"));
    struct path files_at = path_member(at, STR("file_ids"));
    struct path limit_at = path_member(at, STR("memory_limit"));
    struct container_fields f = {0};

    if (fields_read_raw(raw, FIELDS(container_table), at, &f, reterr) == -1 ||
        tool_fields_check_texts(f.file_ids, &files_at, reterr) == -1)
        return -1;
    if (str_is_none(f.type))
        return reject_missing(&type_at, reterr);
    if (check_value(&type_at, f.type, LIST_OF(types), reterr) == -1 ||
        hosted_check_memory(f.memory_limit, &limit_at, reterr) == -1)
        return -1;
    d->memory_limit = f.memory_limit;
    d->network_policy = f.network_policy;
    return jr_count(f.file_ids) > 0 ? reject_unsupported(&files_at, reterr) : 0;
}

static int read_container(str raw, const struct path *at, struct code_declaration *d,
                          struct err *reterr)
{
    if (str_is_none(raw))
        return reject_missing(at, reterr);
    if (jr_type_of(raw) == JR_OBJECT)
        return read_new_container(raw, at, d, reterr);
    d->container = field_text(raw);
    return d->container.len == 0 ? reject_empty(at, reterr) : 0;
}

/* Without a container, and with files, of which the gateway has none, it is a 400. */
static int read_code(const struct hosted_declared *declared, struct tool *t, struct err *reterr)
{
    struct code_fields {
        str container;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct code_fields, container, FIELD_TEXT_OR_OBJECT),
    };
    struct path container_at = path_member(declared->at, STR("container"));
    struct code_declaration *d = arena_alloc(declared->arena, sizeof(*d));

    if (d == NULL)
        return err_set_no_memory(reterr);
    if (fields_read_raw(declared->raw, FIELDS(table), declared->at, &f, reterr) == -1 ||
        read_container(f.container, &container_at, d, reterr) == -1)
        return -1;
    t->code = d;
    return hosted_note_place(declared, &d->at, reterr);
}

/* ---- what the model is told */

static str code_parameters(const struct tool *t)
{
    (void)t;
    return STR("{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","
               "\"description\":\"The Python code to run.\"}},"
               "\"required\":[\"code\"],\"additionalProperties\":false}");
}

const struct hosted_tool hosted_code_interpreter = {
    .read = read_code,
    .description =
        STR_INIT("Run Python code in a sandbox. Variables, imports and files stay from one call "
                 "to the next. Read and write files in /mnt/data. You get what the code prints and "
                 "the value of its last expression. There is no network unless the operator "
                 "allows it."),
    .parameters = code_parameters,
};
