/* search_service.h -- what is known of the search services (CONTRACT 1.2).
 *
 * A service is what it is called, where it is, and which parts of a query it takes, under which
 * name and where. search_request.c writes what this says. Pure. */
#ifndef ANTIPHON_SEARCH_SEARCH_SERVICE_H
#define ANTIPHON_SEARCH_SEARCH_SERVICE_H

#include "search/search.h"

enum search_place { IN_NOTHING, IN_URL, IN_BODY, IN_HEADER };

enum search_value {
    VALUE_QUERY,
    VALUE_COUNT,
    VALUE_ALLOWED, /* arrays of domains, in a body */
    VALUE_BLOCKED,
    VALUE_COUNTRY,          /* two capital letters */
    VALUE_COUNTRY_SEARCHED, /* the same, if the service has results of it */
    VALUE_COUNTRY_NAME,
    VALUE_CITY,
    VALUE_REGION,
    VALUE_TIMEZONE,
    VALUE_FIXED, /* as the table has it; in a body that is JSON */
};

enum { SEARCH_MAX_FIELDS = 10 };

struct search_field {
    enum search_place place; /* IN_NOTHING behind the last */
    const char *name;
    enum search_value value;
    const char *fixed;
};

struct search_service_info {
    const char *name;
    const char *url;        /* NULL: the operator has to say */
    const char *path;       /* what is added to the operator's; NULL: nothing */
    const char *key_name;   /* of the header for the key */
    const char *key_prefix; /* of its value */
    const char *forbidden;  /* what a 403 means here; NULL: what it means everywhere */
    unsigned max_results;   /* it can be asked for; 0: it cannot be asked for a number */
    size_t max_query_chars;
    struct search_field fields[SEARCH_MAX_FIELDS];
};

const struct search_service_info *search_service_info(enum search_service service);

/* What a status other than 200 means, to go on a sentence that begins with the name. */
const char *search_service_complaint(const struct search_service_info *s, int status);

/* True when the service takes such a value. */
bool search_service_takes(const struct search_service_info *s, enum search_value value);

/* True when there are results of the country (two capital letters) to ask for; and the English name
 * of the country as services have it, or NULL. */
bool search_country_is_searched(const char code[3]);
const char *search_country_name(const char code[3]);

#endif
