/* upstream_facts.h -- what has been found out about the upstream, at one time.
 *
 * Facts never change and are shared by counted references; whoever learns more makes new ones. A
 * turn keeps those it began with, so that all its rounds are asked in the same way. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_FACTS_H
#define ANTIPHON_UPSTREAM_UPSTREAM_FACTS_H

#include <stdatomic.h>

#include "upstream/upstream_list.h"
#include "wire/dialect/model_profile.h"
#include "wire/dialect/upstream_models.h"
#include "wire/dialect/upstream_sign.h"

/* Views into memory. */
struct upstream_facts {
    atomic_uint n_references;
    struct arena memory;
    struct upstream_finding finding;
    str server;     /* the Server header of its answers, STR_NONE when they have none */
    str model_path; /* the file of the model, and the name it is served by; STR_NONE: not shown */
    str model_alias;
    struct upstream_models models;
    struct upstream_list *
        list; /* of its models, a reference; NULL: it has not answered with one, or it is not kept */
    struct upstream_limits only;       /* of its only model, if it has one, by whatever name */
    struct model_words template_words; /* what the template tells of the messages it takes */
    bool knows_template_words;
    bool is_partial; /* some of what it was asked it has not answered, or not yet: a model loads */
};

/* Empty ones with one reference, to be filled by the caller; NULL when out of memory. */
struct upstream_facts *upstream_facts_new(void);

/* NULL is fine for these. Any thread. */
struct upstream_facts *upstream_facts_ref(struct upstream_facts *f);
void upstream_facts_unref(struct upstream_facts *f);

/* Another finding, and all else as it is. NULL when out of memory. */
struct upstream_facts *upstream_facts_with(const struct upstream_facts *f,
                                           const struct upstream_finding *finding);

/* The same, but for the window of a model, of which less is known to fit; of one that was not listed
 * as well, if its name is not too long and they are not too many. NULL when it cannot be kept. */
struct upstream_facts *upstream_facts_with_window(const struct upstream_facts *f, str model,
                                                  int64_t window);

/* What fits into the model that the upstream knows by this name. A server with a single model takes
 * any name for that. f: NULL while nothing is known. */
struct upstream_limits upstream_facts_limits(const struct upstream_facts *f, str model);

/* The server shows one template, that of a single model: does it serve this one? */
bool upstream_facts_template_is_of(const struct upstream_facts *f, str model);

/* Another name of the model, by which its family may be known: its path or file. STR_NONE: none. */
str upstream_facts_other_name(const struct upstream_facts *f, str model);

#endif
