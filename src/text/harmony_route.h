/* harmony_route.h -- what a message of a model is for the client (HARMONY 3, routing). */
#ifndef ANTIPHON_TEXT_HARMONY_ROUTE_H
#define ANTIPHON_TEXT_HARMONY_ROUTE_H

#include "text/harmony.h"

/* Prose first, then calls. */
enum harmony_target {
    HARMONY_TO_ANSWER,    /* message, phase final_answer */
    HARMONY_TO_PREAMBLE,  /* message, phase commentary */
    HARMONY_TO_REASONING, /* also of built-in tools that are not there */
    HARMONY_TO_FUNCTION,  /* name */
    HARMONY_TO_PYTHON,
    HARMONY_TO_BROWSER, /* name: search, open or find */
    HARMONY_TO_MCP,     /* label, name */
};

/* Views into the header, or constants. */
struct harmony_route {
    enum harmony_target target;
    str label, name;
};

/* The tools of the request. */
struct harmony_route_tools {
    bool (*is_function)(void *arg, str name);
    void *arg;
    bool has_python, has_browser;
};

struct harmony_route harmony_route(const struct harmony_header *header,
                                   const struct harmony_route_tools *tools);

#endif
