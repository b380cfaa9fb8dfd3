/* config_help.c -- the table of keys as help text and as documentation. */
#include "config/config_key.h"
#include "config/prose.h"

/* Do the words of a choice fit in the line of its flag? */
static bool fits_line(const struct config_key *k)
{
    enum { COLUMNS = 80 };

    return strlen("  -- ") + strlen(k->name) + strlen(config_key_placeholder(k)) <= COLUMNS;
}

static void help_key(const struct config_key *k, struct buf *out)
{
    const bool is_short = k->kind != CONFIG_CHOICE || fits_line(k);
    struct buf initial = {0};

    buf_c(out, "  ");
    config_key_flag(k, out);
    buf_c(out, config_key_is_flag(k) ? ", --no-" : " ");
    if (config_key_is_flag(k)) {
        struct buf flag = {0};

        config_key_flag(k, &flag);
        buf_append(out, str_skip(buf_str(&flag), 2));
        buf_fini(&flag);
    }
    buf_c(out, is_short ? config_key_placeholder(k) : "WORD");
    buf_c(out, config_key_is_list(k) ? ",..." : "");
    buf_char(out, '\n');
    prose_wrap(k->help, out);
    if (!is_short) {
        buf_c(&initial, "WORD is ");
        config_key_takes(k, &initial);
        buf_c(&initial, ". ");
    }
    buf_c(&initial, "Default: ");
    config_key_initial(k, &initial);
    prose_wrap(buf_cstr(&initial), out);
    buf_fini(&initial);
}

void config_help(struct buf *out)
{
    buf_c(out, "usage: antiphon serve [flags]\n"
               "\n"
               "Accepts OpenAI Responses requests and answers them with the help of a server\n"
               "that speaks Chat Completions.\n"
               "\n"
               "Every flag can also be given as a variable, --max-body 8MiB as\n"
               "ANTIPHON_MAX_BODY=8MiB, or as a key of a configuration file,\n"
               "\"max_body\": \"8MiB\". Flags win over variables, variables over the file.\n"
               "\n"
               "  --config FILE\n"
               "      Configuration file: a JSON object, with comments if you like.\n"
               "  --check-config\n"
               "      Do not serve: say everything that is wrong with the configuration, or\n"
               "      print the configuration in effect and where each value comes from.\n"
               "  --help\n"
               "      This text.\n");
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP) {
            help_key(k, out);
            continue;
        }
        buf_char(out, '\n');
        buf_c(out, k->name);
        buf_c(out, ":\n");
    }
    buf_c(out, "\n"
               "Durations: 500ms, 15s, 2m, 1h; a bare number is seconds.\n"
               "Sizes: 512B, 64KiB, 32MiB, 1GiB; a bare number is bytes.\n"
               "Lists: separated by commas, in further flags, or an array in the file.\n");
}

static void docs_key(const struct config_key *k, struct buf *out)
{
    buf_c(out, "\n### `");
    buf_c(out, k->name);
    buf_c(out, "`\n\n");
    buf_c(out, k->help);
    buf_c(out, "\n\nFlag `");
    config_key_flag(k, out);
    buf_c(out, "`, variable `");
    config_key_variable(k, out);
    buf_c(out, "`. Takes ");
    config_key_takes(k, out);
    buf_c(out, ". Default: ");
    buf_c(out, k->initial[0] == '\0' ? "none" : "`");
    buf_c(out, k->initial);
    buf_c(out, k->initial[0] == '\0' ? ".\n" : "`.\n");
}

static void docs_aliases(struct buf *out)
{
    static const char *const later[] = {
#define LATER(variable) variable,
#include "config/config.def"
    };

    buf_c(out, "\n## Coming from open-responses-server\n\n"
               "Its variables are understood. They overrule the file and give way to `ANTIPHON_*`\n"
               "variables and flags.\n\n"
               "| Variable | Key |\n|---|---|\n");
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        buf_c(out, "| `");
        buf_append(out, a->variable);
        buf_c(out, "` | `");
        buf_c(out, a->key);
        buf_c(out, "` |\n");
    }
    buf_c(out, "\nWithout effect in this version, with a warning at start:\n");
    for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++) {
        buf_c(out, i == 0 ? "`" : ", `");
        buf_c(out, later[i]);
        buf_c(out, "`");
    }
    buf_c(out, ".\n");
}

void config_docs(struct buf *out)
{
    buf_c(
        out,
        "# Configuration\n\n"
        "<!-- Made by `make docs` from src/config/config.def; change that file. -->\n\n"
        "Every key can be given in three places. Flags win over variables, variables over the\n"
        "file, and the file over the defaults.\n\n"
        "| Place | Example |\n|---|---|\n"
        "| flag | `antiphon serve --max-body 8MiB` (or `--max-body=8MiB`) |\n"
        "| variable | `ANTIPHON_MAX_BODY=8MiB` |\n"
        "| file | `\"max_body\": \"8MiB\"` |\n\n"
        "The file is named by `--config FILE` or `ANTIPHON_CONFIG`. It holds one JSON object, in\n"
        "which `//` and `/* */` comments and trailing commas are fine. A variable that is empty\n"
        "counts as not set. With wrong values or unknown keys the gateway does not start: it names\n"
        "all of them and ends with exit status 2. `antiphon serve --check-config` does the same\n"
        "without starting, or prints the configuration in effect and where each value comes from.\n\n"
        "The elements of a list are separated by commas; a flag may be repeated instead\n"
        "(`--listen :80 --listen unix:/run/antiphon.sock`), and in the file a list is an array of\n"
        "strings. The file may also hold `model_alias` as an object, `{\"gpt-4o\": \"qwen3\"}`. A list\n"
        "replaces that of a weaker source.\n\n"
        "Durations are written `500ms`, `15s`, `2m` or `1h`, and a bare number is seconds; sizes\n"
        "`512B`, `64KiB`, `32MiB` or `1GiB`, and a bare number is bytes. Switches that are on or\n"
        "off are flags without a value: `--error-event`, `--no-error-event`.\n");
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP) {
            docs_key(k, out);
            continue;
        }
        buf_c(out, "\n## ");
        buf_c(out, k->name);
        buf_char(out, '\n');
    }
    docs_aliases(out);
}
