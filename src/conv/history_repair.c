/* history_repair.c -- counts by kind. */
#include "conv/conversation.h"

static const struct {
    const char *name, *what;
} kinds[] = {
#define HISTORY_REPAIR(symbol, name, what) {name, what},
#include "conv/history_repair.def"
};

void history_repairs_add(struct history_repairs *r, unsigned n, enum history_repair kind)
{
    if (n == 0)
        return;
    r->n += n;
    r->of[kind] += n;
    r->last = kinds[kind].what;
}

const char *history_repair_name(enum history_repair kind)
{
    return kinds[kind].name;
}
