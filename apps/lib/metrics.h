/* SPDX-License-Identifier: MIT */
/*
 * What metricsd tells: figures of the memory groups, the CPUs and the network
 * devices, read from the kernel's files, as text of Prometheus (text format
 * 0.0.4: families with HELP and TYPE, all samples of one together).
 */
#ifndef APPS_LIB_METRICS_H
#define APPS_LIB_METRICS_H

#include "apps/lib/text.h"

/**
 * metrics_write - read everything now
 * @root: where groups are, usually "/sys/fs/cgroup"
 * @t: appended to; t->failed without memory
 *
 * A group that goes away while it is read is left out of the rest.
 */
void metrics_write(struct text *t, const char *root);

#endif
