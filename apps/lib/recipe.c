/* SPDX-License-Identifier: MIT */
/*
 * Implements recipe.h.
 *
 * Each client is a process of its own that speaks netperf's protocol to a
 * netserver of the same group.  When all have sent their first message, SIGUSR1
 * makes each note its bytes and the time and say so; when all have, SIGUSR2
 * after the wanted seconds makes each note them again and stop: bytes are
 * counted over a window in which all clients run, and no clock is read between
 * messages.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_client.h"
#include "apps/lib/np_server.h"
#include "apps/lib/profile.h"
#include "apps/lib/recipe.h"
#include "apps/lib/record.h"

#define MESSAGE_SIZE  10240
#define FIRST_PORT    14000 /* one netserver per group */
#define START_SECONDS 120   /* for all clients to run, and for all to end */
#define REMOVE_SECONDS 10
#define MOST_CLIENTS  1024

enum { ROOT, GROUP };
static const char *const place_names[] = { "root", "group" };

/* What a client reports; smaller than PIPE_BUF, so each arrives whole. */
struct report {
	double t0, t1;
	uint64_t bytes0, bytes1, msgs0, msgs1;
	char error[160];
};

/* Counters of /proc/tally/memcg_counters and the fields they become, per message. */
static const struct {
	const char *key, *field;
} counters[] = {
	{ "charged_pages", "charges_per_msg" },
	{ "walks", "walks_per_msg" },
	{ "uncharge_walks", "uncharge_walks_per_msg" },
};
#define NR_COUNTERS 3
_Static_assert(sizeof(counters) / sizeof(counters[0]) == NR_COUNTERS, "one value each");

struct phase {
	double mbps; /* sum over the clients */
	double window; /* seconds over which the kernel's counters were taken */
	double msgs;   /* in that time, at the clients' rates */
	double counters[NR_COUNTERS]; /* differences of the kernel's */
};

static struct np_client client;
static struct report report;
static int ready_pipe; /* in a child: where it says that it runs */

static void on_window(int sig)
{
	if (sig == SIGUSR1) {
		report.t0 = np_now();
		report.bytes0 = client.bytes;
		report.msgs0 = client.msgs;
		if (write(ready_pipe, "S", 1) != 1)
			_exit(1);
	} else {
		report.t1 = np_now();
		report.bytes1 = client.bytes;
		report.msgs1 = client.msgs;
		client.stop = 1;
	}
}

static void say_running(struct np_client *c)
{
	(void)c;
	if (write(ready_pipe, "R", 1) != 1)
		_exit(1);
}

static void leaf_name(char *buf, size_t size, const struct recipe *r, unsigned i)
{
	if (r->groups == 1)
		snprintf(buf, size, "a/b/c");
	else
		snprintf(buf, size, "a/b/c%u", i % r->groups + 1);
}

static int join(const struct recipe *r, int place, unsigned i)
{
	char leaf[32] = "";

	if (place == GROUP)
		leaf_name(leaf, sizeof(leaf), r, i);
	if (group_join(leaf) == 0)
		return 0;
	if (place == ROOT && (errno == ENOENT || errno == EACCES || errno == EROFS))
		return 0; /* no cgroup file system: this is the root group */
	fprintf(stderr, "experiment: group '%s': %s\n", leaf, strerror(errno));
	return -1;
}

static pid_t start_server(const struct recipe *r, int place, unsigned i, int ready)
{
	struct np_listen l;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (join(r, place, i) < 0 || np_server_listen(&l, AF_INET6, NULL, FIRST_PORT + i) < 0) {
		perror("experiment: netserver");
		_exit(1);
	}
	if (write(ready, "R", 1) != 1)
		_exit(1);
	close(ready);
	np_server_loop(&l);
}

