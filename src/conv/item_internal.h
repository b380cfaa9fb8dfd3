/* item_internal.h -- what the readers of item types share.
 *
 * item.c            the table of types, and all but the following
 * item_mcp.c        items of MCP servers
 * item_own.c        calls of hosted tools
 * item_reasoning.c  reasoning
 * item_search.c     searches for tools */
#ifndef ANTIPHON_CONV_ITEM_INTERNAL_H
#define ANTIPHON_CONV_ITEM_INTERNAL_H

#include "conv/item.h"

/* Members of all item types. What only some types use is raw and looked at by
 * their readers. */
struct item_fields {
    str type, id, role, phase, status, content, call_id, name, name_space, arguments;
    str input, output, error, action, operation, code, outputs, tools, approval_request_id;
    str summary, server_label, approve, reason, encrypted_content, container_id;
    str upstream_id, upstream_arguments, ends_round, reasoning, text, execution;
};

/* The item being read and what its reader needs. */
struct item_reading {
    struct item_fields f;
    const struct path *at;
    const struct input_options *options;
    const struct id_source *ids;
    struct arena *arena;
    struct item *item;
    struct err *reterr;
};

/* All that return int: 0, or -1 with *r->reterr filled. */

/* A member that must be there. */
int item_need(const struct item_reading *r, str value, str member);

/* The call_id, else the id, else one that is made up. */
int item_set_call_id(const struct item_reading *r);

/* name, escaped, as the upstream knows it. */
int item_set_name(const struct item_reading *r, str name);

/* Arguments are a string; some clients resend them parsed. */
int item_set_arguments(const struct item_reading *r);

/* Arguments of one string member. text is escaped; STR_NONE: empty. */
int item_set_text_argument(const struct item_reading *r, const char *member, str text);

/* A call that never ended has nothing to tell; reports whether this one did. */
bool item_hosted_call_ended(const struct item_reading *r);

int item_read_reasoning(const struct item_reading *r);
int item_read_mcp_call(const struct item_reading *r);
int item_read_code_call(const struct item_reading *r);
int item_read_bare_call(const struct item_reading *r);
int item_read_call_result(const struct item_reading *r);
int item_read_search_call(const struct item_reading *r);
int item_read_search_output(const struct item_reading *r);
int item_read_tool_list(const struct item_reading *r);
int item_read_approval_request(const struct item_reading *r);
int item_read_approval_response(const struct item_reading *r);

#endif
