/* header.c -- what a header field may be made of. */
#include "base/header.h"

bool header_is_name(str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!header_is_name_char(name.p[i]))
            return false;
    }
    return name.len > 0;
}

bool header_is_value(str value)
{
    for (size_t i = 0; i < value.len; i++) {
        if ((value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] > '~')
            return false;
    }
    return true;
}
