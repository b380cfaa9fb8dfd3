/* doctor_write.h -- a line of model_settings put into a configuration file, whose comments stay. */
#ifndef ANTIPHON_CLI_DOCTOR_WRITE_H
#define ANTIPHON_CLI_DOCTOR_WRITE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the text of the file with the line in front of those of its model_settings. text: "" for a file
 * that is not there yet. False when it is no object, or its model_settings is no list. Pure. */
bool doctor_write_line(str text, str line, struct buf *out);

/* Puts the line into a file, of which a copy stays beside it with .bak behind the name; one that is not
 * there is made. Returns 0, or -1 with *reterr filled and the file as it was. */
int doctor_write_file(const char *path, str line, struct err *reterr);

#endif