static pid_t start_client(const struct recipe *r, int place, unsigned i, int ready, int reports)
{
	struct sigaction act = { .sa_handler = on_window };
	pid_t pid = fork();

	if (pid)
		return pid;
	if (join(r, place, i) < 0 || chdir("/tmp") < 0)
		_exit(1);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	np_client_init(&client);
	client.test = NP_SENDFILE;
	client.family = AF_INET6;
	client.host = "::1";
	client.port = FIRST_PORT + i % (place == GROUP ? r->groups : 1);
	client.length = 0;
	client.send_size = MESSAGE_SIZE;
	client.tolerant = 1;
	client.running = say_running;
	ready_pipe = ready;
	if (np_client_run(&client) < 0) {
		memcpy(report.error, client.error, sizeof(report.error));
		if (!client.msgs && write(ready, "E", 1) != 1)
			_exit(1);
	}
	if (write(reports, &report, sizeof(report)) != sizeof(report))
		_exit(1);
	_exit(0);
}

/* Reads @want bytes from a pipe before the deadline; what came. */
static size_t read_until(int fd, void *buf, size_t want, double deadline)
{
	size_t done = 0;

	while (done < want) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = deadline - np_now();
		ssize_t n;

		if (left <= 0)
			break;
		n = poll(&p, 1, (int)(left * 1000) + 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		n = read(fd, (char *)buf + done, want - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void sleep_for(double seconds)
{
	double end = np_now() + seconds;

	for (double left = seconds; left > 0; left = end - np_now())
		usleep((useconds_t)(left * 1e6) + 1);
}

/* Ends and reaps; says which ended in a way nobody asked for. */
static void end_all(const char *what, const pid_t *pids, unsigned n, int sig)
{
	for (unsigned i = 0; i < n; i++)
		if (pids[i] > 0 && sig)
			kill(pids[i], sig);
	for (unsigned i = 0; i < n; i++) {
		int status = 0;
		pid_t pid = 0;

		while (pids[i] > 0 && (pid = waitpid(pids[i], &status, 0)) < 0 && errno == EINTR)
			;
		if (pid > 0 && status && !(WIFSIGNALED(status) && WTERMSIG(status) == sig))
			fprintf(stderr, "experiment: %s %u ended with status %#x\n", what, i,
				(unsigned)status);
	}
}

/* @failed: some client could not start, the others' figures do not matter. */
static int collect(const struct recipe *r, int fd, struct phase *out, int failed)
{
	double deadline = np_now() + START_SECONDS;
	int ret = 0;

	for (unsigned i = 0; i < r->clients; i++) {
		struct report rep;

		if (read_until(fd, &rep, sizeof(rep), deadline) != sizeof(rep)) {
			fprintf(stderr, "experiment: only %u of %u clients ended\n", i, r->clients);
			return -1;
		}
		if (!rep.error[0] && failed)
			continue;
		if (rep.error[0] || rep.t1 <= rep.t0 || !rep.t0) {
			fprintf(stderr, "experiment: client: %s\n",
				rep.error[0] ? rep.error : "did not run during the window");
			ret = -1;
			continue;
		}
		out->mbps += (double)(rep.bytes1 - rep.bytes0) * 8 / (rep.t1 - rep.t0) / 1e6;
		out->msgs += (double)(rep.msgs1 - rep.msgs0) / (rep.t1 - rep.t0) * out->window;
	}
	return ret;
}

static struct perf_table profile; /* of the group phases of all rounds */

/* Records "slabs": which address belongs to which cache, while the groups are there. */
static void put_slabs(void)
{
	FILE *f = fopen("/proc/tally/slabs", "r");
	char line[160], map[1600];
	struct record rec;
	size_t len = 0;

	while (f) {
		char *got = fgets(line, sizeof(line), f);

		if (len && (!got || len + strlen(line) + 2 > sizeof(map))) {
			record_begin(&rec, "slabs");
			record_string(&rec, "map", map);
			record_end(&rec);
			len = 0;
		}
		if (!got)
			break;
		line[strcspn(line, "\n")] = ';';
		len += (size_t)snprintf(map + len, sizeof(map) - len, "%s", line);
	}
	if (f)
		fclose(f);
}

static int run_phase(const struct recipe *r, int place, struct phase *out)
{
	static pid_t servers[MOST_CLIENTS], clients[MOST_CLIENTS];
	unsigned nr_servers = place == GROUP ? r->groups : 1;
	int ready[2], reports[2], ret = -1;
	char names[MOST_CLIENTS];

	memset(out, 0, sizeof(*out));
	memset(servers, 0, sizeof(servers));
	memset(clients, 0, sizeof(clients));
	if (pipe(ready) < 0 || pipe(reports) < 0) {
		perror("experiment: pipe");
		return -1;
	}
	fflush(stdout);
	for (unsigned i = 0; i < nr_servers; i++)
		servers[i] = start_server(r, place, i, ready[1]);
	if (read_until(ready[0], names, nr_servers, np_now() + START_SECONDS) != nr_servers) {
		fprintf(stderr, "experiment: netserver did not start\n");
		goto out;
	}
	for (unsigned i = 0; i < r->clients; i++)
		clients[i] = start_client(r, place, i, ready[1], reports[1]);
	close(ready[1]);
	close(reports[1]);
	ready[1] = reports[1] = -1;
	if (read_until(ready[0], names, r->clients, np_now() + START_SECONDS) != r->clients) {
		fprintf(stderr, "experiment: not all of %u clients came to run\n", r->clients);
		goto out;
	}

	if (memchr(names, 'E', r->clients)) {
		for (unsigned i = 0; i < r->clients; i++)
			kill(clients[i], SIGUSR2);
		collect(r, reports[0], out, 1); /* prints what went wrong */
		goto out;
	}

	for (unsigned i = 0; i < r->clients; i++)
		kill(clients[i], SIGUSR1);
	if (read_until(ready[0], names, r->clients, np_now() + START_SECONDS) != r->clients) {
		fprintf(stderr, "experiment: not all of %u clients heard the start\n", r->clients);
		goto out;
	}
	for (int i = 0; i < NR_COUNTERS; i++)
		out->counters[i] = -counter_read(MEMCG_COUNTERS, counters[i].key);
	out->window = -np_now();
	mark_begin(place);
	if (r->profile && place == GROUP)
		profile_window("a", r->seconds, &profile);
	else
		sleep_for(r->seconds);
	mark_end();
	out->window += np_now();
	if (place == GROUP && getenv("EXPERIMENT_SLABS"))
		put_slabs();
	for (int i = 0; i < NR_COUNTERS; i++)
		out->counters[i] += counter_read(MEMCG_COUNTERS, counters[i].key);
	for (unsigned i = 0; i < r->clients; i++)
		kill(clients[i], SIGUSR2);
	ret = collect(r, reports[0], out, 0);
out:
	end_all("client", clients, r->clients, ret < 0 ? SIGKILL : 0);
	end_all("netserver", servers, nr_servers, SIGTERM);
	close(ready[0]);
	close(reports[0]);
	if (ready[1] >= 0)
		close(ready[1]);
	if (reports[1] >= 0)
		close(reports[1]);
	return ret;
}

static int make_groups(const struct recipe *r)
{
	static const char *const chain[] = { "a", "a/b" };
	char leaf[32];

	group_write("", "cgroup.subtree_control", "+memory");
	for (int i = 0; i < 2; i++) {
		if (group_make(chain[i]) < 0)
			goto fail;
		if (group_write(chain[i], "cgroup.subtree_control", "+memory") < 0)
			fprintf(stderr, "experiment: %s: no memory controller: %s\n", chain[i],
				strerror(errno));
	}
	if (group_write("a", "memory.min", "200K") < 0 ||
	    group_write("a", "memory.low", "400K") < 0)
		fprintf(stderr, "experiment: memory.min and memory.low of a: %s\n",
			strerror(errno));
	for (unsigned i = 0; i < r->groups; i++) {
		leaf_name(leaf, sizeof(leaf), r, i);
		if (group_make(leaf) < 0)
			goto fail;
	}
	return 0;
fail:
	fprintf(stderr, "experiment: cannot make groups: %s\n", strerror(errno));
	return -1;
}

/* A netserver's last process may still be ending: a bounded number of tries. */
static int remove_group(const char *group)
{
	double end = np_now() + REMOVE_SECONDS;

	while (group_remove(group) < 0) {
		if (errno != EBUSY || np_now() > end) {
			fprintf(stderr, "experiment: rmdir %s: %s\n", group, strerror(errno));
			return -1;
		}
		usleep(10000);
	}
	return 0;
}

static void remove_groups(const struct recipe *r)
{
	char leaf[32];

	for (unsigned i = 0; i < r->groups; i++) {
		leaf_name(leaf, sizeof(leaf), r, i);
		remove_group(leaf);
	}
	remove_group("a/b");
	remove_group("a");
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, unsigned n)
{
	double sorted[64];

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static void put_variant(struct record *rec, const struct recipe *r)
{
	if (r->variant)
		record_string(rec, "variant", r->variant);
}

static void put_results(const struct recipe *r, struct phase (*rounds)[2])
{
	double mbps[64], ratio[64], per_msg[NR_COUNTERS][64];
	double tax, low = INFINITY, high = -INFINITY;
	struct record rec;

	for (int place = ROOT; place <= GROUP; place++) {
		for (unsigned i = 0; i < r->rounds; i++)
			mbps[i] = rounds[i][place].mbps;
		record_begin(&rec, "recipe");
		put_variant(&rec, r);
		record_string(&rec, "where", place_names[place]);
		record_int(&rec, "groups", r->groups);
		record_int(&rec, "clients", r->clients);
		record_int(&rec, "rounds", r->rounds);
		record_number(&rec, "seconds", r->seconds);
		record_number(&rec, "mbps_total", median(mbps, r->rounds));
		record_number(&rec, "mbps_mean", median(mbps, r->rounds) / r->clients);
		record_end(&rec);
	}
	for (unsigned i = 0; i < r->rounds; i++) {
		const struct phase *g = &rounds[i][GROUP];

		ratio[i] = g->mbps / rounds[i][ROOT].mbps;
		for (int k = 0; k < NR_COUNTERS; k++)
			per_msg[k][i] = g->counters[k] / g->msgs;
		low = fmin(low, 100 * (1 - ratio[i]));
		high = fmax(high, 100 * (1 - ratio[i]));
	}
	tax = 100 * (1 - median(ratio, r->rounds));
	record_begin(&rec, "recipe-tax");
	put_variant(&rec, r);
	record_int(&rec, "groups", r->groups);
	record_int(&rec, "clients", r->clients);
	record_int(&rec, "rounds", r->rounds);
	record_number(&rec, "tax_percent", tax);
	record_number(&rec, "tax_low", low);
	record_number(&rec, "tax_high", high);
	for (int k = 0; k < NR_COUNTERS; k++)
		record_number(&rec, counters[k].field, median(per_msg[k], r->rounds));
	if (r->layout_fields) {
		record_number(&rec, "counter_bytes", counter_read(MEMCG_LAYOUT, "counter_bytes"));
		record_number(&rec, "group_bytes", counter_read(MEMCG_LAYOUT, "group_bytes"));
	}
	record_end(&rec);
	printf("tax %.2f %% (%.2f to %.2f), %.3f pages charged and %.4f walks per message\n", tax,
	       low, high, median(per_msg[0], r->rounds), median(per_msg[1], r->rounds));
}

int recipe_run(const struct recipe *r)
{
	static struct phase rounds[64][2];
	struct record rec;
	int ret = -1;

	if (make_groups(r) < 0)
		return -1;
	for (unsigned i = 0; i < r->rounds; i++) {
		for (int k = 0; k < 2; k++) {
			int place = (i & 1) ^ (unsigned)k;
			struct phase *p = &rounds[i][place];

			if (run_phase(r, place, p) < 0)
				goto out;
			printf("%s%sround %u %-5s %10.1f Mbit/s in all, %9.1f per client\n",
			       r->variant ? r->variant : "", r->variant ? " " : "", i + 1,
			       place_names[place], p->mbps, p->mbps / r->clients);
			fflush(stdout);
			record_begin(&rec, "recipe-round");
			put_variant(&rec, r);
			record_int(&rec, "round", i + 1);
			record_string(&rec, "where", place_names[place]);
			record_number(&rec, "mbps_total", p->mbps);
			record_number(&rec, "msgs", p->msgs);
			record_end(&rec);
		}
	}
	put_results(r, rounds);
	if (r->profile)
		profile_put(&profile, r->variant, 30);
	ret = 0;
out:
	perf_table_free(&profile);
	remove_groups(r);
	return ret;
}
