/* doctor_upstream.h -- which upstream of several `antiphon doctor` looks at. */
#ifndef ANTIPHON_CLI_DOCTOR_UPSTREAM_H
#define ANTIPHON_CLI_DOCTOR_UPSTREAM_H

#include "cli/doctor_visit.h"
#include "config/config.h"

/* Makes of a configuration with upstreams_file that of a gateway with the upstream of this name alone, its key
 * included; *ret_certificate is the one that this is shown, in texts of that configuration. name may be NULL when
 * there is only one. What is wrong is added to the problems; then the configuration stays as it is. Blocks. */
void doctor_upstream_choose(struct config *config, const char *name,
                            struct doctor_certificate *ret_certificate,
                            struct config_problems *problems);

#endif
