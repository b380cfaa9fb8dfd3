/* config_directories.c -- names that stand for paths in directories of a service manager (OPERATIONS 7.4):
 * credential:NAME for a file, unix:NAME for a socket. */
#include "config/config_key.h"

static const str credential = STR_INIT("credential:");
static const str unix_scheme = STR_INIT("unix:");

/* What is looked for where, and how it is told when there is no such directory. */
struct directory {
    const char *variable;
    const char *is_missing, *has_bad_name;
};

static const struct directory credentials = {
    "CREDENTIALS_DIRECTORY",
    "credential:NAME is a file in CREDENTIALS_DIRECTORY, which is not set; give a path, or start the "
    "gateway as a service with LoadCredential=NAME:PATH",
    "credential:NAME takes the name of a file, without a slash",
};
static const struct directory runtime = {
    "RUNTIME_DIRECTORY",
    "unix:NAME is a socket in RUNTIME_DIRECTORY, which is not set; give unix:/PATH, or start the gateway as "
    "a service with RuntimeDirectory=",
    "unix:NAME takes the name of a socket, without a slash",
};

static bool is_file_name(str name)
{
    return name.len > 0 && str_find_char(name, '/') == name.len && !str_eq(name, STR(".")) &&
           !str_eq(name, STR(".."));
}

/* "before", the directory, a slash, and the name; NULL when out of memory. Of several directories, with
 * colons between, it is the first. */
static const char *join_path(struct config *c, str before, str directory, str name)
{
    struct buf path = {.limit = 0};
    const char *kept;

    buf_append(&path, before);
    buf_append(&path, str_from(directory.p, str_find_char(directory, ':')));
    buf_char(&path, '/');
    buf_append(&path, name);
    kept = buf_failed(&path) ? NULL : arena_dup(&c->memory, buf_str(&path)).p;
    buf_fini(&path);
    return kept;
}

/* The path of a name, or NULL when the key is refused. */
static const char *find_path(struct config *c, const struct config_key *k, const char *const *env,
                             const struct directory *in, str before, str name,
                             struct config_problems *problems)
{
    str directory = config_env_get(env, str_from_c(in->variable));
    const char *path = NULL;

    if (!is_file_name(name))
        config_key_refuse(c, k, problems, in->has_bad_name);
    else if (str_is_none(directory))
        config_key_refuse(c, k, problems, in->is_missing);
    else if ((path = join_path(c, before, directory, name)) == NULL)
        config_key_refuse(c, k, problems, "out of memory");
    return path;
}

static void resolve_file(struct config *c, const struct config_key *k, const char **value,
                         const char *const *env, struct config_problems *problems)
{
    str text = str_from_c(*value == NULL ? "" : *value);
    const char *path;

    if (!str_starts_with(text, credential))
        return;
    path = find_path(c, k, env, &credentials, STR(""), str_skip(text, credential.len), problems);
    if (path != NULL)
        *value = path;
}

static void resolve_socket(struct config *c, const struct config_key *k, const char **value,
                           const char *const *env, struct config_problems *problems)
{
    str text = str_from_c(*value), name;
    const char *path;

    if (!str_starts_with(text, unix_scheme))
        return;
    name = str_skip(text, unix_scheme.len);
    if (str_starts_with(name, STR("/")))
        return;
    path = find_path(c, k, env, &runtime, unix_scheme, name, problems);
    if (path != NULL)
        *value = path;
}

typedef void resolve_fn(struct config *c, const struct config_key *k, const char **value,
                        const char *const *env, struct config_problems *problems);

/* What names may stand for, of a form; NULL: nothing. */
static resolve_fn *resolver_of(const struct config_key *k)
{
    if (k->kind != CONFIG_TEXT && k->kind != CONFIG_LIST)
        return NULL;
    if (strcmp(k->valid, "FILE") == 0)
        return resolve_file;
    return strcmp(k->valid, "ADDRESS") == 0 ? resolve_socket : NULL;
}

void config_directories_resolve(struct config *c, const char *const *env,
                                struct config_problems *problems)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        resolve_fn *resolve = resolver_of(k);
        void *field = (char *)c + k->offset;

        if (resolve == NULL || c->places[k->id].is_refused)
            continue;
        if (k->kind == CONFIG_TEXT) {
            resolve(c, k, field, env, problems);
            continue;
        }
        for (size_t i = 0; i < ((struct config_list *)field)->n; i++)
            resolve(c, k, &((struct config_list *)field)->items[i], env, problems);
    }
}
