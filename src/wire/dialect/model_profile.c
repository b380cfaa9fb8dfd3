/* model_profile.c -- lines, keys, templates and families all speak in the same words; the first
 * that says something counts. */
#include "wire/dialect/model_profile.h"

#include <assert.h>

/* ---- words */

struct word {
    str word;
    int value;
};

enum { AUTO = -1, MAX_WORDS = 10 };

#define AUTO_WORD                                                                                  \
    {                                                                                              \
        STR_INIT("auto"), AUTO                                                                     \
    }

/* Ends with a word that is STR_NONE, or is full. */
static const struct setting {
    const char *name;
    struct word words[MAX_WORDS];
} settings[] = {
    [MODEL_HARMONY] = {"harmony",
                       {{STR_INIT("auto"), HARMONY_MODE_AUTO},
                        {STR_INIT("chat"), HARMONY_MODE_CHAT},
                        {STR_INIT("harmony-chat"), HARMONY_MODE_RAW_CHAT},
                        {STR_INIT("harmony-completions"), HARMONY_MODE_COMPLETIONS}}},
    [MODEL_HARMONY_CONTENT_TYPE] = {"harmony_content_type",
                                    {{STR_INIT("constrain"), false}, {STR_INIT("bare"), true}}},
    [MODEL_THINK_TAGS] = {"think_tags",
                          {AUTO_WORD,
                           {STR_INIT("off"), MODEL_THINK_OFF},
                           {STR_INIT("on"), MODEL_THINK_ON},
                           {STR_INIT("inside"), MODEL_THINK_INSIDE}}},
    [MODEL_TEXT_CALLS] = {"text_calls",
                          {AUTO_WORD,
                           {STR_INIT("off"), TEXT_CALLS_NONE},
                           {STR_INIT("hermes"), TEXT_CALLS_HERMES},
                           {STR_INIT("qwen-coder"), TEXT_CALLS_QWEN_CODER},
                           {STR_INIT("glm"), TEXT_CALLS_GLM},
                           {STR_INIT("llama3"), TEXT_CALLS_LLAMA3},
                           {STR_INIT("mistral"), TEXT_CALLS_MISTRAL},
                           {STR_INIT("deepseek"), TEXT_CALLS_DEEPSEEK},
                           {STR_INIT("kimi"), TEXT_CALLS_KIMI},
                           {STR_INIT("pythonic"), TEXT_CALLS_PYTHONIC}}},
    [MODEL_REASONING_FIELD] = {"reasoning_field",
                               {AUTO_WORD,
                                {STR_INIT("reasoning_content"), CHAT_REASONING_CONTENT},
                                {STR_INIT("reasoning"), CHAT_REASONING},
                                {STR_INIT("both"), CHAT_BOTH_REASONING_FIELDS},
                                {STR_INIT("think"), CHAT_REASONING_IN_TAGS},
                                {STR_INIT("none"), CHAT_NO_REASONING}}},
    [MODEL_REASONING_HISTORY] = {"reasoning_history",
                                 {AUTO_WORD,
                                  {STR_INIT("all"), CHAT_ALL_REASONING},
                                  {STR_INIT("open"), CHAT_OPEN_REASONING}}},
    /* Settings that no family mentions have the first word behind auto. */
    [MODEL_CALL_MESSAGES] = {"call_messages",
                             {AUTO_WORD,
                              {STR_INIT("merged"), CHAT_CALLS_MERGED},
                              {STR_INIT("single"), CHAT_CALLS_SINGLE},
                              {STR_INIT("text"), CHAT_CALLS_TEXT}}},
    [MODEL_CALL_IDS] = {"call_ids",
                        {AUTO_WORD, {STR_INIT("keep"), false}, {STR_INIT("short"), true}}},
    [MODEL_INSTRUCTIONS_ROLE] = {"instructions_role",
                                 {AUTO_WORD,
                                  {STR_INIT("system"), CHAT_SYSTEM_ROLE},
                                  {STR_INIT("developer"), CHAT_DEVELOPER_ROLE},
                                  {STR_INIT("user"), CHAT_USER_ROLE}}},
    [MODEL_LATE_SYSTEM_ROLE] = {"late_system_role",
                                {AUTO_WORD, {STR_INIT("system"), false}, {STR_INIT("user"), true}}},
    [MODEL_ROLE_ORDER] = {"role_order",
                          {AUTO_WORD,
                           {STR_INIT("any"), CHAT_ANY_ORDER},
                           {STR_INIT("user-first"), CHAT_USER_FIRST},
                           {STR_INIT("alternate"), CHAT_ALTERNATE}}},
    [MODEL_TOOL_DESCRIPTIONS] = {"tool_descriptions",
                                 {AUTO_WORD, {STR_INIT("given"), false}, {STR_INIT("all"), true}}},
};

const char *model_setting_name(enum model_setting s)
{
    return settings[s].name;
}

