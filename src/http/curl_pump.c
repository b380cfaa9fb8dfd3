/* curl_pump.c -- sockets and time for libcurl.
 *
 * Each socket libcurl names gets a uv_poll handle; its single timeout is one
 * loop timer. A timeout of zero also goes through the timer: libcurl asks for
 * it from inside its callbacks, where it must not be entered again. */
#include "http/curl_pump.h"

#include <stdlib.h>

#include "ev/loop.h"

struct curl_pump {
    struct loop *loop;
    CURLM *multi;
    struct loop_timer *timer;
    const struct curl_pump_handler *handler;
    void *arg;
    unsigned depth; /* calls into libcurl that have not returned */
};

/* One socket of libcurl's; freed when its handle is closed. */
struct watch {
    uv_poll_t poll;
    struct curl_pump *pump;
    curl_socket_t fd;
};

static void report_done(struct curl_pump *pump)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(pump->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE)
            pump->handler->on_done(pump->arg, message->easy_handle, message->data.result);
    }
}

/* Transfers removed while we were inside must not be reported: settle first. */
static void leave_libcurl(struct curl_pump *pump)
{
    pump->depth--;
    pump->handler->on_settled(pump->arg);
    report_done(pump);
}

static void drive_socket(struct curl_pump *pump, curl_socket_t fd, int events)
{
    int running;

    pump->depth++;
    (void)curl_multi_socket_action(pump->multi, fd, events, &running);
    leave_libcurl(pump);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *w = poll->data;
    int bits = 0;

    if (status < 0)
        bits |= CURL_CSELECT_ERR;
    if ((events & UV_READABLE) != 0)
        bits |= CURL_CSELECT_IN;
    if ((events & UV_WRITABLE) != 0)
        bits |= CURL_CSELECT_OUT;
    drive_socket(w->pump, w->fd, bits);
}

static void on_timer(void *arg)
{
    drive_socket(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct watch *watch_new(struct curl_pump *pump, curl_socket_t fd)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    if (uv_poll_init_socket(loop_uv(pump->loop), &w->poll, fd) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    w->pump = pump;
    w->fd = fd;
    (void)curl_multi_assign(pump->multi, fd, w);
    return w;
}

/* libcurl wants this socket watched for these events, or no longer. */
static int on_want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
    struct curl_pump *pump = arg;
    struct watch *w = assigned;
    int events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            uv_close((uv_handle_t *)&w->poll, on_watch_closed);
        return 0;
    }
    if (w == NULL)
        w = watch_new(pump, fd);
    if (w == NULL)
        return -1;
    if ((what & CURL_POLL_IN) != 0)
        events |= UV_READABLE;
    if ((what & CURL_POLL_OUT) != 0)
        events |= UV_WRITABLE;
    return uv_poll_start(&w->poll, events, on_poll) == 0 ? 0 : -1;
}

/* libcurl wants to be woken after so long, or not at all. */
static int on_want_timer(CURLM *multi, long after_ms, void *arg)
{
    struct curl_pump *pump = arg;

    (void)multi;
    if (after_ms < 0)
        loop_timer_stop(pump->timer);
    else
        loop_timer_start(pump->timer, (uint64_t)after_ms);
    return 0;
}

static bool setup_multi(struct curl_pump *pump)
{
    CURLM *multi = pump->multi;

    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_want_socket) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, pump) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_want_timer) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, pump) == CURLM_OK;
}

struct curl_pump *curl_pump_new(struct loop *loop, const struct curl_pump_handler *handler,
                                void *arg)
{
    struct curl_pump *pump = calloc(1, sizeof(*pump));

    if (pump == NULL)
        return NULL;
    pump->loop = loop;
    pump->handler = handler;
    pump->arg = arg;
    pump->timer = loop_timer_new(loop, on_timer, pump);
    pump->multi = curl_multi_init();
    if (pump->timer == NULL || pump->multi == NULL || !setup_multi(pump)) {
        curl_pump_free(pump);
        return NULL;
    }
    return pump;
}

/* Closing connections still reports their sockets, so the timer goes last. */
void curl_pump_free(struct curl_pump *pump)
{
    if (pump == NULL)
        return;
    if (pump->multi != NULL)
        (void)curl_multi_cleanup(pump->multi);
    loop_timer_free(pump->timer);
    free(pump);
}

bool curl_pump_is_inside(const struct curl_pump *pump)
{
    return pump->depth > 0;
}

bool curl_pump_add(struct curl_pump *pump, CURL *easy)
{
    return curl_multi_add_handle(pump->multi, easy) == CURLM_OK;
}

void curl_pump_remove(struct curl_pump *pump, CURL *easy)
{
    (void)curl_multi_remove_handle(pump->multi, easy);
}

void curl_pump_unpause(struct curl_pump *pump, CURL *easy)
{
    pump->depth++;
    (void)curl_easy_pause(easy, CURLPAUSE_CONT);
    leave_libcurl(pump);
}

void curl_pump_keep(struct curl_pump *pump, size_t n_connections)
{
    (void)curl_multi_setopt(pump->multi, CURLMOPT_MAXCONNECTS, (long)n_connections);
}
