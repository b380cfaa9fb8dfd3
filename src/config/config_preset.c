/* config_preset.c -- the program that this one takes the place of: which it is, and what that gives.
 *
 * A preset stands between the defaults and the file. It is applied when the file has been read, since
 * that may name it, and leaves alone what the file says. */
#include <unistd.h>

#include "config/config_key.h"
#include "config/dotenv.h"
#include "config/file_mode.h"

const struct config_preset_value config_preset_values[] = {
#define PRESET(symbol, key, value, why) {CONFIG_PRESET_##symbol, #key, value, why},
#include "config/moving.def"
    {CONFIG_PRESET_NONE, NULL, NULL, NULL},
};

static const struct {
    enum config_preset program;
    str variable;
} signs[] = {
#define SIGN(symbol, variable) {CONFIG_PRESET_##symbol, STR_INIT(variable)},
#include "config/moving.def"
};

static const struct program {
    enum config_preset program;
    const char *word, *name;
} programs[] = {
#define PROGRAM(symbol, word, name) {CONFIG_PRESET_##symbol, word, name},
#include "config/moving.def"
};

/* NULL for auto and none. */
static const struct program *find_program(enum config_preset program)
{
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (programs[i].program == program)
            return &programs[i];
    }
    return NULL;
}

/* ---- which */

/* What is wrong with it is told when the variable and the flag have their turn. */
static void look_ahead(struct config *c, const struct config_sources *s)
{
    const struct config_key *k = config_key_find(STR("preset"));
    const str flag = config_flags_value(s->n_args, s->args, k);
    const str variable = config_env_get(s->env, STR("ANTIPHON_PRESET"));
    const str said = str_is_none(flag) ? variable : flag;
    unsigned chosen;

    if (!str_is_none(said) && config_has_word(k->valid, said, &chosen))
        c->preset = (enum config_preset)chosen;
}

/* The program whose sign is in the environment. */
static enum config_preset recognise(const char *const *env, struct config_problems *problems)
{
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        const struct program *p = find_program(signs[i].program);

        if (p == NULL || str_is_none(config_env_get(env, signs[i].variable)))
            continue;
        config_warning(
            problems,
            "%s is set, so what is not configured is as %s has it, the addresses to listen "
            "on among it; ANTIPHON_PRESET=%s says so without this line, none goes by the "
            "gateway's own defaults",
            signs[i].variable.p, p->name, p->word);
        return signs[i].program;
    }
    return CONFIG_PRESET_NONE;
}

static void give_values(struct config *c, enum config_preset program,
                        struct config_problems *problems)
{
    const struct program *p = find_program(program);

    for (const struct config_preset_value *v = config_preset_values; p != NULL && v->key != NULL;
         v++) {
        const struct config_key *k = config_key_find(str_from_c(v->key));
        const struct config_place place = {.source = CONFIG_FROM_PRESET, .name = p->word};

        if (v->program == program && c->places[k->id].source == CONFIG_FROM_DEFAULT)
            config_key_set(c, k, str_from_c(v->value), &place, problems);
    }
}

enum config_preset config_preset_apply(struct config *c, const struct config_sources *sources,
                                       struct config_problems *problems)
{
    enum config_preset program;

    look_ahead(c, sources);
    program = c->preset;
    if (program == CONFIG_PRESET_AUTO)
        program = recognise(sources->env, problems);
    give_values(c, program, problems);
    return program;
}

/* ---- the file .env */

/* More than a program has variables; a value can be made of others, and grow. */
enum { MAX_ASSIGNMENTS = 1000, MAX_VALUE_BYTES = 8 * 1024 };

/* The environment, which wins, and the lines of the file: NAME=value, each name once. */
struct joined_env {
    const char *const *env;
    const char *lines[MAX_ASSIGNMENTS + 1];
    size_t n;
};

static str look_up(void *arg, str name)
{
    const struct joined_env *j = arg;
    str value = config_env_get(j->env, name);

    return str_is_none(value) ? config_env_get(j->lines, name) : value;
}

/* The place of a name among the lines; a new one behind them, if it is not there. */
static const char **find_line(struct joined_env *j, str name)
{
    for (size_t i = 0; i < j->n; i++) {
        if (strncmp(j->lines[i], name.p, name.len) == 0 && j->lines[i][name.len] == '=')
            return &j->lines[i];
    }
    return &j->lines[j->n++];
}

/* False when out of memory. A value with a NUL ends there, as it would in an environment. */
static bool set_line(struct joined_env *j, str name, str value, struct arena *memory)
{
    struct buf text = {.limit = 0};
    str line = STR_NONE;

    buf_append(&text, name);
    buf_char(&text, '=');
    buf_append(&text, value);
    buf_char(&text, '\0');
    if (!buf_failed(&text))
        line = arena_dup(memory, buf_str(&text));
    buf_fini(&text);
    if (!str_is_none(line))
        *find_line(j, name) = line.p;
    return !str_is_none(line);
}

static void read_lines(struct joined_env *j, str text, struct arena *memory,
                       struct config_problems *problems)
{
    struct dotenv d = dotenv_of(text);
    struct buf value = {.limit = MAX_VALUE_BYTES};
    str name;

    for (size_t i = 0; i < MAX_ASSIGNMENTS; i++) {
        buf_reset(&value);
        if (!dotenv_next(&d, look_up, j, &name, &value))
            break;
        if (buf_failed(&value) || !set_line(j, name, buf_str(&value), memory))
            config_warning(problems, ".env: %s is longer than 8 KiB and has no effect",
                           config_quote(name).text);
    }
    buf_fini(&value);
    if (d.n_bad > 0)
        config_warning(problems, ".env: line %zu is no NAME=VALUE and has no effect", d.bad_line);
}

/* What is in the environment is not overruled, and what is no variable of the program is not its. */
static bool is_wanted(const struct joined_env *j, enum config_preset program, const char *line)
{
    const str name = str_from(line, strcspn(line, "="));

    return config_moved_is_of(program, name) && str_is_none(config_env_get(j->env, name));
}

static const char *const *join_env(struct config *c, enum config_preset program,
                                   const char *const *env, str text,
                                   struct config_problems *problems)
{
    struct joined_env j = {.env = env};
    const char **all;
    size_t n = 0;

    read_lines(&j, text, &c->memory, problems);
    while (env != NULL && env[n] != NULL)
        n++;
    all = arena_array(&c->memory, n + j.n + 1, sizeof(*all));
    if (all == NULL) {
        config_error(problems, ".env: out of memory");
        return env;
    }
    for (size_t i = 0; i < n; i++)
        all[i] = env[i];
    for (size_t i = 0; i < j.n; i++) {
        if (is_wanted(&j, program, j.lines[i]))
            all[n++] = j.lines[i];
    }
    all[n] = NULL;
    return all;
}

const char *const *config_preset_env(struct config *c, enum config_preset program,
                                     const struct config_sources *sources,
                                     struct config_problems *problems)
{
    const char *const *env = sources->env;
    struct buf text = {.limit = 0};

    if (program != CONFIG_PRESET_ORS)
        return env;
    if (!str_is_none(sources->dotenv_text))
        return join_env(c, program, env, sources->dotenv_text, problems);
    if (!str_is_none(sources->file_text) || access(".env", F_OK) == -1)
        return env;
    if (config_read_file(".env", &text, problems)) {
        file_mode_check_readers(".env", problems);
        env = join_env(c, program, env, buf_str(&text), problems);
    }
    buf_fini(&text);
    return env;
}
