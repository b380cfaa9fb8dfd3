/* sandbox_egress.c -- the hub's proxy, if its sandboxes may reach anything. */
#include "sandbox/sandbox_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define NAME_START "antiphon-"
#define NAME_END   ".sock"

/* The directory for sockets, short: a whole path has to fit into an address. */
static const char *runtime_directory(const struct sandbox_conf *conf)
{
    str directory = child_env_get(conf->jail.env, STR("XDG_RUNTIME_DIR"));

    return geteuid() == 0 || directory.len == 0 || directory.len > 60 ? "/tmp" : directory.p;
}

/* ---- sockets of gateways that were killed: each has a name of its own, so no other meets them */

static bool is_dead_socket(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool refused = fd != -1 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == -1 &&
                   errno == ECONNREFUSED;

    if (fd != -1)
        (void)close(fd);
    return refused;
}

/* A young socket may belong to a gateway that is about to listen. */
static void remove_if_dead(const char *directory, const char *name)
{
    enum { YOUNG_S = 60 };
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", directory, name);
    struct stat file;

    if (n < (int)sizeof(at.sun_path) && lstat(at.sun_path, &file) == 0 && S_ISSOCK(file.st_mode) &&
        file.st_mtime < time(NULL) - YOUNG_S && is_dead_socket(&at))
        (void)unlink(at.sun_path);
}

static void remove_dead(const char *directory)
{
    DIR *all = opendir(directory);
    const struct dirent *entry;

    while (all != NULL && (entry = readdir(all)) != NULL) {
        str name = str_from_c(entry->d_name);

        if (str_starts_with(name, STR(NAME_START)) && str_ends_with(name, STR(NAME_END)))
            remove_if_dead(directory, entry->d_name);
    }
    if (all != NULL)
        (void)closedir(all);
}

int sandbox_egress_open(struct sandbox_hub *hub, struct err *reterr)
{
    struct egress_conf conf = {.uid = jail_uid(hub->jail),
                               .max_connections = hub->conf.max_connections,
                               .max_per_owner = hub->conf.max_connections_per_owner};

    if (hub->conf.egress == NULL)
        return 0;
    remove_dead(runtime_directory(&hub->conf));
    conf.policy = *hub->conf.egress;
    hub->egress = egress_proxy_new(hub->loop, &conf, reterr);
    return hub->egress == NULL ? -1 : 0;
}

int sandbox_egress_open_door(struct box *b, char ret_path[SANDBOX_EGRESS_PATH_BYTES],
                             struct err *reterr)
{
    const struct id id = id_make(&(struct id_source){random_fill, NULL}, "", ID_CALL_CHARS);

    ret_path[0] = '\0';
    if (b->hub->egress == NULL)
        return 0;
    (void)snprintf(ret_path, SANDBOX_EGRESS_PATH_BYTES, "%s/" NAME_START "%.*s" NAME_END,
                   runtime_directory(&b->hub->conf), STR_ARG(id_str(&id)));
    b->door = egress_door_open(b->hub->egress, ret_path, b->owner, reterr);
    return b->door == NULL ? -1 : 0;
}
