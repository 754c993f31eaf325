/* SPDX-License-Identifier: MIT */
/*
 * Addresses as text (RFC 4291 section 2.2, RFC 5952 for printing) and
 * getaddrinfo for numeric hosts and "localhost".
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_v4(const char *s, uint8_t out[4])
{
	for (int i = 0; i < 4; i++) {
		unsigned v = 0;
		int digits = 0;

		while (isdigit((unsigned char)*s) && digits < 4) {
			v = v * 10 + (unsigned)(*s++ - '0');
			digits++;
		}
		if (!digits || v > 255 || *s != (i < 3 ? '.' : 0))
			return 0;
		out[i] = (uint8_t)v;
		s++;
	}
	return 1;
}

/* Groups before "::" go to the front, those after it to the end. */
static int parse_v6(const char *s, uint8_t out[16])
{
	uint8_t tail[16];
	int n = 0, gap = -1;

	memset(out, 0, 16);
	if (s[0] == ':' && s[1] != ':')
		return 0;
	while (*s) {
		const char *start = s;
		unsigned v = 0;
		int digits = 0;

		if (s[0] == ':' && s[1] == ':') {
			if (gap >= 0)
				return 0;
			gap = n;
			s += 2;
			continue;
		}
		if (n && s[0] == ':' && gap != n)
			s++;
		start = s;
		while (isxdigit((unsigned char)*s) && digits < 5) {
			v = v * 16 + (unsigned)(isdigit((unsigned char)*s)
							? *s - '0'
							: tolower((unsigned char)*s) - 'a' + 10);
			s++;
			digits++;
		}
		if (*s == '.' && n <= 12) {
			if (!parse_v4(start, out + n))
				return 0;
			n += 4;
			break;
		}
		if (!digits || digits > 4 || n > 14 || (*s && *s != ':'))
			return 0;
		out[n++] = (uint8_t)(v >> 8);
		out[n++] = (uint8_t)v;
		if (s[0] == ':' && !s[1])
			return 0;
	}
	if (gap < 0)
		return n == 16;
	if (n >= 16)
		return 0;
	memcpy(tail, out + gap, (size_t)(n - gap));
	memset(out + gap, 0, (size_t)(16 - gap));
	memcpy(out + 16 - (n - gap), tail, (size_t)(n - gap));
	return 1;
}

int inet_pton(int family, const char *text, void *addr)
{
	uint8_t buf[16];

	if (family == AF_INET) {
		if (!parse_v4(text, buf))
			return 0;
		memcpy(addr, buf, 4);
		return 1;
	}
	if (family == AF_INET6) {
		if (!parse_v6(text, buf))
			return 0;
		memcpy(addr, buf, 16);
		return 1;
	}
	errno = EAFNOSUPPORT;
	return -1;
}

static void print_v6(const uint8_t *a, char *out, size_t size)
{
	unsigned g[8];
	int best = -1, best_len = 1;
	size_t pos = 0;

	for (int i = 0; i < 8; i++)
		g[i] = (unsigned)a[2 * i] << 8 | a[2 * i + 1];
	for (int i = 0; i < 8; i++) {
		int len = 0;

		while (i + len < 8 && !g[i + len])
			len++;
		if (len > best_len) {
			best = i;
			best_len = len;
		}
	}
	out[0] = 0;
	for (int i = 0; i < 8; i++) {
		if (i == best) {
			pos += (size_t)snprintf(out + pos, size - pos, "::");
			i += best_len - 1;
			continue;
		}
		pos += (size_t)snprintf(out + pos, size - pos, "%s%x",
					i && i != best + best_len ? ":" : "", g[i]);
	}
}

const char *inet_ntop(int family, const void *addr, char *text, socklen_t len)
{
	const uint8_t *a = addr;
	char buf[INET6_ADDRSTRLEN];

	if (family == AF_INET)
		snprintf(buf, sizeof(buf), "%u.%u.%u.%u", a[0], a[1], a[2], a[3]);
	else if (family == AF_INET6)
		print_v6(a, buf, sizeof(buf));
	else
		return errno = EAFNOSUPPORT, NULL;
	if (strlen(buf) >= len)
		return errno = ENOSPC, NULL;
	return strcpy(text, buf);
}

static struct addrinfo *make(int family, const void *addr, unsigned port,
			     const struct addrinfo *hints)
{
	struct addrinfo *ai = calloc(1, sizeof(*ai) + sizeof(struct sockaddr_storage));
	struct sockaddr_in6 *six;
	struct sockaddr_in *four;

	if (!ai)
		return NULL;
	ai->ai_family = family;
	ai->ai_socktype = hints && hints->ai_socktype ? hints->ai_socktype : SOCK_STREAM;
	ai->ai_protocol = hints ? hints->ai_protocol : 0;
	ai->ai_addr = (struct sockaddr *)(ai + 1);
	if (family == AF_INET6) {
		six = (struct sockaddr_in6 *)ai->ai_addr;
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		memcpy(&six->sin6_addr, addr, 16);
		ai->ai_addrlen = sizeof(*six);
	} else {
		four = (struct sockaddr_in *)ai->ai_addr;
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
		memcpy(&four->sin_addr, addr, 4);
		ai->ai_addrlen = sizeof(*four);
	}
	return ai;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **result)
{
	int family = hints ? hints->ai_family : AF_UNSPEC;
	int passive = hints && (hints->ai_flags & AI_PASSIVE);
	struct addrinfo *list = NULL, **tail = &list;
	unsigned long port = 0;
	uint8_t six[16] = { 0 }, four[4] = { 0 };
	int have6 = 0, have4 = 0;
	char *end;

	if (family != AF_UNSPEC && family != AF_INET && family != AF_INET6)
		return EAI_FAMILY;
	if (service && *service) {
		port = strtoul(service, &end, 10);
		if (*end || port > 65535)
			return EAI_SERVICE;
	}
	if (!node || !strcmp(node, "localhost")) {
		have6 = have4 = 1;
		if (node || !passive) {
			memcpy(six, &in6addr_loopback, 16);
			memcpy(four, (uint8_t[]){ 127, 0, 0, 1 }, 4);
		}
	} else {
		have6 = inet_pton(AF_INET6, node, six);
		have4 = !have6 && inet_pton(AF_INET, node, four);
	}
	if (have6 && family != AF_INET) {
		*tail = make(AF_INET6, six, (unsigned)port, hints);
		if (!*tail)
			return EAI_MEMORY;
		tail = &(*tail)->ai_next;
	}
	if (have4 && family != AF_INET6) {
		*tail = make(AF_INET, four, (unsigned)port, hints);
		if (!*tail) {
			freeaddrinfo(list);
			return EAI_MEMORY;
		}
	}
	*result = list;
	return list ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;

		free(list);
		list = next;
	}
}

const char *gai_strerror(int code)
{
	switch (code) {
	case EAI_NONAME:
		return "name is not a numeric address or localhost";
	case EAI_FAMILY:
		return "address family not supported";
	case EAI_SERVICE:
		return "port is not a number from 0 to 65535";
	case EAI_MEMORY:
		return "out of memory";
	}
	return "unknown error";
}
