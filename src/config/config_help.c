/* config_help.c -- the table of keys as help text. */
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
    const bool has_words = k->kind == CONFIG_CHOICE || k->kind == CONFIG_WORD;
    const bool is_short = !has_words || fits_line(k);
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

/* Only the words of the settings of models: what they mean needs more room than --help has. */
static void help_settings(struct buf *out)
{
    buf_c(out, "\n"
               "Settings of models, for --model-settings; the first word if nothing is said:\n");
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        struct buf words = {0};

        buf_c(out, "  ");
        buf_c(out, model_setting_name((enum model_setting)s));
        buf_char(out, '\n');
        config_write_words(model_setting_words((enum model_setting)s), &words);
        prose_wrap(buf_cstr(&words), out);
        buf_fini(&words);
    }
    for (int n = MODEL_SETTINGS; n < (int)MODEL_SETTINGS_AND_NUMBERS; n++) {
        struct buf range = {0};

        buf_c(out, "  ");
        buf_c(out, model_number_name((enum model_number)n));
        buf_char(out, '\n');
        buf_c(&range, "a number, ");
        buf_c(&range, model_number_range((enum model_number)n));
        prose_wrap(buf_cstr(&range), out);
        buf_fini(&range);
    }
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
               "  --probe\n"
               "      With --check-config: ask the upstream which models it serves. The exit\n"
               "      status is 1 when it does not answer.\n"
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
    help_settings(out);
    buf_c(out, "\n"
               "Durations: 500ms, 15s, 2m, 1h; a bare number is seconds.\n"
               "Sizes: 512B, 64KiB, 32MiB, 1GiB; a bare number is bytes.\n"
               "Lists: separated by commas, in further flags, or an array in the file.\n");
}
