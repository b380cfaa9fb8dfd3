/* turn_answer_mark.c -- whose cache the next request finds the answer in (OPERATIONS 4.5 rule 6).
 *
 * What a prompt has before an answer is known when it is sent. A client that sends its history again goes on behind
 * the answer, which may be longer than all before it. So the answer is written as that request will say it, and where
 * it ends is a boundary that its upstream knows. Of a round with calls that becomes known with the next round. */
#include "flight/flight_admission.h"
#include "response/response_hosted.h"
#include "turn/turn_internal.h"
#include "wire/chat/chat_answer.h"

/* A shorter answer costs less to compute again than to note for all that is never asked for. */
enum { LEAST_BYTES = 1024 };

/* A completion's prompt has the answer between markers of its own. A request that was rewritten is marked as it was
 * written first, as the next one will be. */
static bool is_worth_it(const struct turn *t)
{
    return flight_wants_answer(&t->flight) && !t->is_rewritten &&
           t->profile.harmony != HARMONY_MODE_COMPLETIONS &&
           response_answer_bytes(&t->response) >= LEAST_BYTES;
}

/* Out of memory, less is known. */
void turn_mark_answer(struct turn *t)
{
    struct responses_request_options options;
    struct item_list answer = {.n = 0};
    struct buf message = {.limit = 0};
    struct arena a;
    struct err e;

    if (!is_worth_it(t))
        return;
    arena_init(&a, t->flight.worker->config->max_request_memory_bytes);
    options = turn_request_options(t);
    if (response_read_answer(&t->response, &options.input, &answer, &a, &e) == 0 &&
        chat_answer_write(&answer, &t->chat, &t->flight.worker->ids, &a, &message, &e) == 0 &&
        message.len > 0)
        flight_note_answer(&t->flight, buf_str(&message));
    buf_fini(&message);
    arena_fini(&a);
}
