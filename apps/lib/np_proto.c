/* SPDX-License-Identifier: MIT */
/* Implements np_proto.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"

void np_set_float(struct np_msg *m, unsigned n, float value)
{
	memcpy(&m->w[n], &value, 4);
}

void np_set_double(struct np_msg *m, unsigned n, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	m->w[n] = (uint32_t)(bits >> 32);
	m->w[n + 1] = (uint32_t)bits;
}

float np_get_float(const struct np_msg *m, unsigned n)
{
	float value;

	memcpy(&value, &m->w[n], 4);
	return value;
}

double np_get_double(const struct np_msg *m, unsigned n)
{
	uint64_t bits = (uint64_t)m->w[n] << 32 | m->w[n + 1];
	double value;

	memcpy(&value, &bits, 8);
	return value;
}

void np_set_u64(struct np_msg *m, unsigned n, uint64_t value)
{
	m->w[n] = (uint32_t)(value >> 32);
	m->w[n + 1] = (uint32_t)value;
}

uint64_t np_get_u64(const struct np_msg *m, unsigned n)
{
	return (uint64_t)m->w[n] << 32 | m->w[n + 1];
}

/* Words are in host order here: the first byte of text is the highest of its word. */
void np_set_text(struct np_msg *m, unsigned byte, const char *text, size_t size)
{
	for (size_t i = 0; text[i] && i + 1 < size; i++, byte++)
		m->w[byte / 4] |= (uint32_t)(unsigned char)text[i] << (24 - 8 * (byte % 4));
}

void np_get_text(const struct np_msg *m, unsigned byte, char *text, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size; i++, byte++) {
		text[i] = (char)(m->w[byte / 4] >> (24 - 8 * (byte % 4)));
		if (!text[i])
			return;
	}
	text[i] = '\0';
}

int np_send(int fd, const struct np_msg *m)
{
	uint32_t wire[NP_WORDS];
	size_t done = 0;

	for (unsigned i = 0; i < NP_WORDS; i++)
		wire[i] = __builtin_bswap32(m->w[i]);
	while (done < sizeof(wire)) {
		ssize_t n = send(fd, (char *)wire + done, sizeof(wire) - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

int np_recv(int fd, struct np_msg *m, unsigned timeout_s)
{
	double end = np_now() + timeout_s;
	size_t done = 0;

	while (done < sizeof(m->w)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = end - np_now();
		int ready = poll(&p, 1, !timeout_s ? -1 : left > 0 ? (int)(left * 1000) + 1 : 0);
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			errno = ETIMEDOUT;
		if (ready <= 0)
			return -1;
		n = recv(fd, (char *)m->w + done, sizeof(m->w) - done, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0) {
			errno = EPROTO;
			return done ? -1 : 0;
		}
		done += (size_t)n;
	}
	for (unsigned i = 0; i < NP_WORDS; i++)
		m->w[i] = __builtin_bswap32(m->w[i]);
	return 1;
}

double np_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int np_cpu_read(struct np_cpu *cpu)
{
	FILE *f = fopen("/proc/stat", "r");
	char line[256];
	double v[8] = { 0 };

	if (!f)
		return -1;
	memset(cpu, 0, sizeof(*cpu));
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "cpu ", 4)) {
			/* user nice system idle iowait irq softirq steal */
			sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2],
			       &v[3], &v[4], &v[5], &v[6], &v[7]);
		} else if (!strncmp(line, "cpu", 3)) {
			cpu->cpus++;
		}
	}
	fclose(f);
	for (int i = 0; i < 8; i++)
		cpu->total += v[i];
	cpu->busy = cpu->total - v[3] - v[4];
	return cpu->cpus ? 0 : -1;
}

float np_cpu_percent(const struct np_cpu *from, const struct np_cpu *to)
{
	double total = to->total - from->total;

	return total > 0 ? (float)(100.0 * (to->busy - from->busy) / total) : -1.0f;
}
