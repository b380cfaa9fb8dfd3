/* delta_run.h -- deltas through the state machine, from the first event of a response to the last:
 * for what an upstream says whose bytes are of no interest. */
#ifndef ANTIPHON_TESTS_LIB_DELTA_RUN_H
#define ANTIPHON_TESTS_LIB_DELTA_RUN_H

#include "lib/fixture.h"
#include "response/response.h"

struct delta_round {
    const struct delta *deltas;
    size_t n;
    enum finish finish;
    bool is_last;        /* the loop ends with this round, whatever it calls */
    bool withholds_text; /* unless it has to be the last: its text is no answer yet */
};

struct delta_result {
    struct buf events; /* empty when not streamed */
    struct buf object;
    size_t n_items;           /* that the model has to read again, of all rounds */
    const char *replay_fault; /* of replays, where cuts are kept; NULL: they are the same events */
};

/* conf is completed with ids, an echo and a time. What calls come to is that of hosted_script.h
 * for calls without a line. When the model is to be asked again and there are no more rounds, the
 * response ends as if no tokens were left. */
void delta_run(const struct response_conf *conf, const struct delta_round *rounds, size_t n_rounds,
               bool streamed, struct delta_result *ret);
/* Runs the rounds with a journal, from which the response is restored at every delta (restore_check.h);
 * conf keeps cuts. Returns what is wrong then, NULL: nothing. */
const char *delta_run_restored(const struct response_conf *conf, const struct delta_round *rounds,
                               size_t n_rounds);

void delta_result_fini(struct delta_result *r);

/* Only closes: writes "gw1." and the text as hexadecimal digits. Fails for a text with an x. */
extern const struct text_seal delta_seal;

#endif
