/* turn_readers.c -- those who read the events of a response while it is made (CONTRACT 4.8).
 *
 * Of a response in the background they see what its journal has stored; of any other what its own client
 * has been sent. How it ends they read in the store. */
#include "turn/turn_internal.h"
#include "turn/turn_run.h"

bool turn_keeps_cuts(const struct turn *t)
{
    /* The answer to a request with an Idempotency-Key may be wanted again. */
    const bool is_resumable =
        t->flight.worker->config->resumable == CONFIG_RESUMABLE_STORED || t->key_lock.len > 0;

    if (t->run != NULL)
        return true;
    return is_resumable && t->request.store && !t->is_count && !turn_is_background(t) &&
           t->dialect == RESPONSE_DIALECT_OPENAI; /* the events of the other are no part of it */
}

/* Without them the response is stored all the same. */
str turn_kept_cuts(struct turn *t)
{
    struct buf packed = {.limit = 0};
    struct cuts all = {.n = 0};
    str kept = STR_NONE;

    if (!t->response.conf.keeps_cuts)
        return STR_NONE;
    response_whole_cuts(&t->response, &all);
    cuts_pack(buf_str(&all.bytes), &packed);
    if (!buf_failed(&all.bytes) && !buf_failed(&packed))
        kept = arena_dup(&t->kept, buf_str(&packed));
    cuts_fini(&all);
    buf_fini(&packed);
    return kept;
}

static struct turn *turn_of(struct running_entry *entry)
{
    return (struct turn *)((char *)entry - offsetof(struct turn, entry));
}

static enum running_outcome fill_ask(struct running_entry *entry, struct running_ask *ask)
{
    struct turn *t = turn_of(entry);

    if (t->flight.is_on_pool) {
        t->lets_readers_wait = true;
        return RUNNING_NOTHING;
    }
    return running_fill(ask, &t->response, entry->n_durable);
}

/* A client that waits for its answer cancels it by leaving. */
static void cancel_response(struct running_entry *entry)
{
    struct turn *t = turn_of(entry);

    if (t->run != NULL)
        turn_run_cancel(t);
}

void turn_enter_table(struct turn *t)
{
    static const struct running_ops ops = {fill_ask, cancel_response};

    if (t->flight.worker->running != NULL && turn_keeps_cuts(t))
        running_add(t->flight.worker->running, &t->entry, &ops, t->flight.caller.owner,
                    id_str(&t->response.id), t->flight.worker->loop);
}

void turn_leave_table(struct turn *t)
{
    running_remove(&t->entry);
}
