/* SPDX-License-Identifier: MIT */
#ifndef _NETINET_TCP_H
#define _NETINET_TCP_H

#include <stdint.h>

#define TCP_NODELAY    1
#define TCP_MAXSEG     2
#define TCP_CORK       3
#define TCP_INFO       11
#define TCP_CONGESTION 13

struct tcp_info {
	uint8_t tcpi_state, tcpi_ca_state, tcpi_retransmits, tcpi_probes, tcpi_backoff, tcpi_options;
	uint8_t tcpi_wscale, tcpi_flags;
	uint32_t tcpi_rto, tcpi_ato, tcpi_snd_mss, tcpi_rcv_mss;
	uint32_t tcpi_unacked, tcpi_sacked, tcpi_lost, tcpi_retrans, tcpi_fackets;
	uint32_t tcpi_last_data_sent, tcpi_last_ack_sent, tcpi_last_data_recv, tcpi_last_ack_recv;
	uint32_t tcpi_pmtu, tcpi_rcv_ssthresh, tcpi_rtt, tcpi_rttvar, tcpi_snd_ssthresh;
	uint32_t tcpi_snd_cwnd, tcpi_advmss, tcpi_reordering, tcpi_rcv_rtt, tcpi_rcv_space;
	uint32_t tcpi_total_retrans;
};

#endif
