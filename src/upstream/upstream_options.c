/* upstream_options.c -- keys of the configuration, and what is known of the model and its server. */
#include "upstream/upstream_options.h"

#include <time.h>

#include "ev/loop.h"
#include "json/json_text.h"

static struct name_list names_of(const struct config_list *l)
{
    static const char *const nothing[] = {NULL}; /* an empty list, not the default one */

    return (struct name_list){l->n == 0 ? nothing : l->items, l->n};
}

struct name_list upstream_model_aliases(const struct config *c)
{
    return names_of(&c->model_alias);
}

/* ---- the kind */

const struct upstream_profile *upstream_kind_profile(const struct config *c,
                                                     const struct upstream_facts *facts)
{
    enum upstream_kind kind = facts == NULL ? UPSTREAM_GENERIC : facts->finding.kind;

    (void)upstream_kind_find(str_from_c(c->upstream_kind), &kind);
    return upstream_profile(kind);
}

/* ---- requests */

struct responses_request_options upstream_request_options(const struct config *c,
                                                          const struct upstream_facts *facts)
{
    static const enum unknown_fields unknown[] = {
        [CONFIG_UNKNOWN_FIELDS_IGNORE] = UNKNOWN_FIELDS_IGNORE,
        [CONFIG_UNKNOWN_FIELDS_REJECT] = UNKNOWN_FIELDS_REJECT,
        [CONFIG_UNKNOWN_FIELDS_FORWARD] = UNKNOWN_FIELDS_FORWARD,
    };

    return (struct responses_request_options){
        .default_model = str_from_c(c->model),
        .extra = {.unknown = unknown[c->unknown_fields],
                  .pass = names_of(&c->pass_fields),
                  .known = upstream_kind_profile(c, facts)->fields,
                  .names_left_out = c->log_level == CONFIG_LOG_LEVEL_DEBUG},
        .input = {.text_files = c->text_files,
                  .reasoning_from_summary = c->reasoning_from_summary,
                  .ignore_unknown_items = c->unknown_items == CONFIG_UNKNOWN_ITEMS_IGNORE},
        .tools.reject_unserved = c->unsupported_tools == CONFIG_UNSUPPORTED_TOOLS_REJECT,
    };
}

/* A model without a name of its own, and one whose look-up finds no memory,
 * goes by the name the client used. */
static str model(const struct config *c, const struct responses_request *r, struct arena *a)
{
    str name = c->model_alias.n == 0 ? STR_NONE : json_text_dup(a, r->model);

    return str_is_none(name) ? STR_NONE : model_alias_find(names_of(&c->model_alias), name);
}

/* What its server takes comes before what its template wants: that never gets to see more. */
static struct model_words learnt_words(const struct upstream_profile *kind,
                                       const struct upstream_facts *facts, str model)
{
    struct model_words words = {{{NULL, 0}}};

    model_words_add(kind->words, &words);
    if (facts != NULL && facts->knows_template_words && upstream_facts_template_is_of(facts, model))
        model_words_add_all(&facts->template_words, &words);
    return words;
}

struct model_profile upstream_named_profile(const struct config *c,
                                            const struct upstream_facts *facts, str model)
{
    const struct model_words learnt = learnt_words(upstream_kind_profile(c, facts), facts, model);
    const str other = facts == NULL ? STR_NONE : upstream_facts_other_name(facts, model);
    struct model_words of_all = {{{NULL, 0}}};

    for (int s = 0; s < MODEL_SETTINGS; s++)
        of_all.of[s] = str_from_c(c->of_all_models[s]);
    return model_profile_find(model, other, names_of(&c->model_settings), &of_all, &learnt);
}

str upstream_name_of(const struct config *c, str model)
{
    const str upstream_name = model_alias_find(names_of(&c->model_alias), model);

    return str_is_none(upstream_name) ? model : upstream_name;
}

str upstream_model_name(const struct config *c, const struct responses_request *r, struct arena *a)
{
    return upstream_name_of(c, json_text_dup(a, r->model));
}

struct model_profile upstream_model_profile(const struct config *c,
                                            const struct upstream_facts *facts,
                                            const struct responses_request *r, struct arena *a)
{
    return upstream_named_profile(c, facts, upstream_model_name(c, r, a));
}

