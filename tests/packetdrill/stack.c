/* SPDX-License-Identifier: MIT */
/*
 * The stack under test: flags, device; accounting counts in one group.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/host/fs_host.h"
#include "tests/host/net_stub.h"
#include "fs/internal.h"
#include "kernel/process.h"
#include "tests/packetdrill/machine.h"
#include "tests/packetdrill/stack.h"

#define MTU_DEFAULT 1500
#define MEMORY      (48u << 20) /* bytes; locked by whoever loads the library */

int inet_pton(int family, const char *text, void *out);

/* ---- device ---- */

struct sent {
	struct sent *next;
	uint64_t time;
	size_t len;
	uint8_t bytes[];
};
/* Pushed by the machine, popped by whoever fetches. */
static pthread_mutex_t sent_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sent *sent_first, **sent_last = &sent_first;

static void check_sum_of(const struct pbuf *p)
{
	/* The field holds the complement, so the sum over everything is all ones. */
	if ((p->proto == IPPROTO_TCP || p->proto == IPPROTO_UDP) && pbuf_csum(p, p->proto) != 0)
		machine_die("a packet left with a wrong checksum (protocol %u)", p->proto);
}

static void wire_xmit(struct netdev *d, struct pbuf *p)
{
	size_t head = p->end - p->start, n = head + p->len;
	struct sent *s = malloc(sizeof(*s) + n);

	if (!s)
		machine_die("no memory for a packet");
	if (n > d->mtu)
		machine_die("a packet of %zu bytes left, the MTU is %u", n, d->mtu);
	check_sum_of(p);
	s->next = NULL;
	s->time = clock_ns();
	s->len = n;
	memcpy(s->bytes, p->head + p->start, head);
	if (p->len)
		pdata_copy_out(p->data, p->off, s->bytes + head, p->len);
	pbuf_free(p);
	pthread_mutex_lock(&sent_lock);
	*sent_last = s;
	sent_last = &s->next;
	pthread_mutex_unlock(&sent_lock);
}
static struct netdev wire = { .name = "wire0", .mtu = MTU_DEFAULT, .xmit = wire_xmit };

bool stack_has_sent(void)
{
	bool any;

	pthread_mutex_lock(&sent_lock);
	any = sent_first;
	pthread_mutex_unlock(&sent_lock);
	return any;
}

uint64_t stack_fetch(void *buf, size_t *n)
{
	struct sent *s;
	uint64_t time;

	pthread_mutex_lock(&sent_lock);
	s = sent_first;
	if (s) {
		sent_first = s->next;
		if (!sent_first)
			sent_last = &sent_first;
	}
	pthread_mutex_unlock(&sent_lock);
	if (!s)
		return 0;
	if (s->len > *n)
		machine_die("room for %zu bytes, the packet has %zu", *n, s->len);
	memcpy(buf, s->bytes, s->len);
	*n = s->len;
	time = s->time;
	free(s);
	return time;
}

long stack_receive(const void *packet, size_t n)
{
	const uint8_t *b = packet;
	struct pbuf *p;
	size_t head = min(n, (size_t)PBUF_HEAD);

	if (!n || (b[0] >> 4 != 4 && b[0] >> 4 != 6))
		return -EINVAL;
	p = pbuf_alloc(0);
	if (!p)
		return -ENOMEM;
	p->dev = &wire;
	memcpy(pbuf_put(p, (unsigned)head), b, head);
	if (n > head) {
		p->data = pdata_from_bytes(b + head, n - head);
		if (!p->data) {
			pbuf_free(p);
			return -ENOMEM;
		}
		p->len = (uint32_t)(n - head);
	}
	netif_rx(p);
	return 0;
}

/* ---- set-up ---- */

static struct process *process;

struct settings {
	struct ip_addr local;
	unsigned prefix;
	bool have_local;
	unsigned mtu;
	char params[16][2][64]; /* name, value */
	unsigned nr_params;
};
static struct settings set;

