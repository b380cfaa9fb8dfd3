/* demo_example.h -- an example value for a JSON Schema, for the demo model. */
#ifndef ANTIPHON_DEMO_DEMO_EXAMPLE_H
#define ANTIPHON_DEMO_DEMO_EXAMPLE_H

#include "base/arena.h"

/* A JSON value that a simple schema accepts: every declared property, the
 * first word of an enum. "{}" when there is no schema. */
str demo_example(struct arena *a, str schema);

#endif
