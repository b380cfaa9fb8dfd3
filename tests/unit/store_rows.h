/* store_rows.h -- what the store counts and promises, looked up in its rows. */
#ifndef ANTIPHON_TESTS_UNIT_STORE_ROWS_H
#define ANTIPHON_TESTS_UNIT_STORE_ROWS_H

#include "store/store_session.h"
#include "store_fixture.h"

/* Counts anew: a row that may not be there makes the script fail. */

static inline void assert_none(struct fixture *f, const char *what, const char *rows)
{
    struct buf script = {0};
    int rc;

    buf_c(&script, "CREATE TEMPORARY TABLE wrong (what TEXT, seq BIGINT CHECK (seq = 0));"
                   "INSERT INTO wrong ");
    buf_c(&script, rows);
    buf_c(&script, "; DROP TABLE wrong");
    rc = f->s->driver->script(f->s->db, buf_cstr(&script), &f->err);
    buf_fini(&script);
    if (rc == -1)
        fail_msg("%s: %s", what, f->err.msg);
}

static inline void assert_true_to_rows(struct fixture *f)
{
    assert_none(f, "n_responses",
                "SELECT owner, seq FROM history WHERE n_responses <> (SELECT COUNT(*) FROM response"
                " WHERE response.history = history.seq AND head IS NOT NULL)");
    assert_none(f, "bytes",
                "SELECT owner, seq FROM history WHERE bytes <>"
                " COALESCE(length(conversation_id), 0) + COALESCE(length(metadata), 0)"
                " + (SELECT COALESCE(SUM(length(id) + length(head) + length(tail)), 0)"
                " FROM response WHERE response.history = history.seq AND head IS NOT NULL"
                " AND status < 4)"
                " + (SELECT COALESCE(SUM(bytes), 0) FROM work WHERE work.history = history.seq)"
                " + (SELECT COALESCE(SUM(length(id) + COALESCE(length(body), 0)), 0)"
                " FROM item WHERE item.history = history.seq)");
    assert_none(f, "cuts_bytes",
                "SELECT owner, seq FROM history WHERE cuts_bytes <>"
                " (SELECT COALESCE(SUM(length(cuts.bytes)), 0) FROM cuts JOIN response"
                " ON response.seq = cuts.response WHERE response.history = history.seq)");
    assert_none(f, "cuts without their begin, or of what is under way or gone",
                "SELECT NULL, response FROM cuts WHERE NOT EXISTS (SELECT 1 FROM cuts begin_of"
                " WHERE begin_of.response = cuts.response AND begin_of.first = 0) OR NOT EXISTS"
                " (SELECT 1 FROM response WHERE response.seq = cuts.response"
                " AND head IS NOT NULL AND status < 4)");
    assert_none(f, "work of a response that is not under way, or the reverse",
                "SELECT id, seq FROM response WHERE (head IS NOT NULL AND status IN (4, 5)) <>"
                " EXISTS (SELECT 1 FROM work WHERE work.response = response.seq)");
    assert_none(f, "a journal without work",
                "SELECT NULL, response FROM journal WHERE NOT EXISTS"
                " (SELECT 1 FROM work WHERE work.response = journal.response)");
    assert_none(f, "work without its request",
                "SELECT owner, response FROM work WHERE NOT EXISTS (SELECT 1 FROM journal"
                " WHERE journal.response = work.response AND journal.first = -1)");
    assert_none(f, "a conversation locked by work that is not there",
                "SELECT locked_by, seq FROM history WHERE substr(locked_by, 1, 5) = 'work/'"
                " AND NOT EXISTS (SELECT 1 FROM work WHERE work.history = history.seq)");
    assert_none(f, "an item without a body",
                "SELECT id, seq FROM item WHERE body IS NULL AND ref IS NULL");
    assert_none(f, "an id twice in a conversation",
                "SELECT id, MAX(seq) FROM item WHERE in_conversation = 1"
                " GROUP BY history, id HAVING COUNT(*) > 1");
    assert_none(f, "an item of no response",
                "SELECT id, seq FROM item WHERE response IS NOT NULL"
                " AND NOT EXISTS (SELECT 1 FROM response WHERE response.seq = item.response)");
    assert_none(f, "a history with nothing in it that can be found",
                "SELECT owner, seq FROM history WHERE n_responses = 0"
                " AND (conversation_id IS NULL OR is_deleted = 1)");
}

/* A store without what cannot be purged: a test may leave work, and locks. */
static inline int rows_setup(void **state)
{
    struct store_session *wipe = store_session_open(&backend_conf, NULL);
    int rc = wipe == NULL ? -1
                          : wipe->driver->script(wipe->db,
                                                 "DELETE FROM work; DELETE FROM idempotency;"
                                                 "UPDATE history SET locked_by = NULL",
                                                 NULL);

    store_session_close(wipe);
    return rc == -1 ? -1 : store_setup(state);
}

#define ON_ROWS(test) cmocka_unit_test_setup_teardown(test, rows_setup, store_teardown)

static inline void run_sql(struct fixture *f, const char *script)
{
    assert_ok(f->s->driver->script(f->s->db, script, &f->err));
}

#endif
