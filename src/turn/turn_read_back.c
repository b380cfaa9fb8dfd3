/* turn_read_back.c -- compaction items that come back, with the request or from the store
 * (CONTRACT 13.8). */
#include "compact/compact_question.h"
#include "json/json_text.h"
#include "turn/turn_internal.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_window.h"

/* The order of both lists is the same. */
_Static_assert((int)CONFIG_FOREIGN_COMPACTION_NOTE == (int)COMPACT_FOREIGN_NOTE, "same order");
_Static_assert((int)CONFIG_FOREIGN_COMPACTION_REJECT == (int)COMPACT_FOREIGN_REJECT, "same order");

const struct text_seal *turn_compaction_seal(struct turn *t)
{
    owner_seal_init(&t->compaction_seal, t->flight.worker->compaction_keys, t->flight.caller.owner);
    return &t->compaction_seal.text;
}

static enum role summary_role(enum config_compaction_role role)
{
    switch (role) {
    case CONFIG_COMPACTION_ROLE_ASSISTANT:
        return ROLE_ASSISTANT;
    case CONFIG_COMPACTION_ROLE_SYSTEM:
    case CONFIG_COMPACTION_ROLE_DEVELOPER:
        return ROLE_SYSTEM;
    case CONFIG_COMPACTION_ROLE_USER:
        break;
    }
    return ROLE_USER;
}

/* 0 where it does not matter: only what continues something can continue a summary. */
static int64_t window_of(struct turn *t)
{
    if (t->has_response || !t->request.needs_store)
        return t->window.tokens;
    return upstream_window_of(t->flight.upstream->config, t->facts, turn_upstream_model(t)).tokens;
}

struct compact_reading turn_compact_reading(struct turn *t)
{
    const struct config *c = t->flight.worker->config;

    return (struct compact_reading){
        .seal = turn_compaction_seal(t),
        .foreign = (enum compact_foreign)c->foreign_compaction,
        .has_role = true,
        .role = summary_role(c->compaction_role),
        .keep_tokens = compact_keep_tokens((int64_t)c->compaction_keep, window_of(t)),
    };
}
