/* chat_answer.c -- the last message of the assistant in a conversation that has nothing but it. */
#include "wire/chat/chat_answer.h"

#include "json/json_walk.h"
#include "wire/chat/chat_messages.h"

/* Whatever it is: reasoning, and calls without their outputs, are written otherwise at an end. */
static int add_question(struct item_list *items, struct arena *a, struct err *reterr)
{
    struct item *it = item_list_add(items, a);

    if (it == NULL)
        return err_set_no_memory(reterr);
    it->kind = ITEM_MESSAGE;
    it->role = ROLE_USER;
    return content_from_text(STR("?"), a, &it->content, reterr);
}

/* The message before the last. */
static void copy_answer(str messages, struct buf *out)
{
    struct json_walk w = json_walk_of(messages);
    str last = STR(""), before = STR("");

    (void)json_walk_enter(&w, JR_ARRAY);
    while (json_walk_element(&w)) {
        before = last;
        last = json_walk_value(&w);
    }
    buf_append(out, before);
}

int chat_answer_write(struct item_list *answer, const struct chat_request_options *o,
                      const struct id_source *ids, struct arena *arena, struct buf *out,
                      struct err *reterr)
{
    const struct conversation_context context = {.open_reasoning_only =
                                                     o->reasoning_history == CHAT_OPEN_REASONING};
    struct chat_request_options own = *o;
    struct conversation c;
    struct buf messages = {.limit = 0};
    struct jw w = jw_to(&messages);
    bool has_failed;

    own.repairs = NULL; /* what is written here is sent to nobody */
    if (add_question(answer, arena, reterr) == -1 ||
        conversation_build(answer, STR_NONE, &context, ids, arena, &c, reterr) == -1)
        return -1;
    chat_messages_write(&c, &own, &w);
    has_failed = buf_failed(&messages);
    if (!has_failed)
        copy_answer(buf_str(&messages), out);
    buf_fini(&messages);
    return has_failed || buf_failed(out) ? err_set_no_memory(reterr) : 0;
}
