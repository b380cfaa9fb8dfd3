/* runner.c -- runner.py as a string, so that the gateway is one file.
 *
 * The assembler reads it: C has no way to include a file as data. The path counts from the
 * directory that make runs in. */
#include "sandbox/runner.h"

__asm__(".pushsection .rodata\n"
        ".global sandbox_runner\n"
        ".type sandbox_runner, %object\n"
        "sandbox_runner:\n"
        ".incbin \"src/sandbox/runner.py\"\n"
        ".byte 0\n"
        ".size sandbox_runner, . - sandbox_runner\n"
        ".popsection\n");
