/* request_configuration.c -- configuration_update items: effort and format that hold from there on.
 *
 * Each of the two is that of the last item that has it. The items of `input` are read first, when the
 * request is; those of the history, which are older, later, and only fill in what is still open. */
#include "wire/request/request_fields.h"

static const struct path input_at = {.member = STR_INIT("input")};

static int read_update(const struct item *it, struct request_fields *ret, struct err *reterr)
{
    const struct path at = path_index(&input_at, it->index);
    struct request_fields in = {.text = it->text, .reasoning = it->reasoning};

    if (request_read_answer(&in, &at, reterr) == -1 ||
        request_require_format(&in, &at, reterr) == -1 ||
        request_check_answer(&in, &at, reterr) == -1)
        return -1;
    *ret = in;
    return 0;
}

/* What a later update says takes the place of what an earlier one has said. */
static void add_update(struct request_fields *all, const struct request_fields *update)
{
    if (!str_is_none(update->r.reasoning.effort))
        all->r.reasoning.effort = update->r.reasoning.effort;
    if (!str_is_none(update->r.format.type))
        all->r.format = update->r.format;
    if (!str_is_none(update->r.verbosity))
        all->r.verbosity = update->r.verbosity;
}

static void apply_updates(const struct request_fields *all, struct responses_request *r)
{
    if (str_is_none(r->reasoning.effort))
        r->reasoning.effort = all->r.reasoning.effort;
    if (str_is_none(r->format.type))
        r->format = all->r.format;
    if (str_is_none(r->verbosity))
        r->verbosity = all->r.verbosity;
}

int request_configure(struct responses_request *r, struct err *reterr)
{
    struct request_fields all = {0};
    struct err stored;
    size_t n = 0;

    for (const struct item *it = r->items.first; it != NULL; it = it->next) {
        const bool is_history = n++ < r->n_before;
        struct request_fields update;

        if (it->kind != ITEM_CONFIGURATION)
            continue;
        if (read_update(it, &update, is_history ? &stored : reterr) == 0)
            add_update(&all, &update);
        else if (!is_history)
            return -1;
    }
    apply_updates(&all, r);
    return 0;
}
