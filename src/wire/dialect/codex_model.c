/* codex_model.c -- every member that Codex wants, or that changes what it does. */
#include "wire/dialect/codex_model.h"

/* ---- numbers */

/* Output of one tool that Codex keeps: so much of the window, and never more. */
enum { KEPT_OUTPUT_PART = 8, MOST_KEPT_OUTPUT = 10000 };

/* Codex compacts at this many percent of the window, so that the summary still fits; it uses no more
 * than so many of it. */
enum { COMPACT_PERCENT = 80, USED_PERCENT = 95 };

static int64_t kept_output(int64_t window)
{
    return window == 0 || window / KEPT_OUTPUT_PART > MOST_KEPT_OUTPUT ? MOST_KEPT_OUTPUT
                                                                       : window / KEPT_OUTPUT_PART;
}

/* A window that is not known is left out: Codex assumes one then. */
static void write_window(int64_t window, struct jw *w)
{
    const int64_t limit = window / 100 * COMPACT_PERCENT + window % 100 * COMPACT_PERCENT / 100;

    jw_key(w, "truncation_policy");
    jw_object(w);
    jw_key_string(w, "mode", STR("tokens"));
    jw_key_int(w, "limit", kept_output(window));
    jw_object_end(w);
    if (window > 0) {
        jw_key_int(w, "context_window", window);
        jw_key_int(w, "max_context_window", window);
        jw_key_int(w, "auto_compact_token_limit", limit > 0 ? limit : 1);
    }
    jw_key_int(w, "effective_context_window_percent", USED_PERCENT);
}

/* ---- reasoning */

static const struct {
    str effort, description;
} levels[] = {
    {STR_INIT("none"), STR_INIT("No reasoning")},
    {STR_INIT("minimal"), STR_INIT("As little reasoning as the model can")},
    {STR_INIT("low"), STR_INIT("Little reasoning, quick answers")},
    {STR_INIT("medium"), STR_INIT("As much reasoning as most tasks need")},
    {STR_INIT("high"), STR_INIT("Much reasoning, for hard problems")},
    {STR_INIT("xhigh"), STR_INIT("More reasoning still, for the hardest")},
    {STR_INIT("max"), STR_INIT("All the reasoning there is")},
};

static void write_efforts(str efforts, struct jw *w)
{
    jw_key(w, "supported_reasoning_levels");
    jw_array(w);
    while (efforts.len > 0) {
        const str effort = str_cut(&efforts, '|');

        for (size_t i = 0; i < COUNT_OF(levels); i++) {
            if (!str_eq(levels[i].effort, effort))
                continue;
            jw_object(w);
            jw_key_string(w, "effort", effort);
            jw_key_string(w, "description", levels[i].description);
            jw_object_end(w);
        }
    }
    jw_array_end(w);
}

/* ---- the entry */

static void write_names(str name, size_t priority, struct jw *w)
{
    jw_key_string(w, "slug", name);
    jw_key_string(w, "display_name", name);
    jw_key_string(w, "description", STR_NONE);
    jw_key_string(w, "visibility", STR("list"));
    jw_key_bool(w, "supported_in_api", true);
    jw_key_int(w, "priority", (int64_t)priority);
    jw_key_string(w, "base_instructions", str_from_c(codex_model_instructions));
}

static void write_reasoning(str efforts, struct jw *w)
{
    jw_key_string(w, "default_reasoning_level", STR_NONE);
    write_efforts(efforts, w);
    jw_key_bool(w, "supports_reasoning_summaries", true);
    jw_key_string(w, "default_reasoning_summary", STR("auto"));
    jw_key_bool(w, "support_verbosity", false);
    jw_key_string(w, "default_verbosity", STR_NONE);
}

static void write_tools(struct jw *w)
{
    jw_key_string(w, "shell_type", STR("shell_command"));
    jw_key_string(w, "apply_patch_tool_type", STR("freeform")); /* it takes no other word */
    jw_key_string(w, "web_search_tool_type", STR("text"));
    jw_key_bool(w, "supports_parallel_tool_calls", true);
    jw_key(w, "experimental_supported_tools");
    jw_array(w);
    jw_array_end(w);
    jw_key_bool(w, "supports_search_tool", false);
    jw_key_string(w, "tool_mode", STR_NONE);
    jw_key_string(w, "multi_agent_version", STR_NONE);
}

void codex_model_write(str name, const struct model_view *known, size_t priority, struct jw *w)
{
    jw_object(w);
    write_names(name, priority, w);
    write_reasoning(known->efforts, w);
    write_tools(w);
    write_window(known->at_most, w);
    jw_key(w, "input_modalities");
    jw_array(w);
    jw_string(w, STR("text"));
    if (known->takes_images)
        jw_string(w, STR("image"));
    jw_array_end(w);
    jw_key_bool(w, "supports_image_detail_original", false);
    jw_key_bool(w, "use_responses_lite", false);
    jw_object_end(w);
}
