/* session_names.c -- places in rows of four: a name is in the row that its hash says. */
#include "affinity/session_names.h"

#include <stddef.h>

#include "base/budget.h"

enum { WAYS = 4, ROWS = SESSION_NAMES / WAYS };

struct place {
    uint64_t session, first; /* session 0: it is free */
    uint64_t age;            /* the smaller, the longer ago it was noted */
};

struct session_names {
    uint64_t n_noted;
    struct place rows[ROWS][WAYS];
};

struct session_names *session_names_new(void)
{
    return budget_alloc(sizeof(struct session_names), sizeof(struct session_names));
}

void session_names_free(struct session_names *s)
{
    if (s != NULL)
        budget_free(s, sizeof(*s));
}

uint64_t session_names_first(const struct session_names *s, uint64_t session)
{
    const struct place *row = s == NULL ? NULL : s->rows[session % ROWS];

    for (size_t i = 0; row != NULL && i < WAYS; i++) {
        if (row[i].session == session)
            return row[i].first;
    }
    return session;
}

/* The place of the session, else the oldest of its row; free places are older than all. */
static struct place *find_place(struct place *row, uint64_t session)
{
    struct place *oldest = row;

    for (size_t i = 0; i < WAYS; i++) {
        if (row[i].session == session)
            return &row[i];
        if (row[i].age < oldest->age)
            oldest = &row[i];
    }
    return oldest;
}

void session_names_note(struct session_names *s, uint64_t next, uint64_t first)
{
    *find_place(s->rows[next % ROWS], next) =
        (struct place){.session = next, .first = first, .age = ++s->n_noted};
}
