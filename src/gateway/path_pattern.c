/* path_pattern.c -- pattern and path are walked through side by side. */
#include "gateway/path_pattern.h"

#include <assert.h>

bool path_pattern_fits(str pattern, str path, struct path_ids *ret)
{
    struct path_ids ids = {{STR_NONE}};
    size_t n = 0, i = 0, k = 0;

    while (i < pattern.len && k < path.len && pattern.p[i] != '*') {
        if (pattern.p[i] == '{') {
            str id = str_skip(path, k);

            id.len = str_find_char(id, '/');
            if (id.len == 0)
                return false;
            assert(n < PATH_MAX_IDS);
            ids.v[n++] = id;
            i += str_find_char(str_skip(pattern, i), '}') + 1;
            k += id.len;
        } else if (pattern.p[i++] != path.p[k++]) {
            return false;
        }
    }
    if (k < path.len ? !str_eq(str_skip(pattern, i), STR("*")) : i < pattern.len)
        return false;
    *ret = ids;
    return true;
}
