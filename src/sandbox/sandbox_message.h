/* sandbox_message.h -- the lines that the gateway and a sandbox exchange (PROTOCOL.md).
 *
 * What comes out of a sandbox is a stranger's, even when it looks like the runner's: code that runs
 * there can write what it likes. What has not the shape of an answer is refused as a whole; an
 * image or a file that cannot be used is left out. Pure: bytes in, bytes out. Any thread. */
#ifndef ANTIPHON_SANDBOX_SANDBOX_MESSAGE_H
#define ANTIPHON_SANDBOX_SANDBOX_MESSAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json_read.h"
#include "sandbox/sandbox.h"

/* Limits that PROTOCOL.md promises. */
enum {
    SANDBOX_MAX_IMAGES = 10,
    SANDBOX_MAX_FILES = 1000,
    SANDBOX_PATH_BYTES = 512, /* of a file below the work directory */
};

struct sandbox_limits {
    size_t output_bytes; /* printed, and of the value; one that is no UTF-8 is three of text */
    size_t image_bytes;  /* of one image; 0: there are none */
    size_t file_bytes;   /* of a file that is read */
};

/* The longest line that nobody has asked for: that the runner is ready. */
enum { SANDBOX_UNASKED_BYTES = 1 << 10 };

/* The longest line of an answer. */
size_t sandbox_answer_bytes(enum sandbox_op op, const struct sandbox_limits *limits);

/* ---- what is said, each without line end */

/* The argument of the runner. */
struct sandbox_arguments {
    size_t memory_bytes; /* of a process; 0: counted elsewhere */
    unsigned processes;
    size_t file_bytes; /* that a process may write */
    size_t output_bytes, image_bytes;
    const char *egress_socket; /* or NULL */
};
void sandbox_write_arguments(const struct sandbox_arguments *arguments, struct buf *out);

void sandbox_write_run(uint64_t id, str code, struct buf *out);
void sandbox_write_files(uint64_t id, struct buf *out);
void sandbox_write_read(uint64_t id, str path, size_t max_bytes, struct buf *out);
void sandbox_write_interrupt(struct buf *out);

/* ---- what is heard */

/* Views into the line; texts are escaped, and STR_NONE when there is none. */
struct sandbox_message {
    uint64_t id; /* 0: it is no answer but says that the runner is ready */
    str python;  /* of ready: the version */
    str logs, value, error, base64;
    enum jr_type raised;
    str images, files; /* raw */
};

/* Reads a line. Returns 0, or -1 when it is no message. */
int sandbox_message_read(str line, struct sandbox_message *ret);

/* Read answers: fill *ret but for failure and message, with texts in the arena. Return 0, or -1
 * when m is no answer to such a question, or no memory is left. */
int sandbox_read_run(const struct sandbox_message *m, const struct sandbox_limits *limits,
                     str container_id, struct arena *a, struct sandbox_outcome *ret);
int sandbox_read_files(const struct sandbox_message *m, str container_id, struct arena *a,
                       struct sandbox_outcome *ret);
/* Reads the content of a file likewise, and sets failure as well. */
int sandbox_read_content(const struct sandbox_message *m, const struct sandbox_limits *limits,
                         struct arena *a, struct sandbox_outcome *ret);

/* ---- files */

/* True when path may be that of a file below the work directory: plain, relative, without "..",
 * empty or "." parts and control characters. */
bool sandbox_path_is_fine(str path);

/* The path of a file of an outcome as the runner knows it. */
str sandbox_path_relative(str absolute);

/* The id of a file: "cfile_" and a part of the SHA-256 of both, so that nobody has to remember it.
 * STR_NONE when out of memory. */
str sandbox_file_id(str container_id, str path, struct arena *a);

#endif
