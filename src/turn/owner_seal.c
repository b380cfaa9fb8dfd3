/* owner_seal.c -- keys for each purpose, and the owner of a turn. */
#include "turn/owner_seal.h"

#include <stdatomic.h>

#include "ev/log.h"

struct seal_keys *owner_seal_reasoning_keys(const struct config_list *secrets, struct err *reterr)
{
    return seal_keys_new(secrets->items, secrets->n, "antiphon reasoning", reterr);
}

struct seal_keys *owner_seal_compaction_keys(const struct config_list *secrets, struct err *reterr)
{
    return seal_keys_new(secrets->items, secrets->n, "antiphon compaction", reterr);
}

struct seal_keys *owner_seal_request_keys(const struct config_list *secrets, struct err *reterr)
{
    return seal_keys_new(secrets->items, secrets->n, "antiphon request", reterr);
}

void owner_seal_tell(bool is_forgotten)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;

    if (is_forgotten && !atomic_flag_test_and_set(&is_said))
        log_msg(LOG_INFO, "encryption_keys is not set: the encrypted_content of reasoning and "
                          "compaction items is lost with a restart, and means nothing to other "
                          "gateways");
}

static bool close_text(void *arg, str text, struct buf *out)
{
    const struct owner_seal *s = arg;

    return seal_close(s->keys, text, s->owner, out);
}

static bool open_text(void *arg, str sealed, struct arena *a, str *ret)
{
    const struct owner_seal *s = arg;

    return seal_open(s->keys, sealed, s->owner, a, ret);
}

void owner_seal_init(struct owner_seal *s, const struct seal_keys *keys, str owner)
{
    *s = (struct owner_seal){{close_text, open_text, s}, keys, owner};
}
