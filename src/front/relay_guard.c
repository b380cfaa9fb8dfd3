/* relay_guard.c -- a path as a server may read it: decoded, with slashes that count as one, with segments that
 * lead up. */
#include "front/relay_guard.h"

#include "front/relay_path.h"
#include "http/percent.h"

static const str own_folders[] = {
#define OWN_FOLDER(path) STR_INIT(path),
#include "front/endpoints.def"
};

/* Takes the next character off a path, percent-decoded, since a server may do the
 * same. */
static char next_char(str *path)
{
    int byte = percent_byte(*path);
    char c = byte >= 0 ? (char)byte : path->p[0];

    *path = str_skip(*path, byte >= 0 ? 3 : 1);
    return c == '\\' ? '/' : c;
}

/* Is a segment of the path "." or ".."? Such a path leads elsewhere at the
 * upstream, where it would be asked for with the gateway's key. Java's servers
 * leave out what stands behind a semicolon before they look. */
static bool climbs(str path)
{
    size_t n_dots = 0;
    bool only_dots = true;

    while (path.len > 0) {
        char c = next_char(&path);

        if ((c == '/' || c == ';') && only_dots && n_dots > 0)
            return true;
        only_dots = c == '/' || (only_dots && c == '.' && n_dots < 2);
        n_dots = c == '.' ? n_dots + 1 : 0;
    }
    return only_dots && n_dots > 0;
}

/* Is the path the folder or below it, as a server may read it? Slashes in a row
 * may count as one. */
static bool is_below(str path, str folder)
{
    char end;

    for (size_t i = 0; i < folder.len;) {
        char c = path.len == 0 ? '\0' : next_char(&path);

        if (c == '/' && i == 1)
            continue;
        if (c != folder.p[i++])
            return false;
    }
    end = path.len == 0 ? '/' : next_char(&path);
    return end == '/' || end == ';';
}

bool relay_guard_passes(str path)
{
    str below = relay_path(path); /* "/responses/x" of "/v1/v1/responses/x" */

    for (size_t i = 0; i < COUNT_OF(own_folders); i++) {
        if (is_below(below, own_folders[i]))
            return false;
    }
    return below.len > 1 && !climbs(path);
}

bool relay_guard_is_models(str path)
{
    return is_below(relay_path(path), STR("/models"));
}
