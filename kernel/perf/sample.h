/* SPDX-License-Identifier: MIT */
/* The profiler's inside: see sample.c. */
#ifndef KERNEL_PERF_SAMPLE_H
#define KERNEL_PERF_SAMPLE_H

#include "kernel/types.h"

struct file;
struct perf_event;

/* The event behind a descriptor of perf_event_open(), or NULL. */
struct perf_event *perf_event_of_file(struct file *f);

#endif /* KERNEL_PERF_SAMPLE_H */
