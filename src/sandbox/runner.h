/* runner.h -- the Python program that runs inside a sandbox; see runner.py and PROTOCOL.md. */
#ifndef ANTIPHON_SANDBOX_RUNNER_H
#define ANTIPHON_SANDBOX_RUNNER_H

/* The source of runner.py: ASCII, ends with a NUL, never changes. */
extern const char sandbox_runner[];

#endif
