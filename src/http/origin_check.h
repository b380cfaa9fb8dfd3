/* origin_check.h -- may this request have come from a web page that must not send it?
 * (CONTRACT 7.2, origin_not_allowed)
 *
 * A browser sends for every page that it shows, also to services that only this
 * machine or its network reaches. What it adds tells whose page that is, and no
 * page can write or leave out these: Host, Origin, Sec-Fetch-Site.
 *
 *     a page of another site   Origin is not ours, or Sec-Fetch-Site is cross-site
 *     a name made to lead here (DNS rebinding): the page asks its own site, whose name
 *                              was given our address meanwhile, so that only the
 *                              name in Host is not ours
 *
 * A page can only have a name that the public DNS may hold: none without a dot, no
 * address, and none below the domains that are set apart for private use. Other
 * programs (SDKs, proxies, programs with windows of web technology) send no Origin, or
 * one of another scheme than http. Pure. */
#ifndef ANTIPHON_HTTP_ORIGIN_CHECK_H
#define ANTIPHON_HTTP_ORIGIN_CHECK_H

#include "base/host_list.h"
#include "http/cors.h"
#include "http/http_server.h"

struct origin_policy {
    struct cors cors;       /* whose pages may send; with "*" nothing is checked */
    struct host_list names; /* that the gateway is known by; borrowed */
    bool is_only_names;     /* no other may be used, on whatever address */
    bool asks_for_key;      /* keys are needed: a name that leads here gets a page nothing */
};

/* Returns 0, or -1 with *reterr filled: 403. A page may have linked to what is harmless,
 * which somebody then opens in a window of its own. OPTIONS always may: the answer says
 * which pages may send more. */
int origin_check(const struct origin_policy *policy, const struct http_request *r, bool is_harmless,
                 struct err *reterr);

#endif
