/* version.h -- the one place that knows which version this is. */
#ifndef ANTIPHON_BASE_VERSION_H
#define ANTIPHON_BASE_VERSION_H

#define ANTIPHON_VERSION "0.1.0"

#endif
