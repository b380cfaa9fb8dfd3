/* path_pattern.c -- pattern and path are walked through side by side. */
#include "gateway/path_pattern.h"

#include <assert.h>

bool path_pattern_fits(str pattern, str path, struct path_ids *ret)
{
    struct path_ids ids = {{STR_NONE}};
    size_t n = 0;

    while (pattern.len > 0 && path.len > 0) {
        size_t of_pattern = 1, of_path = 1;

        if (pattern.p[0] == '{') {
            of_pattern = str_find_char(pattern, '}') + 1;
            of_path = str_find_char(path, '/');
            assert(n < PATH_MAX_IDS);
            ids.v[n++] = str_from(path.p, of_path);
        } else if (pattern.p[0] != path.p[0]) {
            return false;
        }
        if (of_path == 0)
            return false;
        pattern = str_skip(pattern, of_pattern);
        path = str_skip(path, of_path);
    }
    if (pattern.len > 0 || path.len > 0)
        return false;
    *ret = ids;
    return true;
}
