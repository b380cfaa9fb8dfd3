/* version.c -- what `make` knows of the source that it builds. */
#include "base/version.h"

#ifndef ANTIPHON_COMMIT
#define ANTIPHON_COMMIT ""
#endif

const char *version_commit(void)
{
    return ANTIPHON_COMMIT;
}
