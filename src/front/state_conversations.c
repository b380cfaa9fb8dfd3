/* state_conversations.c -- conversations as a whole; their items are in
 * state_items.c. */
#include "front/state_conversations.h"

#include "conv/fields.h"
#include "flight/worker.h"
#include "front/state_calls.h"
#include "json/json_copy.h"
#include "wire/request/request_check.h"

struct body {
    str items, metadata; /* raw */
};

static const struct field body_table[] = {
    FIELD(struct body, items, FIELD_ARRAY),
    FIELD(struct body, metadata, FIELD_OBJECT),
};

/* ---- reading */

static int read_metadata(struct state_request *q, str raw, struct err *reterr)
{
    struct buf copy = {.limit = 0};

    if (!str_is_none(raw) && request_check_metadata(raw, reterr) == -1)
        return -1;
    json_copy_value(str_is_none(raw) ? STR("{}") : raw, &copy);
    q->conversation.metadata = buf_failed(&copy) ? STR_NONE : arena_dup(&q->arena, buf_str(&copy));
    buf_fini(&copy);
    return str_is_none(q->conversation.metadata) ? err_set_no_memory(reterr) : 0;
}

/* A conversation may begin with nothing, so nothing is a body as well. */
static int read_create(struct state_request *q, str body, struct err *reterr)
{
    const struct id id = id_make(&q->worker->ids, "conv_", ID_RANDOM_CHARS);
    struct body in = {STR_NONE, STR_NONE};

    if (body.len > 0 && fields_read_body(body, FIELDS(body_table), &in, NULL, reterr) == -1)
        return -1;
    q->conversation.id = arena_dup(&q->arena, id_str(&id));
    q->conversation.created_at = clock_unix_s();
    if (str_is_none(q->conversation.id))
        return err_set_no_memory(reterr);
    if (read_metadata(q, in.metadata, reterr) == -1)
        return -1;
    return str_is_none(in.items) ? 0 : state_items_read(q, in.items, reterr);
}

/* null takes the metadata away. */
static int read_update(struct state_request *q, str body, struct err *reterr)
{
    const struct path metadata_at = path_member(NULL, STR("metadata"));
    struct body in = {STR_NONE, STR_NONE};

    if (fields_read_body(body, FIELDS(body_table), &in, NULL, reterr) == -1)
        return -1;
    if (str_is_none(jr_member(body, STR("metadata"))))
        return reject_missing(&metadata_at, reterr);
    return read_metadata(q, in.metadata, reterr);
}

/* ---- working */

void state_conversation_write(const struct store_conversation *c, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "id", c->id);
    jw_key_string(w, "object", STR("conversation"));
    jw_key_int(w, "created_at", c->created_at);
    jw_key_raw(w, "metadata", c->metadata);
    jw_object_end(w);
}

static void write_conversation(const struct store_conversation *c, struct buf *out)
{
    struct jw w = jw_to(out);

    state_conversation_write(c, &w);
}

int state_conversation_show(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_conversation c;

    if (store_get_conversation(s, q->owner, q->ids[0], &q->arena, &c, reterr) == -1)
        return -1;
    write_conversation(&c, &q->out);
    return 0;
}

static int create(struct store_session *s, struct state_request *q, struct err *reterr)
{
    struct store_items items;

    if (state_items_complete(s, q, &items, reterr) == -1 ||
        store_create_conversation(s, q->owner, &q->conversation, &items, reterr) == -1)
        return -1;
    write_conversation(&q->conversation, &q->out);
    return 0;
}

static int update_conversation(struct store_session *s, struct state_request *q, struct err *reterr)
{
    str metadata = q->conversation.metadata;

    if (store_update_conversation(s, q->owner, q->ids[0], metadata, reterr) == -1)
        return -1;
    return state_conversation_show(s, q, reterr);
}

static int delete_conversation(struct store_session *s, struct state_request *q, struct err *reterr)
{
    if (store_delete_conversation(s, q->owner, q->ids[0], reterr) == -1)
        return -1;
    state_write_deleted(q, STR("conversation.deleted"));
    return 0;
}

const struct state_call state_conversation_create = {STORE_WRITE, true, read_create, create, NULL};
const struct state_call state_conversation_get = {STORE_READ, false, NULL, state_conversation_show,
                                                  NULL};
const struct state_call state_conversation_update = {STORE_WRITE, true, read_update,
                                                     update_conversation, NULL};
const struct state_call state_conversation_delete = {STORE_WRITE, false, NULL, delete_conversation,
                                                     NULL};
