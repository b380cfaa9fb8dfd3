/* test.h -- cmocka with what it needs before it, and comparisons of str. */
#ifndef ANTIPHON_TESTS_LIB_TEST_H
#define ANTIPHON_TESTS_LIB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"

/* got is this text, byte by byte; a failure shows both. */
static inline void check_str_eq(str got, str expected, const char *file, int line)
{
    if (str_eq(got, expected))
        return;
    print_error("     got \"%.*s\"\nexpected \"%.*s\"\n", STR_ARG(got), STR_ARG(expected));
    _fail(file, line);
}

#define assert_str_eq(got, expected) check_str_eq(got, expected, __FILE__, __LINE__)
#define assert_str_c(got, expected)  assert_str_eq(got, str_from_c(expected))

#endif
