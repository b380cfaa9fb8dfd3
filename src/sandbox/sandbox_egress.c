/* sandbox_egress.c -- the hub's proxy, if its sandboxes may reach anything. */
#include "sandbox/sandbox_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Short: the whole path has to fit into an address. */
static const char *runtime_directory(const struct sandbox_conf *conf)
{
    str directory = child_env_get(conf->jail.env, STR("XDG_RUNTIME_DIR"));

    return geteuid() == 0 || directory.len == 0 || directory.len > 60 ? "/tmp" : directory.p;
}

void sandbox_egress_name(struct sandbox_hub *hub)
{
    const struct id id = id_make(&(struct id_source){random_fill, NULL}, "", ID_CALL_CHARS);

    if (hub->conf.egress == NULL)
        return;
    (void)snprintf(hub->egress_path, sizeof(hub->egress_path), "%s/antiphon-%.*s.sock",
                   runtime_directory(&hub->conf), STR_ARG(id_str(&id)));
    hub->conf.jail.egress_socket = hub->egress_path;
}

int sandbox_egress_open(struct sandbox_hub *hub, struct err *reterr)
{
    struct egress_conf conf = {.path = hub->egress_path, .uid = jail_uid(hub->jail)};

    if (hub->conf.egress == NULL)
        return 0;
    conf.policy = *hub->conf.egress;
    hub->egress = egress_proxy_new(hub->loop, &conf, reterr);
    return hub->egress == NULL ? -1 : 0;
}
