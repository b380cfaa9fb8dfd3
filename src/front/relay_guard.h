/* relay_guard.h -- which paths are never passed on, whatever `relay` says. */
#ifndef ANTIPHON_FRONT_RELAY_GUARD_H
#define ANTIPHON_FRONT_RELAY_GUARD_H

#include "base/str.h"

/* May a path be passed to the upstream? Not one in a folder of ours (OWN_FOLDER), nor one that leads elsewhere
 * there. Pure. */
bool relay_guard_passes(str path);

#endif
