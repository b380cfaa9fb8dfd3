/* version.h -- the one place that knows which version this is. */
#ifndef ANTIPHON_BASE_VERSION_H
#define ANTIPHON_BASE_VERSION_H

#define ANTIPHON_VERSION "0.2.0"

/* The commit that the program was built from, or "" when nobody has said it to make. */
const char *version_commit(void);

#endif
