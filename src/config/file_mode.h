/* file_mode.h -- may others change or read a file that the operator named?
 *
 * Whoever writes the configuration, the keys or the list of MCP servers, which are
 * programs that are started, has the rights of the gateway. That is no error, since the
 * operator may mean it, but a warning with the command that ends it. Links are followed.
 * Nothing is said of what lies on a file system that is read only, as secrets of
 * containers do: nobody writes there, and its modes cannot be changed. */
#ifndef ANTIPHON_CONFIG_FILE_MODE_H
#define ANTIPHON_CONFIG_FILE_MODE_H

#include "config/config_problems.h"

/* Others may write the file, or replace it since they may write its folder. A file that is
 * not there, or no plain file, gets no warning. */
void file_mode_check_writers(const char *path, struct config_problems *problems);

/* For files of keys: all users of the machine may read it. */
void file_mode_check_readers(const char *path, struct config_problems *problems);

#endif
