/* chat_loop_member.h -- go through an object that is copied member by member. */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_LOOP_MEMBER_H
#define ANTIPHON_WIRE_LOOP_CHAT_LOOP_MEMBER_H

#include "json/json_read.h"

struct chat_loop_member {
    str name;  /* decoded */
    str key;   /* as written, without quotes */
    str value; /* raw */
    char room[JR_KEY_BYTES];
};

/* Like jr_next_member() with jr_raw(); the name lives until the next call, while the
 * reader's own dies when the value is passed. */
static inline bool chat_loop_next_member(struct jr *j, struct chat_loop_member *m)
{
    str name;

    if (!jr_next_member(j, &name))
        return false;
    m->name = name;
    if (name.len <= sizeof(m->room)) {
        memcpy(m->room, name.p, name.len);
        m->name.p = m->room;
    }
    m->key = j->raw_key;
    m->value = jr_raw(j);
    return true;
}

#endif
