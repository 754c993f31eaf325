/* SPDX-License-Identifier: MIT */
/* Asks the kernel for its sockets (NETLINK_SOCK_DIAG); layouts are Linux's, but for GROUP. */
#ifndef APPS_LIB_SS_DIAG_H
#define APPS_LIB_SS_DIAG_H

#include <stdint.h>

#define SS_TCP 6
#define SS_UDP 17
#define SS_RAW 255
#define SS_UNIX 0

/* States as TCP numbers them. */
enum { SS_ESTAB = 1, SS_SYN_SENT, SS_SYN_RECV, SS_FIN_WAIT1, SS_FIN_WAIT2, SS_TIME_WAIT, SS_CLOSE,
       SS_CLOSE_WAIT, SS_LAST_ACK, SS_LISTEN, SS_CLOSING, SS_NR_STATES };

struct ss_tcp_info { /* struct tcp_info as far as it is shown */
	uint8_t state, ca_state, retransmits, probes, backoff, options, wscale, app_limited;
	uint32_t rto, ato, snd_mss, rcv_mss;
	uint32_t unacked, sacked, lost, retrans, fackets;
	uint32_t last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	uint32_t pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	uint32_t rcv_rtt, rcv_space, total_retrans;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt;
};

struct ss_socket {
	int family, protocol, state;
	uint8_t laddr[16], raddr[16];
	unsigned lport, rport, rqueue, wqueue, uid, inode;
	int has_memory, has_info, v6only;
	uint32_t memory[9];
	char group[256], cong[16];
	struct ss_tcp_info info;
	int type;      /* AF_UNIX, here and below: SOCK_* */
	unsigned peer; /* its inode; 0: none */
	char name[110]; /* abstract names begin with @ */
};

/**
 * ss_list - call @fn for each socket of @family and @protocol in one of @states (bits)
 * Return: 0, or -1 with errno set.
 */
int ss_list(int family, int protocol, unsigned states,
	    void (*fn)(const struct ss_socket *s, void *arg), void *arg);
/* The same for AF_UNIX. */
int ss_list_unix(unsigned states, void (*fn)(const struct ss_socket *s, void *arg), void *arg);

#endif
