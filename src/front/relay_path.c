/* relay_path.c -- takes off what the base URL of the upstream ends in. */
#include "front/relay_path.h"

str relay_path(str path)
{
    const str version = STR("/v1");

    while (str_starts_with(path, version) && (path.len == version.len || path.p[3] == '/'))
        path = str_skip(path, version.len);
    return path;
}
