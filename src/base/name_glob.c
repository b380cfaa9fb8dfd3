/* name_glob.c -- what stands between two stars is looked for from left to right, and what was found first is
 * never given up: the star behind it takes in whatever a later place would have left over. str_find() is
 * linear, so all of it is. */
#include "base/name_glob.h"

bool name_is_glob(str text)
{
    return str_find_char(text, '*') < text.len;
}

/* Drops all of the name up to the end of the first such piece in it. */
static bool drop_piece(str piece, str *name)
{
    size_t at = 0;

    if (piece.len > 0) {
        at = str_find(*name, piece);
        if (at == name->len)
            return false;
    }
    *name = str_skip(*name, at + piece.len);
    return true;
}

bool name_glob_fits(str glob, str name)
{
    const size_t star = str_find_char(glob, '*');

    if (star == glob.len)
        return str_eq(glob, name);
    if (!str_starts_with(name, str_from(glob.p, star)))
        return false;
    if (star + 1 == glob.len)
        return true; /* as most globs are */
    name = str_skip(name, star);
    glob = str_skip(glob, star + 1);
    while (name_is_glob(glob)) {
        if (!drop_piece(str_cut(&glob, '*'), &name))
            return false;
    }
    return str_ends_with(name, glob);
}

size_t name_glob_literals(str glob)
{
    size_t n = 0;

    for (size_t i = 0; i < glob.len; i++)
        n += glob.p[i] != '*';
    return n;
}
