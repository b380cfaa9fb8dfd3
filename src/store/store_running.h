/* store_running.h -- work under its claim. Internal to the store; within a transaction. */
#ifndef ANTIPHON_STORE_STORE_RUNNING_H
#define ANTIPHON_STORE_STORE_RUNNING_H

#include "store/store_session.h"
#include "store/store_work.h"

/* Uses the work of a claim, with SQL_WORK_USE or SQL_WORK_START: nobody else changes it until the
 * transaction ends. *ret_response 0: it is not there under this lock. */
int work_use(struct store_session *s, enum sql_statement which, str id, str lock,
             int64_t *ret_response, enum store_wish *ret, struct err *reterr);

#endif
