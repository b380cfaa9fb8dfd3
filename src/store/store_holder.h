/* store_holder.h -- the name under which a gateway holds locks. Internal to the store.
 *
 *     RANDOM.LEASE.HOST.PID.START/
 *
 * It tells the other gateways all they need to find out whether the holder lives: on the
 * same host by its process, everywhere by the milliseconds within which it gives a sign
 * of life. HOST is a hash of what makes PID mean the same process: the boot, the
 * namespaces and the name of the machine; a dash where that is unknown. START is the time
 * the process was started, since a PID is used again. Names without these parts are those
 * of earlier versions. */
#ifndef ANTIPHON_STORE_STORE_HOLDER_H
#define ANTIPHON_STORE_STORE_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { HOLDER_NAME_BYTES = 112 };

/* A name for a holder in this process, another one each time. */
void holder_name_make(uint64_t lease_ms, char name[HOLDER_NAME_BYTES]);

/* The name at the beginning of a lock, with its slash. */
str holder_name_of(str lock);

/* A holder that has given no sign of life for so long is dead. */
uint64_t holder_lease_ms(str name);

/* True when the holder is known to be dead: a process of this host that has ended. */
bool holder_is_dead(str name);

/* Reads the first bytes of a small file of the kernel's as a text; false when there are none. */
bool kernel_file_read(const char *path, char *text, size_t size);

#endif
