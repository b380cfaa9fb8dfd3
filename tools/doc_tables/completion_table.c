/* completion_table.c -- command.def and config.def for the shells (packaging/completions).
 *
 * bash and zsh read lines with a tab between their fields, in which - stands for nothing:
 *
 *     command  word behind it  its own flags  does it take those of serve?  what it takes  help
 *     flag     value: - (none), any, file, model, or words and what they are    help
 *
 * For fish the same is written as its own statements. */
#include <ctype.h>
#include <string.h>

#include "config/config_key.h"
#include "table.h"

static const struct {
    const char *name, *arguments, *help;
} commands[] = {
#define COMMAND(function, name, arguments, help) {name, arguments, help},
#include "cli/command.def"
#undef COMMAND
};

/* ---- what the arguments of a command say: "stats [--json] [flags]", "run FILE|- [flags]" */

struct usage {
    str word;       /* "stats", or STR_NONE */
    struct buf own; /* "--json", with spaces between them */
    bool takes_flags, takes_file;
};

static bool is_between(char c)
{
    return c == ' ' || c == '[' || c == ']' || c == '|';
}

/* Cuts the next piece off between spaces, brackets and bars. */
static str next_piece(str *rest)
{
    str piece;

    while (rest->len > 0 && is_between(rest->p[0]))
        *rest = str_skip(*rest, 1);
    piece = str_from(rest->p, 0);
    while (piece.len < rest->len && !is_between(rest->p[piece.len]))
        piece.len++;
    *rest = str_skip(*rest, piece.len);
    return piece.len == 0 ? STR_NONE : piece;
}

static struct usage usage_read(const char *arguments)
{
    struct usage u = {.word = STR_NONE};
    str rest = str_from_c(arguments), piece;

    while (!str_is_none(piece = next_piece(&rest))) {
        if (str_eq(piece, STR("flags"))) {
            u.takes_flags = true;
        } else if (str_starts_with(piece, STR("--"))) {
            buf_c(&u.own, u.own.len == 0 ? "" : " ");
            buf_append(&u.own, piece);
        } else if (islower((unsigned char)piece.p[0]) && str_is_none(u.word)) {
            u.word = piece;
        } else if (str_eq(piece, STR("FILE")) || str_eq(piece, STR("PATH"))) {
            u.takes_file = true;
        }
    }
    return u;
}

/* ---- help in one line */

/* How much of a text stands before the first of these marks. */
static size_t length_before(str s, const char *mark)
{
    size_t n = strlen(mark);

    for (size_t i = 0; i + n <= s.len; i++) {
        if (memcmp(s.p + i, mark, n) == 0)
            return i;
    }
    return s.len;
}

/* Appends the first sentence up to its colon, or as many of its words as fit. */
static void write_short(const char *help, struct buf *out)
{
    enum { COLUMNS = 72 };
    str s = str_from_c(help);
    bool is_cut;

    s.len = length_before(s, ". ");
    s.len = length_before(s, ": ");
    s.len = length_before(s, "; ");
    if (str_ends_with(s, STR(".")) || str_ends_with(s, STR(":")))
        s.len--;
    is_cut = s.len > COLUMNS;
    for (s.len = is_cut ? COLUMNS : s.len; is_cut && s.p[s.len] != ' ';)
        s.len--;
    buf_append(out, s);
    buf_c(out, is_cut ? "..." : "");
}

/* In single quotes of fish. */
static void write_quoted(str s, struct buf *out)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        buf_c(out, s.p[i] == '\'' || s.p[i] == '\\' ? "\\" : "");
        buf_char(out, s.p[i]);
    }
    buf_char(out, '\'');
}

static void write_help(const char *help, struct buf *out)
{
    struct buf text = {0};

    write_short(help, &text);
    write_quoted(buf_str(&text), out);
    buf_fini(&text);
}

/* ---- values */

/* Appends what stands for a value in the lines of bash and zsh. */
static void write_value(const struct config_key *k, struct buf *out)
{
    const bool has_words = k->kind == CONFIG_CHOICE || k->kind == CONFIG_WORD;
    str rest = str_from_c(has_words ? k->valid : ""), word;

    if (config_key_is_flag(k))
        buf_c(out, "-");
    else if (has_words)
        buf_c(out, "words");
    else if (strcmp(config_key_placeholder(k), "FILE") == 0)
        buf_c(out, "file");
    else
        buf_c(out, k->id == CONFIG_KEY_model ? "model" : "any");
    while (has_words && !str_is_none(word = config_next_word(&rest, '|'))) {
        buf_char(out, ' ');
        buf_append(out, word);
    }
}

static void write_name(const struct config_key *k, bool is_off, struct buf *out)
{
    struct buf flag = {0};

    config_key_flag(k, &flag);
    buf_c(out, is_off ? "no-" : "");
    buf_append(out, str_skip(buf_str(&flag), 2));
    buf_fini(&flag);
}

