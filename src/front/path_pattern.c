/* path_pattern.c -- pattern and path are walked through side by side. */
#include "front/path_pattern.h"

#include <assert.h>

#include "http/percent.h"

bool path_pattern_fits(str pattern, str path, struct path_ids *ret)
{
    const bool is_folder = str_ends_with(pattern, STR("*"));
    struct path_ids ids = {{STR_NONE}};
    size_t n = 0;

    pattern.len -= is_folder ? 1 : 0;
    while (pattern.len > 0 && path.len > 0) {
        if (pattern.p[0] == '{') {
            assert(n < PATH_MAX_IDS);
            ids.v[n] = str_from(path.p, str_find_char(path, '/'));
            if (ids.v[n].len == 0)
                return false;
            pattern = str_skip(pattern, str_find_char(pattern, '}') + 1);
            path = str_skip(path, ids.v[n++].len);
        } else {
            if (pattern.p[0] != path.p[0])
                return false;
            pattern = str_from(pattern.p + 1, pattern.len - 1);
            path = str_from(path.p + 1, path.len - 1);
        }
    }
    if (pattern.len > 0 || is_folder != (path.len > 0))
        return false;
    *ret = ids;
    return true;
}

bool path_ids_decode(const struct path_ids *ids, struct arena *a, str *ret)
{
    for (size_t i = 0; i < PATH_MAX_IDS; i++) {
        ret[i] = str_is_none(ids->v[i]) ? STR_NONE : percent_decode(a, ids->v[i]);
        if (str_is_none(ret[i]) && !str_is_none(ids->v[i]))
            return false;
    }
    return true;
}