/* The configuration takes words in any case, so we do. */
static const struct word *find_word(enum model_setting s, str word)
{
    for (size_t i = 0; i < MAX_WORDS && !str_is_none(settings[s].words[i].word); i++) {
        if (str_eq_nocase(settings[s].words[i].word, word))
            return &settings[s].words[i];
    }
    return NULL;
}

bool model_setting_has_word(enum model_setting s, str word)
{
    return find_word(s, word) != NULL;
}

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

/* The text up to the separator, which is cut off with it. */
static str cut(str *rest, char separator)
{
    size_t n = str_find_char(*rest, separator);
    str piece = str_from(rest->p, n);

    *rest = str_skip(*rest, n < rest->len ? n + 1 : n);
    return piece;
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

static bool is_of_family(const struct family *f, str tail)
{
    str rest = f->patterns;

    while (rest.len > 0) {
        if (fits_name(cut(&rest, '|'), tail))
            return true;
    }
    return false;
}

/* Only models of one family write Harmony, by whatever name they go. */
static bool writes_harmony(const struct model_words *words)
{
    const struct word *w = find_word(MODEL_HARMONY, words->of[MODEL_HARMONY]);

    return w != NULL && (w->value == HARMONY_MODE_RAW_CHAT || w->value == HARMONY_MODE_COMPLETIONS);
}

/* Files of models have the name of the maker in front, too: "openai_gpt-oss-20b.gguf". The first
 * row that fits any of the tails; the last fits all. */
static const struct family *find_family(str model)
{
    size_t n = N_FAMILIES - 1;
    str tail = STR_NONE;

    while (next_tail(model, "/_", &tail)) {
        for (size_t i = 0; i < n; i++) {
            if (is_of_family(&families[i], tail))
                n = i;
        }
    }
    return &families[n];
}

/* ---- all together */

void model_words_add(str text, struct model_words *words)
{
    while (text.len > 0) {
        str word = cut(&text, ' '), name = cut(&word, '=');

        for (int s = 0; s < MODEL_SETTINGS; s++) {
            if (str_is_none(words->of[s]) && str_eq(name, str_from_c(settings[s].name)))
                words->of[s] = word;
        }
    }
}

static struct model_words find_words(str model, struct name_list lines,
                                     const struct model_words *defaults)
{
    struct model_words words = {{{NULL, 0}}};

    for (size_t i = 0; i < lines.n; i++) {
        str line = str_from_c(lines.names[i]), pattern = cut(&line, ' ');

        if (fits(pattern, model, "/"))
            model_words_add(line, &words);
    }
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        if (str_is_none(words.of[s]))
            words.of[s] = defaults->of[s];
    }
    return words;
}

/* The first of the sources, which end with NULL, that says more than auto. */
static int value_of(enum model_setting s, const struct model_words *const *sources)
{
    const struct word *words = settings[s].words;

    for (; *sources != NULL; sources++) {
        const struct word *w = find_word(s, (*sources)->of[s]);

        if (w != NULL && w->value != AUTO)
            return w->value;
    }
    return words[0].value != AUTO ? words[0].value : words[1].value;
}

static str short_name(str model)
{
    return str_is_none(model) || model.len > MAX_NAME_BYTES ? STR("") : model;
}

static const struct family *family_of(str name, str other, const struct model_words *words)
{
    const struct family *f = find_family(writes_harmony(words) ? STR("gpt-oss") : name);

    return f == &families[N_FAMILIES - 1] ? find_family(short_name(other)) : f;
}

/* The last family is that of all others, of which nothing is known. */
static bool is_known_to_think(const struct family *f)
{
    return f != &families[N_FAMILIES - 1] && !str_eq(f->words.of[MODEL_THINK_TAGS], STR("off"));
}

struct model_profile model_profile_find(str model, struct name_list lines,
                                        const struct model_words *defaults,
                                        const struct model_words *learnt)
{
    return model_profile_find_as(model, STR_NONE, lines, defaults, learnt);
}

struct model_profile model_profile_find_as(str model, str other, struct name_list lines,
                                           const struct model_words *defaults,
                                           const struct model_words *learnt)
{
    static const struct model_words nothing;
    const str name = short_name(model);
    const struct model_words words = find_words(name, lines, defaults);
    const struct family *f = family_of(name, other, &words);
    struct model_words of_family = f->words;
    const struct model_words *const sources[] = {&words, learnt == NULL ? &nothing : learnt,
                                                 &of_family, NULL};
    int values[MODEL_SETTINGS];

    model_words_add(f->messages, &of_family);
    for (int s = 0; s < MODEL_SETTINGS; s++)
        values[s] = value_of((enum model_setting)s, sources);
    return (struct model_profile){
        .harmony = (enum harmony_mode)values[MODEL_HARMONY],
        .bare_content_type = values[MODEL_HARMONY_CONTENT_TYPE] != 0,
        .think = (enum model_think)values[MODEL_THINK_TAGS],
        .may_think = is_known_to_think(f),
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
    };
}