struct chat_request_options upstream_chat_options(const struct config *c,
                                                  const struct upstream_facts *facts,
                                                  const struct responses_request *r,
                                                  const struct model_profile *p, struct arena *a)
{
    const struct upstream_profile *kind = upstream_kind_profile(c, facts);

    return (struct chat_request_options){
        .model = model(c, r, a),
        .is_openai = upstream_has(kind, UPSTREAM_IS_OPENAI),
        .token_field = p->token_field,
        .reasoning_field = p->reasoning_field,
        .reasoning_history = p->reasoning_history,
        .think_open = p->think_open,
        .think_close = p->think_close,
        .call_messages = p->call_messages,
        .tool_choice = p->tool_choice,
        .empty_content = p->empty_content,
        .system_role = p->system_role,
        .late_system_as_user = p->late_system_as_user,
        .role_order = p->role_order,
        .images_in_tool = p->images_in_tool,
        .thinking_switch = p->thinking_switch,
        .omit_usage = !p->asks_for_usage,
        .continuation = kind->continuation,
        .keep_markers = p->harmony == HARMONY_MODE_RAW_CHAT,
        .format_after_tools = p->format_after_tools,
        .object_schema = upstream_has(kind, UPSTREAM_OBJECT_SCHEMA),
        .describes_all_tools = p->describes_all_tools,
        .short_call_ids = p->short_call_ids,
    };
}

/* The template that opens the tag for a model does not if it is told not to think. */
static enum model_think think_mode(const struct responses_request *r, const struct model_profile *p)
{
    if (p->think == MODEL_THINK_INSIDE && p->thinking_switch &&
        json_text_eq(r->reasoning.effort, STR("none")))
        return MODEL_THINK_ON;
    return p->think;
}

/* Models that think write empty lines between that and a call, whether the server takes the
 * thoughts away or the gateway. */
static enum chat_space_mode space_mode(const struct model_profile *p)
{
    if (p->space == MODEL_SPACE_KEPT)
        return CHAT_SPACE_KEPT;
    if (p->space == MODEL_SPACE_HELD || p->may_think || p->think != MODEL_THINK_OFF)
        return CHAT_SPACE_HELD;
    return CHAT_SPACE_HELD_AFTER_REASONING;
}

struct chat_stream_conf upstream_stream_conf(const struct config *c,
                                             const struct responses_request *r,
                                             const struct model_profile *p)
{
    static const enum model_harmony harmony[] = {
        [HARMONY_MODE_AUTO] = MODEL_HARMONY_AUTO,
        [HARMONY_MODE_CHAT] = MODEL_HARMONY_OFF,
        [HARMONY_MODE_RAW_CHAT] = MODEL_HARMONY_ON,
        [HARMONY_MODE_COMPLETIONS] = MODEL_HARMONY_ON,
    };

    return (struct chat_stream_conf){
        .text = {.harmony = harmony[p->harmony],
                 .think = think_mode(r, p),
                 .calls = p->text_calls,
                 .tools = &r->tools,
                 .max_held_bytes = c->max_response_bytes},
        .wants_logprobs = r->include_logprobs || r->top_logprobs > 0,
        .space = space_mode(p),
        .max_event_bytes = c->max_line_bytes,
    };
}

/* Today in UTC, which everybody with the same model has at the same time. */
static str today(struct arena *a)
{
    char text[sizeof("2026-01-31")];
    const time_t now = clock_unix_s();
    struct tm day;

    if (gmtime_r(&now, &day) == NULL || strftime(text, sizeof(text), "%Y-%m-%d", &day) == 0)
        return STR("");
    return arena_dup(a, str_from_c(text));
}

struct harmony_options upstream_harmony_options(const struct config *c,
                                                const struct model_profile *p, struct arena *a)
{
    const char *date = c->harmony_date;
    struct harmony_options options = {.date = STR(""),
                                      .bare_content_type = p->bare_content_type,
                                      .max_tokens = c->harmony_max_tokens};

    if (strcmp(date, "today") == 0)
        options.date = today(a);
    else if (strcmp(date, "none") != 0)
        options.date = str_from_c(date);
    return options;
}
