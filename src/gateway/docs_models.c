/* docs_models.c -- the page about families of models: prose, and model_family.def. */
#include "gateway/docs.h"

#include "base/str.h"

static const char introduction[] =
    "# Models\n"
    "\n"
    "Models differ in what they want to hear of their earlier reasoning, in the messages that their\n"
    "chat templates take, and in what they write when their server does not take it apart. The\n"
    "gateway knows what follows by the name of a model, as the upstream knows it: behind the aliases\n"
    "of `--model-alias`, in any case, also with a path in front (`openai/gpt-oss-20b`) or the maker of\n"
    "a file (`openai_gpt-oss-20b.gguf`). In a pattern `*` stands for anything, and the first row that\n"
    "fits counts.\n"
    "\n"
    "Made from src/gateway/docs_models.c and src/wire/model_family.def by `make docs`.\n"
    "\n"
    "## What counts\n"
    "\n"
    "1. A line of `--model-settings` that fits the name, for what it says:\n"
    "\n"
    "       antiphon serve --model-settings 'qwen3* think_tags=auto text_calls=hermes' \\\n"
    "           --model-settings 'my-finetune reasoning_history=open'\n"
    "\n"
    "2. The key of that name, for all models: `--reasoning-field both`.\n"
    "3. Where that is `auto`, what the kind of the server refuses ([upstreams.md](upstreams.md)), then\n"
    "   the model's chat template, if the server shows it, for what can be read off it: the words with\n"
    "   which it refuses a conversation, for example.\n"
    "4. Else the table. A model that is said to write Harmony (`harmony-chat`,\n"
    "   `harmony-completions`) is in the row of gpt-oss, whatever its name.\n"
    "\n"
    "`think_tags` and `text_calls` are `off` unless configured: most servers do that work, and text\n"
    "that only looks like it must stay text. With `auto` they are what the table says. `harmony` is\n"
    "found out from the answer, whatever the model is called.\n"
    "\n"
    "`antiphon serve --check-config` names every mistake in a line.\n"
    "\n"
    "## Reasoning that goes back\n"
    "\n"
    "* `reasoning_field` is where: in the field `reasoning_content`, in `reasoning`, in `both`, as text\n"
    "  in front of the content (`think`), or nowhere (`none`).\n"
    "* `reasoning_history` is which: `all`, or `open`, that of the tool calls since the model's last\n"
    "  answer.\n"
    "\n"
    "The text itself is the content of reasoning items, else what `encrypted_content` holds, else what\n"
    "the gateway remembers of the call (`--reasoning-cache`), else, with `--reasoning-from-summary`,\n"
    "the summary.\n"
    "\n"
    "## Messages that a chat template takes\n"
    "\n"
    "A chat template that refuses a conversation refuses it for ever. What is not said here is\n"
    "`merged`, `keep`, `system`, `any` and `given`.\n"
    "\n"
    "* `call_messages` is how parallel calls stand in messages: `merged` in one; `single`, one in each,\n"
    "  with its output behind it, where text beside the reasoning of a call is left out; or `text`, as\n"
    "  text of the assistant, and what came back as text of the user, for templates that know no tools.\n"
    "* `call_ids` are kept, or `short`: nine letters and digits, always the same for an id.\n"
    "* `instructions_role` is that of instructions and system messages: `system`, `developer`, or\n"
    "  `user`, where they stand in front of what the user says first.\n"
    "* `late_system_role` is that of system messages behind the first other message.\n"
    "* `role_order` is `any`; `user-first`, where the assistant does not begin; or `alternate`: neighbouring user messages become one, and messages that\n"
    "  say that there was none stand where the user or the assistant was left out.\n"
    "* `tool_descriptions` are those that are `given`, or there for `all` tools and arguments, empty\n"
    "  where the request has none.\n"
    "\n"
    "Calls that were cut off, or whose arguments are no JSON object, are mended for every model: one\n"
    "without an output is left out, one with an output has the arguments `{}`, and its output says why.\n"
    "\n"
    "## Text that is taken apart\n"
    "\n"
    "* `think_tags` is how reasoning stands in the text: behind an opening tag (`on`), or from the\n"
    "  start, since the chat template has opened the tag (`inside`). A model that is told not to think\n"
    "  by other means than `--thinking-switch` needs `on`.\n"
    "* `text_calls` is the form of tool calls in the text.\n"
    "* `harmony` is who reads the format of gpt-oss, and who writes its prompts: see\n"
    "  [config.md](config.md#harmony).\n"
    "\n"
    "## Families\n"
    "\n"
    "| Model | `reasoning_field` | `reasoning_history` | `think_tags` | `text_calls` | Messages | "
    "Tags | Why |\n"
    "|---|---|---|---|---|---|---|---|\n";

#define THINK_LINES "`<think>`"
#define THINK_MARKS "`[THINK]`"

static const struct {
    const char *patterns, *think, *calls, *field, *history, *messages, *tags, *source;
} rows[] = {
#define FAMILY(patterns, think, calls, field, history, messages, tags, source)                     \
    {patterns, think, calls, field, history, messages, tags, source},
#include "wire/model_family.def"
};

static void write_patterns(const char *patterns, struct buf *out)
{
    buf_c(out, "| `");
    for (const char *p = patterns; *p != '\0'; p++) {
        if (*p == '|')
            buf_c(out, "`, `");
        else
            buf_char(out, *p);
    }
    buf_char(out, '`');
}

static void write_cell(const char *text, struct buf *out)
{
    buf_c(out, " | ");
    buf_c(out, text);
}

void docs_models(struct buf *out)
{
    buf_c(out, introduction);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        write_patterns(rows[i].patterns, out);
        write_cell(rows[i].field, out);
        write_cell(rows[i].history, out);
        write_cell(rows[i].think, out);
        write_cell(rows[i].calls, out);
        write_cell(rows[i].messages, out);
        write_cell(rows[i].tags, out);
        write_cell(rows[i].source, out);
        buf_c(out, " |\n");
    }
}
