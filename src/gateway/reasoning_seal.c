/* reasoning_seal.c -- the keys of the configuration, and the owner of a turn. */
#include "gateway/reasoning_seal.h"

#include "ev/log.h"

struct seal_keys *reasoning_seal_keys(const struct config *c, struct err *reterr)
{
    const struct config_list *secrets = &c->encryption_keys;
    struct seal_keys *keys =
        seal_keys_new(secrets->items, secrets->n, "antiphon reasoning", reterr);

    if (keys != NULL && secrets->n == 0)
        log_msg(LOG_INFO, "encryption_keys is not set: the encrypted_content of reasoning items is "
                          "lost with a restart, and means nothing to other gateways");
    return keys;
}

static bool close_text(void *arg, str text, struct buf *out)
{
    const struct reasoning_seal *s = arg;

    return seal_close(s->keys, text, s->owner, out);
}

static bool open_text(void *arg, str sealed, struct arena *a, str *ret)
{
    const struct reasoning_seal *s = arg;

    return seal_open(s->keys, sealed, s->owner, a, ret);
}

void reasoning_seal_init(struct reasoning_seal *s, const struct seal_keys *keys, str owner)
{
    *s = (struct reasoning_seal){{close_text, open_text, s}, keys, owner};
}
