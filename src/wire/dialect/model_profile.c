/* model_profile.c -- lines, old keys, servers, templates and families all speak in the same words; the
 * first that says something counts. */
#include "wire/dialect/model_profile.h"

#include <assert.h>

/* ---- names */

/* A name comes from a client; one that is longer is nobody's. */
enum { MAX_NAME_BYTES = 1024 };

/* Where the last * could not take in less, it takes in one letter more: the stars before it need
 * not be tried again. */
static bool fits_name(str pattern, str name)
{
    size_t p = 0, n = 0, star = pattern.len, resume = 0;

    while (n < name.len) {
        if (p < pattern.len && pattern.p[p] == '*') {
            star = p++;
            resume = n;
        } else if (p < pattern.len && str_lower_char(pattern.p[p]) == str_lower_char(name.p[n])) {
            p++;
            n++;
        } else if (star < pattern.len) {
            p = star + 1;
            n = ++resume;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.p[p] == '*')
        p++;
    return p == pattern.len;
}

/* The next tail of a name, which is not STR_NONE: the whole of it, then what stands behind each of
 * the separators. */
static bool next_tail(str name, const char *separators, str *tail)
{
    size_t i = str_is_none(*tail) ? 0 : name.len - tail->len;

    if (str_is_none(*tail)) {
        *tail = name;
        return true;
    }
    while (i < name.len && strchr(separators, name.p[i]) == NULL)
        i++;
    *tail = str_skip(name, i < name.len ? i + 1 : i);
    return i < name.len;
}

static bool fits(str pattern, str name, const char *separators)
{
    str tail = STR_NONE;

    assert(!str_is_none(pattern));
    while (next_tail(name, separators, &tail)) {
        if (fits_name(pattern, tail))
            return true;
        if (str_starts_with(pattern, STR("*")))
            return false; /* it has been tried with all that stands behind something */
    }
    return false;
}

/* ---- families */

struct family {
    str patterns;
    struct model_words words;
    str messages; /* further words */
    str think_open, think_close;
};

#define THINK_LINES STR_INIT("<think>\n"), STR_INIT("\n</think>\n\n")
#define THINK_MARKS STR_INIT("[THINK]"), STR_INIT("[/THINK]")

static const struct family families[] = {
#define FAMILY(patterns, think, calls, field, history, messages, tags, source)                     \
    {STR_INIT(patterns),                                                                           \
     {{[MODEL_THINK_TAGS] = STR_INIT(think),                                                       \
       [MODEL_TEXT_CALLS] = STR_INIT(calls),                                                       \
       [MODEL_REASONING_FIELD] = STR_INIT(field),                                                  \
       [MODEL_REASONING_HISTORY] = STR_INIT(history)}},                                            \
     STR_INIT(messages),                                                                           \
     tags},
#include "wire/dialect/model_family.def"
};

enum { N_FAMILIES = COUNT_OF(families) };

/* Most patterns are those of other names, which their first letter tells: a request asks for all of them. */
static bool may_begin(char first, str tail)
{
    return first == '*' || (tail.len > 0 && str_lower_char(first) == str_lower_char(tail.p[0]));
}

static bool fits_any(str patterns, str tail)
{
    const char *const end = patterns.p + patterns.len, *next;

    for (const char *p = patterns.p; p < end; p = next + 1) {
        next = memchr(p, '|', (size_t)(end - p));
        if (next == NULL)
            next = end;
        if (may_begin(*p, tail) && fits_name(str_from(p, (size_t)(next - p)), tail))
            return true;
    }
    return false;
}

/* Only models of one family write Harmony, by whatever name they go. */
static bool writes_harmony(const struct model_words *words)
{
    int mode;

    return model_setting_value(MODEL_HARMONY, words->of[MODEL_HARMONY], &mode) &&
           (mode == HARMONY_MODE_RAW_CHAT || mode == HARMONY_MODE_COMPLETIONS);
}

/* Files of models have the name of the maker in front, too: "openai_gpt-oss-20b.gguf". The first
 * row that fits any of the tails; the last fits all. */
static const struct family *find_family(str model)
{
    size_t n = N_FAMILIES - 1;
    str tail = STR_NONE;

    while (next_tail(model, "/_", &tail)) {
        for (size_t i = 0; i < n; i++) {
            if (fits_any(families[i].patterns, tail))
                n = i;
        }
    }
    return &families[n];
}

static const struct {
    str patterns, efforts;
} efforts[] = {
#define MODEL_EFFORT(patterns, efforts, source) {STR_INIT(patterns), STR_INIT(efforts)},
#include "wire/dialect/model_effort.def"
};

static str find_efforts(str model)
{
    str tail = STR_NONE;

    while (next_tail(model, "/_", &tail)) {
        for (size_t i = 0; i < COUNT_OF(efforts); i++) {
            if (fits_any(efforts[i].patterns, tail))
                return efforts[i].efforts;
        }
    }
    return STR("");
}

/* ---- all together */

static bool is_for_all(str pattern)
{
    return str_eq(pattern, STR("*"));
}

/* Takes what the lines say of the model in particular, or of all. */
static void add_lines(str model, struct name_list lines, bool of_all, struct model_words *words)
{
    for (size_t i = 0; i < lines.n; i++) {
        str line = str_from_c(lines.names[i]), pattern = str_cut(&line, ' ');

        if (is_for_all(pattern) == of_all && (of_all || fits(pattern, model, "/")))
            model_words_add(line, words);
    }
}

static struct model_words find_words(str model, struct name_list lines,
                                     const struct model_words *of_all)
{
    struct model_words words = {{{NULL, 0}}};

    add_lines(model, lines, false, &words);
    add_lines(model, lines, true, &words);
    model_words_add_all(of_all, &words);
    return words;
}

/* The first that says more than auto: the operator, what has been learnt, or the family. */
static int value_of(enum model_setting s, const struct model_words *said,
                    const struct model_words *learnt, const struct model_words *of_family)
{
    int initial, value;
    const bool is_open = model_setting_is_open(s, &initial);

    if (str_is_none(said->of[s]) && !is_open)
        return initial;
    if (model_setting_value(s, said->of[s], &value) ||
        model_setting_value(s, learnt->of[s], &value) ||
        model_setting_value(s, of_family->of[s], &value))
        return value;
    return initial;
}

/* 0: the operator has not said it. */
static int64_t number_of(enum model_number n, const struct model_words *said)
{
    int64_t value;

    return !str_is_none(said->of[n]) && model_number_value(n, said->of[n], &value) ? value : 0;
}

static str short_name(str model)
{
    return str_is_none(model) || model.len > MAX_NAME_BYTES ? STR("") : model;
}

static const struct family *family_of(str name, str other, const struct model_words *words)
{
    const struct family *f = find_family(writes_harmony(words) ? STR("gpt-oss") : name);

    other = short_name(other);
    return f == &families[N_FAMILIES - 1] && other.len > 0 ? find_family(other) : f;
}

/* The last family is that of all others, of which nothing is known. */
static bool is_known_to_think(const struct family *f)
{
    return f != &families[N_FAMILIES - 1] && !str_eq(f->words.of[MODEL_THINK_TAGS], STR("off"));
}

struct model_profile model_profile_find(str model, str other, struct name_list lines,
                                        const struct model_words *of_all,
                                        const struct model_words *learnt)
{
    static const struct model_words nothing;
    const str name = short_name(model);
    const struct model_words said = find_words(name, lines, of_all);
    const struct family *f = family_of(name, other, &said);
    struct model_words of_family = f->words;
    int values[MODEL_SETTINGS];

    model_words_add(f->messages, &of_family);
    for (int s = 0; s < MODEL_SETTINGS; s++)
        values[s] =
            value_of((enum model_setting)s, &said, learnt == NULL ? &nothing : learnt, &of_family);
    return (struct model_profile){
        .harmony = (enum harmony_mode)values[MODEL_HARMONY],
        .bare_content_type = values[MODEL_HARMONY_CONTENT_TYPE] != 0,
        .think = (enum model_think)values[MODEL_THINK_TAGS],
        .may_think = is_known_to_think(f),
        .space = (enum model_space)values[MODEL_HOLD_LEADING_SPACE],
        .text_calls = (enum text_call_format)values[MODEL_TEXT_CALLS],
        .reasoning_field = (enum chat_reasoning_field)values[MODEL_REASONING_FIELD],
        .reasoning_history = (enum chat_reasoning_history)values[MODEL_REASONING_HISTORY],
        .call_messages = (enum chat_call_messages)values[MODEL_CALL_MESSAGES],
        .short_call_ids = values[MODEL_CALL_IDS] != 0,
        .system_role = (enum chat_system_role)values[MODEL_INSTRUCTIONS_ROLE],
        .late_system_as_user = values[MODEL_LATE_SYSTEM_ROLE] != 0,
        .role_order = (enum chat_role_order)values[MODEL_ROLE_ORDER],
        .describes_all_tools = values[MODEL_TOOL_DESCRIPTIONS] != 0,
        .think_open = f->think_open,
        .think_close = f->think_close,
        .token_field = (enum chat_token_field)values[MODEL_TOKEN_FIELD],
        .tool_choice = (enum chat_tool_choice)values[MODEL_TOOL_CHOICE_SUPPORT],
        .empty_content = (enum chat_empty_content)values[MODEL_EMPTY_CONTENT],
        .thinking_switch = values[MODEL_THINKING_SWITCH] != 0,
        .asks_for_usage = values[MODEL_INCLUDE_USAGE] != 0,
        .format_after_tools = values[MODEL_SCHEMA_WITH_TOOLS] != 0,
        .images_in_tool = values[MODEL_TOOL_IMAGES] != 0,
        .images = (enum model_images)values[MODEL_IMAGE_INPUT],
        .efforts = find_efforts(writes_harmony(&said) ? STR("gpt-oss") : name),
        .context_window = number_of(MODEL_CONTEXT_WINDOW, &said),
    };
}

bool model_profile_is_same(const struct model_profile *a, const struct model_profile *b)
{
    return a->harmony == b->harmony && a->bare_content_type == b->bare_content_type &&
           a->think == b->think && a->text_calls == b->text_calls &&
           a->reasoning_field == b->reasoning_field &&
           a->reasoning_history == b->reasoning_history && a->may_think == b->may_think &&
           a->call_messages == b->call_messages && a->short_call_ids == b->short_call_ids &&
           a->system_role == b->system_role && a->late_system_as_user == b->late_system_as_user &&
           a->role_order == b->role_order && a->describes_all_tools == b->describes_all_tools &&
           str_eq(a->think_open, b->think_open) && str_eq(a->think_close, b->think_close) &&
           a->token_field == b->token_field && a->tool_choice == b->tool_choice &&
           a->empty_content == b->empty_content && a->thinking_switch == b->thinking_switch &&
           a->asks_for_usage == b->asks_for_usage &&
           a->format_after_tools == b->format_after_tools &&
           a->images_in_tool == b->images_in_tool && a->space == b->space;
}
