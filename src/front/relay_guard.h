/* relay_guard.h -- which paths are never passed on, whatever `relay` says, and which are not passed on
 * to everybody. */
#ifndef ANTIPHON_FRONT_RELAY_GUARD_H
#define ANTIPHON_FRONT_RELAY_GUARD_H

#include "base/str.h"

/* May a path be passed to the upstream? Not one in a folder of ours (OWN_FOLDER), nor one that leads elsewhere
 * there. Pure. */
bool relay_guard_passes(str path);

/* Does a path lead to the upstream's models, as a server may read it? Pure. */
bool relay_guard_is_models(str path);

#endif
