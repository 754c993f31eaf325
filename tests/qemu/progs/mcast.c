// SPDX-License-Identifier: MIT
/*
 * mcast GROUP DEVICE SECONDS: joins the group, prints what is sent to it, leaves it after
 * that time, or when "end" comes.
 * IPv4: IP_ADD_MEMBERSHIP; IPv6: IPV6_JOIN_GROUP.  Port 5353.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <netinet/in.h>

int main(int argc, char **argv)
{
	int v6 = argc == 4 && strchr(argv[1], ':') != NULL;
	int s = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0), ret;
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(5353) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(5353) };
	struct ipv6_mreq m6 = { 0 };
	struct ip_mreqn m4 = { 0 };
	struct pollfd p = { .fd = s, .events = POLLIN };
	char buf[100];
	time_t end;

	if (argc != 4)
		return 2;
	end = time(NULL) + atoi(argv[3]);
	inet_pton(AF_INET6, argv[1], &m6.ipv6mr_multiaddr);
	inet_pton(AF_INET, argv[1], &m4.imr_multiaddr);
	m6.ipv6mr_interface = m4.imr_ifindex = if_nametoindex(argv[2]);
	if (v6) /* the IPv4 group has the same port */
		setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	ret = v6 ? bind(s, (void *)&a6, sizeof(a6)) : bind(s, (void *)&a4, sizeof(a4));
	if (!ret)
		ret = v6 ? setsockopt(s, IPPROTO_IPV6, IPV6_JOIN_GROUP, &m6, sizeof(m6))
			 : setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m4, sizeof(m4));
	if (ret) {
		perror("mcast");
		return 1;
	}
	while (time(NULL) < end) {
		ssize_t n;

		if (poll(&p, 1, 200) <= 0)
			continue;
		n = recv(s, buf, sizeof(buf) - 1, 0);
		if (n >= 0) {
			buf[n] = 0;
			printf("%s: %s\n", argv[1], buf);
			fflush(stdout);
			if (!strcmp(buf, "end"))
				break;
		}
	}
	ret = v6 ? setsockopt(s, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &m6, sizeof(m6))
		 : setsockopt(s, IPPROTO_IP, IP_DROP_MEMBERSHIP, &m4, sizeof(m4));
	return ret != 0;
}
