/* SPDX-License-Identifier: MIT */
/* Name resolution: numeric addresses, "localhost" and numeric ports only. */
#ifndef _NETDB_H
#define _NETDB_H

#include <sys/socket.h>

struct addrinfo {
	int ai_flags, ai_family, ai_socktype, ai_protocol;
	socklen_t ai_addrlen;
	struct sockaddr *ai_addr;
	char *ai_canonname;
	struct addrinfo *ai_next;
};

#define AI_PASSIVE     0x01
#define AI_NUMERICHOST 0x04
#define AI_NUMERICSERV 0x400

#define EAI_NONAME  (-2)
#define EAI_FAMILY  (-6)
#define EAI_SERVICE (-8)
#define EAI_MEMORY  (-10)

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		struct addrinfo **result);
void freeaddrinfo(struct addrinfo *list);
const char *gai_strerror(int code);

#endif
