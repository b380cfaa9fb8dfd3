/* config_problems.h -- what is wrong with a configuration, for the operator to read.
 *
 * An error keeps the gateway from starting, a warning does not. Each is one
 * line of valid UTF-8 without control characters, whatever the operator wrote;
 * they stand in the order of the sources: file, environment, command line, and
 * then what is wrong between keys. A zeroed struct is an empty list. */
#ifndef ANTIPHON_CONFIG_CONFIG_PROBLEMS_H
#define ANTIPHON_CONFIG_CONFIG_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

enum { CONFIG_MAX_PROBLEMS = 100 };

struct config_problem {
    bool is_warning;
    const char *text;
};

struct config_problems {
    struct config_problem kept[CONFIG_MAX_PROBLEMS]; /* the first ones */
    size_t n_kept;
    size_t n_errors, n_warnings; /* all of them */
    struct arena memory;
};

void config_problems_fini(struct config_problems *p);

/* Appends one problem; texts of more than 2 KiB are cut. p may be NULL: nobody listens. */
void config_error(struct config_problems *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void config_warning(struct config_problems *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends a line for each, and one with the counts. Nothing when the list is empty. */
void config_problems_print(const struct config_problems *p, struct buf *out);

/* What the operator wrote, in quotes and cut, to be used at once:
 *
 *     config_error(p, "unknown key %s", config_quote(name).text); */
enum { CONFIG_QUOTE_BYTES = 100 };

struct config_quote {
    char text[CONFIG_QUOTE_BYTES + sizeof("\"...\"")];
};

struct config_quote config_quote(str value);

#endif
