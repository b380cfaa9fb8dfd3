/* client_share.c -- a hash table of counters.
 *
 * Open addressing, at most half full; a counter that reaches zero leaves the
 * table, and what stands behind it moves up, so that the table never fills with
 * clients that are gone. The hash has a random seed, since clients choose their
 * addresses. */
#include "http/client_share.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/str_map.h"
#include "ev/loop.h"

struct slot {
    uint64_t key; /* 0: free */
    size_t n;
};

struct client_share {
    uv_mutex_t lock; /* guards what follows; nothing else is taken while it is held */
    size_t most, n_clients, max_clients;
    uint64_t seed;
    size_t mask; /* the number of slots less one, which is a power of two */
    struct slot slots[];
};

struct client_share *client_share_new(size_t most, size_t max_connections, struct err *reterr)
{
    struct client_share *s;
    size_t n_slots = 2;

    while (n_slots < 2 * max_connections)
        n_slots *= 2;
    s = calloc(1, sizeof(*s) + n_slots * sizeof(s->slots[0]));
    if (s == NULL || uv_mutex_init(&s->lock) != 0) {
        free(s);
        err_set_no_memory(reterr);
        return NULL;
    }
    s->most = most;
    s->max_clients = n_slots / 2;
    s->mask = n_slots - 1;
    random_fill(NULL, &s->seed, sizeof(s->seed));
    return s;
}

void client_share_free(struct client_share *s)
{
    if (s == NULL)
        return;
    uv_mutex_destroy(&s->lock);
    free(s);
}

/* ---- who it is */

static uint64_t first_bytes(const unsigned char *p, size_t n)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n; i++)
        number = number << 8 | p[i];
    return number;
}

/* The key of an IPv4 address, not the beginning of any IPv6 address in use (RFC 4291, 2.4: ::/8 is
 * reserved). */
static uint64_t key_of_ipv4(const unsigned char *address)
{
    return address[0] == 127 ? 0 : 1ULL << 32 | first_bytes(address, 4);
}

uint64_t client_share_key(const char *peer)
{
    struct in6_addr a;

    if (inet_pton(AF_INET, peer, &a) == 1)
        return key_of_ipv4(a.s6_addr);
    if (inet_pton(AF_INET6, peer, &a) != 1 || IN6_IS_ADDR_LOOPBACK(&a))
        return 0;
    if (IN6_IS_ADDR_V4MAPPED(&a))
        return key_of_ipv4(a.s6_addr + 12);
    if (IN6_IS_ADDR_LINKLOCAL(&a)) /* one network for all machines of the link */
        return first_bytes(a.s6_addr + 8, 8);
    return first_bytes(a.s6_addr, 8);
}

/* ---- the table */

static size_t home_of(const struct client_share *s, uint64_t key)
{
    return str_map_hash(s->seed, str_from((const char *)&key, sizeof(key))) & s->mask;
}

/* The slot of the client, or the one where it would be put. */
static struct slot *slot_find(struct client_share *s, uint64_t key)
{
    size_t i = home_of(s, key);

    while (s->slots[i].key != 0 && s->slots[i].key != key)
        i = (i + 1) & s->mask;
    return &s->slots[i];
}

/* Moves up what would not be found behind a gap. */
static void slot_remove(struct client_share *s, size_t gap)
{
    for (size_t i = (gap + 1) & s->mask; s->slots[i].key != 0; i = (i + 1) & s->mask) {
        size_t home = home_of(s, s->slots[i].key);

        if (((i - home) & s->mask) < ((i - gap) & s->mask))
            continue;
        s->slots[gap] = s->slots[i];
        gap = i;
    }
    s->slots[gap] = (struct slot){0};
    s->n_clients--;
}

/* Counts one more connection of a client; under the lock. */
static bool count_up(struct client_share *s, uint64_t key)
{
    struct slot *slot = slot_find(s, key);

    if (slot->n >= s->most || (slot->key == 0 && s->n_clients == s->max_clients))
        return false;
    s->n_clients += slot->key == 0;
    slot->key = key;
    slot->n++;
    return true;
}

bool client_share_take(struct client_share *s, uint64_t key)
{
    bool granted;

    if (s == NULL || key == 0)
        return true;
    uv_mutex_lock(&s->lock);
    granted = count_up(s, key);
    uv_mutex_unlock(&s->lock);
    return granted;
}

void client_share_give_back(struct client_share *s, uint64_t key)
{
    struct slot *slot;

    if (s == NULL || key == 0)
        return;
    uv_mutex_lock(&s->lock);
    slot = slot_find(s, key);
    if (slot->n > 0 && --slot->n == 0)
        slot_remove(s, (size_t)(slot - s->slots));
    uv_mutex_unlock(&s->lock);
}

size_t client_share_count(struct client_share *s, uint64_t key)
{
    size_t n;

    uv_mutex_lock(&s->lock);
    n = key == 0 ? 0 : slot_find(s, key)->n;
    uv_mutex_unlock(&s->lock);
    return n;
}
