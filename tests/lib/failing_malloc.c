/* failing_malloc.c -- the allocator between our files and that of the C library (see the
 * Makefile's WRAPPED): the linker turns their malloc() into __wrap_malloc(), and __real_malloc()
 * into malloc(), which may be a sanitizer's. */
#include "lib/failing_malloc.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local enum { NEVER, ARMED, FAILED_ONCE, FAILING } failing;
static _Thread_local enum failing_malloc mode;
static _Thread_local long n_left;
static _Thread_local size_t n_bytes;

void failing_malloc_begin(long n, enum failing_malloc how)
{
    failing = ARMED;
    mode = how;
    n_left = n;
}

bool failing_malloc_end(void)
{
    const bool has_failed = failing > ARMED;

    failing = NEVER;
    return has_failed;
}

size_t failing_malloc_bytes(void)
{
    return n_bytes;
}

static bool must_fail(size_t n)
{
    n_bytes += n;
    if (failing == ARMED && n_left-- == 0) {
        failing = mode == FAILS_ONCE ? FAILED_ONCE : FAILING;
        return true;
    }
    return failing == FAILING;
}

/* ---- what is called in place of the C library's */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
    return must_fail(n) ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return must_fail(n) ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return must_fail(strlen(s) + 1) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return must_fail(strnlen(s, n) + 1) ? NULL : __real_strndup(s, n);
}

void *sure_malloc(size_t n)
{
    void *p = __real_calloc(1, n);

    if (p == NULL)
        abort();
    return p;
}
