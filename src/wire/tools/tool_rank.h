/* tool_rank.h -- which tools fit what a model is looking for: BM25 over the words of their names,
 * descriptions and parameters, and of the namespaces and servers that they belong to (CONTRACT 1.9).
 *
 * A word counts the more the fewer of the tools have it; in a name three times as much as elsewhere, and
 * less in a long text than in a short one. Tools that share no word with the query are none. Pure; equal
 * queries give equal answers. Time grows with the texts of the tools times the words of the query. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_RANK_H
#define ANTIPHON_WIRE_TOOLS_TOOL_RANK_H

#include <sys/types.h>

#include "wire/tools/tool_set.h"

/* Puts what fits the query (plain) to the front, best first; of equals the first. Returns how many that
 * are, at most limit; -1 with *reterr filled when out of memory. */
ssize_t tool_rank(const struct tool **tools, size_t n, str query, size_t limit, struct err *reterr);

#endif