static void add_param(const char *name, const char *value)
{
	if (set.nr_params == ARRAY_SIZE(set.params))
		machine_die("more than %zu parameters in the flags", ARRAY_SIZE(set.params));
	snprintf(set.params[set.nr_params][0], sizeof(set.params[0][0]), "%s", name);
	snprintf(set.params[set.nr_params][1], sizeof(set.params[0][1]), "%s", value);
	set.nr_params++;
}

static void set_key(const char *key, const char *value)
{
	char *end;
	unsigned long v;

	if (!strcmp(key, "local_ip")) {
		uint8_t b[16];

		if (inet_pton(AF_INET, value, b) == 1)
			set.local = addr_from_v4(b);
		else if (inet_pton(AF_INET6, value, b) == 1)
			set.local = addr_from_v6(b);
		else
			machine_die("local_ip=%s: expected an IPv4 or IPv6 address", value);
		set.prefix = addr_is_v4(&set.local) ? 96 + 16 : 64;
		set.have_local = true;
	} else if (!strcmp(key, "mtu")) {
		v = strtoul(value, &end, 10);
		if (*end || v < 576 || v > 65535)
			machine_die("mtu=%s: expected 576 to 65535", value);
		set.mtu = (unsigned)v;
	} else if (!strcmp(key, "cc")) {
		add_param("net.tcp.cc", value);
	} else if (!strcmp(key, "iw")) {
		add_param("net.tcp.iw", value);
	} else if (!strncmp(key, "net.", 4)) {
		add_param(key, value);
	} else {
		machine_die("unknown key '%s' in the flags; expected local_ip, mtu, cc, iw or a parameter net.*", key);
	}
}

/* "key=value key=value", separated by blanks or commas. */
static void parse(const char *flags)
{
	char *copy = strdup(flags ? flags : ""), *rest = copy, *word;

	memset(&set, 0, sizeof(set));
	set.mtu = MTU_DEFAULT;
	while ((word = strsep(&rest, " ,")) != NULL) {
		char *eq = strchr(word, '=');

		if (!*word)
			continue;
		if (!eq)
			machine_die("'%s' in the flags: expected key=value", word);
		*eq = 0;
		set_key(word, eq + 1);
	}
	free(copy);
	if (!set.have_local)
		machine_die("the flags need local_ip=ADDRESS, the same as --local_ip");
}

static long configure(void *arg)
{
	(void)arg;
	wire.mtu = set.mtu;
	if (ifaddr_add(&wire, &set.local, set.prefix))
		machine_die("the address cannot be set");
	route_set_default(&wire);
	for (unsigned i = 0; i < set.nr_params; i++) {
		const struct param *p = param_find(set.params[i][0]);

		if (!p || param_set(p, set.params[i][1]))
			machine_die("%s=%s: %s", set.params[i][0], set.params[i][1],
				    p ? "value not accepted" : "no such parameter");
	}
	return 0;
}

static void boot(void)
{
	fs_host_up();
	process = fs_host_process();
	t_init();
	netdev_register(&wire);
}

/* Everything that a script left open is closed. */
static long forget(void *arg)
{
	const struct ip_addr *old = arg;

	files_put(process->files);
	process->files = files_create();
	if (!process->files)
		machine_die("no memory for descriptors");
	ifaddr_del(&wire, old);
	return 0;
}

void stack_start(const char *flags)
{
	static bool running;
	struct ip_addr old = set.local;
	uint8_t buf[65536];
	size_t n;

	parse(flags);
	if (running) {
		machine_call(forget, &old);
		machine_advance(600 * NSEC_PER_SEC, NULL); /* time-outs of what was open */
		while (n = sizeof(buf), stack_fetch(buf, &n))
			;
	} else {
		host_memory_bytes = MEMORY;
		machine_start(&process, boot);
		running = true;
	}
	machine_call(configure, NULL);
}
