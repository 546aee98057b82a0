/* Carries packets between the TUN devices of all nodes, each after the delay of its pair of nodes.
 *
 *   relay CONFIG SOCKET
 *
 * CONFIG, one statement a line:
 *   node HOST NAMESPACE DEVICE      HOST: last byte of the node's address; NAMESPACE: a path, or - for this one
 *   delay FROM TO MICROSECONDS      one way
 * SOCKET is a unix datagram socket: "delay FROM TO MICROSECONDS" changes a delay, "ping" asks whether it works;
 * both are answered "ok", anything else "refused".
 *
 * Packets of a pair never overtake each other, also where their delay shrinks. What does not fit into the
 * bounded queue is dropped, as on any link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 256, MTU = 9000, QUEUE = 1 << 16, READS_PER_TURN = 64 };
enum { TIMER = HOSTS, CONTROL };
static const long MAX_DELAY_US = 60L * 1000 * 1000;

struct packet {
    int64_t due_ns;
    uint64_t order;
    int to;
    int length;
    unsigned char bytes[];
};

static int device[HOSTS];                     /* by host; -1: no such node */
static int64_t delay_ns[HOSTS][HOSTS];        /* from, to */
static int64_t last_due_ns[HOSTS][HOSTS];     /* keeps a pair's packets in order */
static struct packet *queue[QUEUE];           /* a heap, the packet due first on top */
static int queued;
static uint64_t arrivals;

static void die(const char *what)
{
    fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int before(const struct packet *a, const struct packet *b)
{
    return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static void push(struct packet *p)
{
    int i = queued++;
    for (; i > 0 && before(p, queue[(i - 1) / 2]); i = (i - 1) / 2)
        queue[i] = queue[(i - 1) / 2];
    queue[i] = p;
}

static struct packet *pop(void)
{
    struct packet *top = queue[0], *moved = queue[--queued];
    int i = 0, child;
    while ((child = 2 * i + 1) < queued) {
        if (child + 1 < queued && before(queue[child + 1], queue[child]))
            child++;
        if (!before(queue[child], moved))
            break;
        queue[i] = queue[child];
        i = child;
    }
    queue[i] = moved;
    return top;
}

static void deliver(int to, const unsigned char *bytes, int length)
{
    ssize_t written = write(device[to], bytes, length);
    (void)written; /* a full device drops, as a link does */
}

static void accept_packet(int from, const unsigned char *bytes, int length)
{
    int to = length >= 20 ? bytes[19] : from;
    if (length < 20 || bytes[0] >> 4 != 4 || memcmp(bytes + 12, bytes + 16, 3) || to == from || device[to] < 0)
        return; /* not IPv4, or not for a node of this network */
    int64_t now = now_ns(), due = now + delay_ns[from][to];
    if (due < last_due_ns[from][to])
        due = last_due_ns[from][to];
    last_due_ns[from][to] = due;
    if (due <= now) {
        deliver(to, bytes, length);
        return;
    }
    struct packet *p = queued < QUEUE ? malloc(sizeof *p + length) : NULL;
    if (!p)
        return;
    *p = (struct packet){.due_ns = due, .order = arrivals++, .to = to, .length = length};
    memcpy(p->bytes, bytes, length);
    push(p);
}

static void deliver_due(int timer)
{
    while (queued && queue[0]->due_ns <= now_ns()) {
        struct packet *p = pop();
        deliver(p->to, p->bytes, p->length);
        free(p);
    }
    struct itimerspec wake = {0}; /* zero disarms */
    if (queued) {
        wake.it_value.tv_sec = queue[0]->due_ns / 1000000000;
        wake.it_value.tv_nsec = queue[0]->due_ns % 1000000000;
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &wake, NULL);
}

static int set_delay(const char *statement)
{
    int from, to;
    long us;
    if (sscanf(statement, "delay %d %d %ld", &from, &to, &us) != 3)
        return 0;
    if (from < 0 || from >= HOSTS || to < 0 || to >= HOSTS || us < 0 || us > MAX_DELAY_US)
        return 0;
    delay_ns[from][to] = us * 1000;
    return 1;
}

static void answer(int control)
{
    char text[128];
    struct sockaddr_un peer;
    socklen_t peer_length = sizeof peer;
    ssize_t length = recvfrom(control, text, sizeof text - 1, 0, (struct sockaddr *)&peer, &peer_length);
    if (length < 0)
        return;
    text[length] = 0;
    const char *said = !strcmp(text, "ping") || set_delay(text) ? "ok" : "refused";
    if (peer_length > sizeof(sa_family_t))
        sendto(control, said, strlen(said), MSG_DONTWAIT, (struct sockaddr *)&peer, peer_length);
}

static int open_device(const char *namespace, const char *name, int home)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    memcpy(request.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
    int elsewhere = strcmp(namespace, "-") != 0;
    int there = elsewhere ? open(namespace, O_RDONLY | O_CLOEXEC) : home;
    if (there < 0 || setns(there, CLONE_NEWNET) < 0)
        die(namespace);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        die("/dev/net/tun");
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        die(name);
    if (setns(home, CLONE_NEWNET) < 0)
        die("return to the own namespace");
    if (elsewhere)
        close(there);
    return fd;
}

static void watch(int epoll, int fd, int what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = what};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll_ctl");
}

static void configure(const char *path, int epoll)
{
    FILE *config = fopen(path, "re");
    if (!config)
        die(path);
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), host;
    char line[4400], namespace[4096], name[IFNAMSIZ];
    while (fgets(line, sizeof line, config)) {
        if (sscanf(line, "node %d %4095s %15s", &host, namespace, name) == 3 && host >= 0 && host < HOSTS) {
            device[host] = open_device(namespace, name, home);
            watch(epoll, device[host], host);
        } else if (!set_delay(line)) {
            errno = EINVAL;
            die(line);
        }
    }
    fclose(config);
    close(home);
}

static int open_control(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(address.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        die(path);
    return fd;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: relay CONFIG SOCKET\n");
        return 2;
    }
    setpriority(PRIO_PROCESS, 0, -20); /* better timing where allowed */
    prctl(PR_SET_TIMERSLACK, 1);
    memset(device, -1, sizeof device);
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (epoll < 0 || timer < 0)
        die("epoll or timerfd");
    configure(argv[1], epoll);
    int control = open_control(argv[2]);
    watch(epoll, timer, TIMER);
    watch(epoll, control, CONTROL);
    for (;;) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        if (ready < 0 && errno != EINTR)
            die("epoll_wait");
        for (int i = 0; i < ready; i++) {
            int what = events[i].data.u32;
            unsigned char bytes[MTU];
            ssize_t length;
            if (what == CONTROL)
                answer(control);
            if (what < HOSTS && events[i].events & (EPOLLERR | EPOLLHUP)) { /* its namespace is gone */
                epoll_ctl(epoll, EPOLL_CTL_DEL, device[what], NULL);
                device[what] = -1;
                continue;
            }
            for (int n = 0; what < HOSTS && n < READS_PER_TURN; n++) {
                if ((length = read(device[what], bytes, sizeof bytes)) <= 0)
                    break;
                accept_packet(what, bytes, length);
            }
        }
        deliver_due(timer);
    }
}
