/* store_work_leave.c -- the journal of a response under way, and the lock of its conversation. */
#include "store/store_work_leave.h"

int work_conversation_name(str id, struct buf *out, struct err *reterr)
{
    buf_c(out, "work/");
    buf_append(out, id);
    return buf_failed(out) ? err_set_no_memory(reterr) : 0;
}

static int unlock_conversation(struct store_session *s, str id, struct err *reterr)
{
    struct buf name = {0};
    int rc = work_conversation_name(id, &name, reterr);

    if (rc == 0)
        rc = session_do(s, SQL_LOCK_RELEASE, &(struct sql_value){.s = buf_str(&name)}, reterr);
    buf_fini(&name);
    return rc;
}

int work_leave(struct store_session *s, int64_t response, str id, struct err *reterr)
{
    if (session_do(s, SQL_JOURNAL_REMOVE, &(struct sql_value){.i = response}, reterr) == -1)
        return -1;
    return unlock_conversation(s, id, reterr);
}
