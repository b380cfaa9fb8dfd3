/* config_directories.c -- names that stand for paths in directories of a service manager (OPERATIONS 7.4):
 * credential:NAME for a file, unix:NAME for a socket. */
#include "config/config_key.h"
#include "config/config_override.h"

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
static const char *join_path(struct arena *a, str before, str directory, str name)
{
    struct buf path = {.limit = 0};
    const char *kept;

    buf_append(&path, before);
    buf_append(&path, str_from(directory.p, str_find_char(directory, ':')));
    buf_char(&path, '/');
    buf_append(&path, name);
    kept = buf_failed(&path) ? NULL : arena_dup(a, buf_str(&path)).p;
    buf_fini(&path);
    return kept;
}

/* The path of a name; NULL, and why. */
static const char *find_path(struct arena *a, const char *const *env, const struct directory *in,
                             str before, str name, const char **retwhy)
{
    str directory = config_env_get(env, str_from_c(in->variable));
    const char *path = NULL;

    if (!is_file_name(name))
        *retwhy = in->has_bad_name;
    else if (str_is_none(directory))
        *retwhy = in->is_missing;
    else if ((path = join_path(a, before, directory, name)) == NULL)
        *retwhy = "out of memory";
    return path;
}

const char *config_file_path(struct arena *a, str text, const char *const *env, const char **retwhy)
{
    const char *copy;

    if (str_starts_with(text, credential))
        return find_path(a, env, &credentials, STR(""), str_skip(text, credential.len), retwhy);
    copy = arena_dup(a, text).p;
    if (copy == NULL)
        *retwhy = "out of memory";
    return copy;
}

static void resolve_file(struct config *c, const struct config_key *k, const char **value,
                         const char *const *env, struct config_problems *problems)
{
    str text = str_from_c(*value == NULL ? "" : *value);
    const char *path, *why = NULL;

    if (!str_starts_with(text, credential))
        return;
    path = config_file_path(&c->memory, text, env, &why);
    if (path == NULL)
        config_key_refuse(c, k, problems, why);
    else
        *value = path;
}

static void resolve_socket(struct config *c, const struct config_key *k, const char **value,
                           const char *const *env, struct config_problems *problems)
{
    str text = str_from_c(*value), name;
    const char *path, *why = NULL;

    if (!str_starts_with(text, unix_scheme))
        return;
    name = str_skip(text, unix_scheme.len);
    if (str_starts_with(name, STR("/")))
        return;
    path = find_path(&c->memory, env, &runtime, unix_scheme, name, &why);
    if (path == NULL)
        config_key_refuse(c, k, problems, why);
    else
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
