/* doctor_setting.h -- is a setting that a finding proposes what the gateway does anyway? */
#ifndef ANTIPHON_CLI_DOCTOR_SETTING_H
#define ANTIPHON_CLI_DOCTOR_SETTING_H

#include "cli/doctor_judge.h"
#include "config/config.h"
#include "upstream/upstream_facts.h"

/* Who is looked at. */
struct doctor_subject {
    const struct config *config;
    const struct upstream_facts *facts; /* NULL: nothing is known */
    str model;                          /* as the upstream knows it, plain */
};

/* Appends NAME=WORD, the detail in the place of *. Nothing when the finding proposes nothing. */
void doctor_setting_write(const struct doctor_finding *f, struct buf *out);

/* True for a setting of models, false for a key of the configuration. */
bool doctor_setting_is_of_model(str setting);

/* The pattern of a line of model_settings for the model: its name, or * when that cannot stand there. */
str doctor_setting_pattern(str model);

/* True when the finding proposes something, and the gateway does not do so by itself. */
bool doctor_setting_is_needed(const struct doctor_finding *f, const struct doctor_subject *s);

/* The status of a finding: what is set already is OK. */
enum doctor_status doctor_setting_status(const struct doctor_finding *f,
                                         const struct doctor_subject *s);

#endif
