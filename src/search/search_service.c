/* search_service.c -- the table of the services, made after their documentation of 2026, and what
 * their statuses mean. */
#include "search/search_service.h"

#include "search/search_read.h"

static const struct search_service_info services[] = {
    [SEARCH_SEARXNG] =
        {
            .name = "SearXNG",
            .path = "/search",
            .key_name = "Authorization", /* for a proxy in front of it */
            .key_prefix = "Bearer ",
            .forbidden = "does not answer in JSON: add json to search.formats in its settings.yml",
            .max_query_chars = 1000,
            .fields = {{IN_URL, "q", VALUE_QUERY, NULL},
                       {IN_URL, "format", VALUE_FIXED, "json"},
                       {IN_HEADER, "Accept", VALUE_FIXED, "application/json"}},
        },
    [SEARCH_BRAVE] =
        {
            .name = "Brave Search",
            .url = "https://api.search.brave.com/res/v1/web/search",
            .key_name = "X-Subscription-Token",
            .key_prefix = "",
            .max_results = 20,
            .max_query_chars = 400,
            .fields = {{IN_URL, "q", VALUE_QUERY, NULL},
                       {IN_URL, "count", VALUE_COUNT, NULL},
                       {IN_URL, "country", VALUE_COUNTRY_SEARCHED, NULL},
                       {IN_URL, "result_filter", VALUE_FIXED, "web"},
                       {IN_HEADER, "Accept", VALUE_FIXED, "application/json"},
                       {IN_HEADER, "X-Loc-Country", VALUE_COUNTRY, NULL},
                       {IN_HEADER, "X-Loc-State-Name", VALUE_REGION, NULL},
                       {IN_HEADER, "X-Loc-City", VALUE_CITY, NULL},
                       {IN_HEADER, "X-Loc-Timezone", VALUE_TIMEZONE, NULL}},
        },
    [SEARCH_TAVILY] =
        {
            .name = "Tavily",
            .url = "https://api.tavily.com/search",
            .key_name = "Authorization",
            .key_prefix = "Bearer ",
            .max_results = 20,
            .max_query_chars = 400,
            .fields = {{IN_BODY, "query", VALUE_QUERY, NULL},
                       {IN_BODY, "max_results", VALUE_COUNT, NULL},
                       {IN_BODY, "include_domains", VALUE_ALLOWED, NULL},
                       {IN_BODY, "exclude_domains", VALUE_BLOCKED, NULL},
                       {IN_BODY, "country", VALUE_COUNTRY_NAME, NULL},
                       {IN_HEADER, "Content-Type", VALUE_FIXED, "application/json"}},
        },
    [SEARCH_EXA] =
        {
            .name = "Exa",
            .url = "https://api.exa.ai/search",
            .key_name = "x-api-key",
            .key_prefix = "",
            .max_results = SEARCH_MAX_RESULTS,
            .max_query_chars = 1000,
            .fields = {{IN_BODY, "query", VALUE_QUERY, NULL},
                       {IN_BODY, "numResults", VALUE_COUNT, NULL},
                       {IN_BODY, "includeDomains", VALUE_ALLOWED, NULL},
                       {IN_BODY, "excludeDomains", VALUE_BLOCKED, NULL},
                       {IN_BODY, "userLocation", VALUE_COUNTRY, NULL},
                       {IN_BODY, "contents", VALUE_FIXED, "{\"highlights\":true}"},
                       {IN_HEADER, "Content-Type", VALUE_FIXED, "application/json"}},
        },
};

static const struct {
    int status;
    const char *means;
} complaints[] = {
    {400, "does not accept the request"},
    {401, "does not accept the API key"},
    {402, "wants to be paid first"},
    {403, "does not accept the API key"},
    {404, "is not at the address that search_url names"},
    {422, "does not accept the request"},
    {429, "has had too many requests, or the quota is used up"},
    {432, "says that the quota is used up"}, /* this and the next are Tavily's own */
    {433, "says that the quota is used up"},
};

const struct search_service_info *search_service_info(enum search_service service)
{
    return &services[service];
}

const char *search_service_complaint(const struct search_service_info *s, int status)
{
    if (status == 403 && s->forbidden != NULL)
        return s->forbidden;
    for (size_t i = 0; i < COUNT_OF(complaints); i++) {
        if (complaints[i].status == status)
            return complaints[i].means;
    }
    return status >= 300 && status < 400 ? "redirects, which is not followed" : "has failed";
}

bool search_service_takes(const struct search_service_info *s, enum search_value value)
{
    for (size_t i = 0; i < SEARCH_MAX_FIELDS && s->fields[i].place != IN_NOTHING; i++) {
        if (s->fields[i].value == value)
            return true;
    }
    return false;
}
