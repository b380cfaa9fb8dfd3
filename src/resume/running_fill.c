/* running_fill.c -- events of a response for who asks. */
#include "response/response.h"
#include "resume/running.h"

enum running_outcome running_fill(struct running_ask *ask, const struct response *r, uint64_t limit)
{
    const str cuts = buf_str(&r->cuts.bytes);

    if (replay_events(&ask->replay, r, cuts, limit, ask->after, ask->obfuscate, RUNNING_FILL_BYTES,
                      &ask->out) == -1 ||
        buf_failed(&ask->out))
        return RUNNING_FAILED;
    if (ask->replay.has_ended)
        return RUNNING_LAST;
    return ask->out.len > 0 ? RUNNING_SOME : RUNNING_NOTHING;
}