/* ---- lines for bash and zsh */

void completion_commands(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct usage u = usage_read(commands[i].arguments);

        buf_c(out, commands[i].name);
        buf_char(out, '\t');
        buf_append(out, str_is_none(u.word) ? STR("-") : u.word);
        buf_char(out, '\t');
        buf_append(out, u.own.len == 0 ? STR("-") : buf_str(&u.own));
        buf_c(out, u.takes_flags ? "\tflags\t" : "\t-\t");
        buf_c(out, u.takes_file ? "file\t" : "-\t");
        write_short(commands[i].help, out);
        buf_char(out, '\n');
        buf_fini(&u.own);
    }
}

static void write_flag_line(const struct config_key *k, bool is_off, struct buf *out)
{
    buf_c(out, "--");
    write_name(k, is_off, out);
    buf_char(out, '\t');
    write_value(k, out);
    buf_char(out, '\t');
    write_short(k->help, out);
    buf_char(out, '\n');
}

void completion_flags(struct buf *out)
{
    buf_c(out, "--config\tfile\tConfiguration file\n--help\t-\tList the flags\n");
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind == CONFIG_GROUP)
            continue;
        write_flag_line(k, false, out);
        if (config_key_is_flag(k))
            write_flag_line(k, true, out);
    }
}

/* ---- statements for fish */

static void write_condition(const char *name, str word, struct buf *out)
{
    buf_c(out, "complete -c antiphon -n '__antiphon_has ");
    buf_c(out, name);
    buf_char(out, ' ');
    buf_append(out, str_is_none(word) ? STR("") : word);
    buf_c(out, "' ");
}

static void write_fish_command(size_t i, struct buf *out)
{
    struct usage u = usage_read(commands[i].arguments);
    str rest = buf_str(&u.own), flag;

    if (i == 0 || strcmp(commands[i].name, commands[i - 1].name) != 0) {
        buf_c(out, "complete -c antiphon -n __fish_use_subcommand -a ");
        buf_c(out, commands[i].name);
        buf_c(out, " -d ");
        write_help(commands[i].help, out);
        buf_char(out, '\n');
    }
    if (!str_is_none(u.word)) {
        write_condition(commands[i].name, STR_NONE, out);
        buf_c(out, "-a ");
        buf_append(out, u.word);
        buf_c(out, " -d ");
        write_help(commands[i].help, out);
        buf_char(out, '\n');
    }
    while (u.own.len > 0 && !str_is_none(flag = config_next_word(&rest, ' '))) {
        write_condition(commands[i].name, u.word, out);
        buf_c(out, "-l ");
        buf_append(out, str_skip(flag, 2));
        buf_char(out, '\n');
    }
    if (u.takes_file) {
        write_condition(commands[i].name, u.word, out);
        buf_c(out, "-F\n");
    }
    buf_fini(&u.own);
}

static void write_fish_flag(const struct config_key *k, bool is_off, struct buf *out)
{
    struct buf value = {0};

    write_value(k, &value);
    buf_c(out, "complete -c antiphon -n __antiphon_takes_flags -l ");
    write_name(k, is_off, out);
    if (str_starts_with(buf_str(&value), STR("words "))) {
        buf_c(out, " -x -a ");
        write_quoted(str_skip(buf_str(&value), strlen("words ")), out);
    } else if (str_eq(buf_str(&value), STR("file"))) {
        buf_c(out, " -r -F");
    } else if (str_eq(buf_str(&value), STR("model"))) {
        buf_c(out, " -x -a '(__antiphon_models)'");
    } else if (str_eq(buf_str(&value), STR("any"))) {
        buf_c(out, " -x");
    }
    buf_c(out, " -d ");
    write_help(k->help, out);
    buf_char(out, '\n');
    buf_fini(&value);
}

/* Commands that take the flags of serve. */
static void write_fish_takers(struct buf *out)
{
    const char *last = "";

    buf_c(out, "set -g __antiphon_with_flags");
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct usage u = usage_read(commands[i].arguments);

        if (u.takes_flags && strcmp(commands[i].name, last) != 0) {
            buf_char(out, ' ');
            buf_c(out, commands[i].name);
            last = commands[i].name;
        }
        buf_fini(&u.own);
    }
    buf_char(out, '\n');
}

void completion_fish(struct buf *out)
{
    write_fish_takers(out);
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        write_fish_command(i, out);
    buf_c(out, "complete -c antiphon -n __antiphon_takes_flags -l config -r -F -d "
               "'Configuration file'\n");
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind == CONFIG_GROUP)
            continue;
        write_fish_flag(k, false, out);
        if (config_key_is_flag(k))
            write_fish_flag(k, true, out);
    }
}
