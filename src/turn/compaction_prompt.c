/* compaction_prompt.c -- a file that is read once. */
#include "turn/compaction_prompt.h"

#include "compact/compact_question.h"

static int take_prompt(const char *path, str text, struct arena *a, str *ret,
                       struct config_problems *problems)
{
    struct err e;

    if (compact_prompt_check(text, &e) == -1) {
        config_error(problems, "%s %s", path, e.msg);
        return -1;
    }
    *ret = arena_dup(a, text);
    if (!str_is_none(*ret))
        return 0;
    config_error(problems, "%s: out of memory", path);
    return -1;
}

int compaction_prompt_load(const struct config *c, struct arena *a, str *ret,
                           struct config_problems *problems)
{
    const char *path = c->compaction_prompt;
    struct buf text = {.limit = 0};
    int rc = -1;

    *ret = STR_NONE;
    if (path == NULL)
        return 0;
    if (config_read_file(path, &text, problems))
        rc = take_prompt(path, buf_str(&text), a, ret, problems);
    buf_fini(&text);
    return rc;
}
