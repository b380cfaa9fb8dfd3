/* chat_described.c -- objects are copied member by member down to the properties. */
#include "wire/chat/chat_described.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

typedef void member_writer(str name, str value, struct jw *w);

/* Copies the members of an object; what each value becomes is up to write_value. */
static void copy_members(str object, member_writer *write_value, struct jw *w)
{
    struct jr j;
    str name;

    jr_init(&j, object);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        const str key = j.raw_key;

        json_copy_key(w, key);
        write_value(key, jr_raw(&j), w);
    }
}

static void write_as_is(str name, str value, struct jw *w)
{
    (void)name;
    json_copy_element(w, value);
}

static void write_property(str name, str value, struct jw *w)
{
    if (jr_type_of(value) != JR_OBJECT || !str_is_none(jr_member(value, STR("description")))) {
        write_as_is(name, value, w);
        return;
    }
    jw_object(w);
    copy_members(value, write_as_is, w);
    jw_key_string(w, "description", STR(""));
    jw_object_end(w);
}

static void write_member(str name, str value, struct jw *w)
{
    if (!json_text_eq(name, STR("properties")) || jr_type_of(value) != JR_OBJECT) {
        write_as_is(name, value, w);
        return;
    }
    jw_object(w);
    copy_members(value, write_property, w);
    jw_object_end(w);
}

void chat_described_write(str schema, struct jw *w)
{
    if (jr_type_of(schema) != JR_OBJECT) {
        json_copy_element(w, schema);
        return;
    }
    jw_object(w);
    copy_members(schema, write_member, w);
    jw_object_end(w);
}
