/* SPDX-License-Identifier: MIT */
/*
 * A host machine with one CPU in virtual time that serves calls from other
 * threads of the process.
 *
 * The CPU is a thread of its own.  A call is queued, run in a kernel thread of
 * the machine and may block there; its caller then sleeps on a condition
 * variable.  Time stands still unless machine_advance() moves it: from timer to
 * timer, each time until the machine has nothing left to do.
 *
 * Locks: machine.c's mutex over the queue of calls and the state of an advance;
 *        the machine's own CPU takes it only around a few lines.
 */
#ifndef TESTS_PACKETDRILL_MACHINE_H
#define TESTS_PACKETDRILL_MACHINE_H

#include "kernel/types.h"

struct process;

/* Boots the machine and runs @setup in it; calls run as a thread of what it sets @process to.  Once. */
void machine_start(struct process *const *process, void (*setup)(void));

/**
 * machine_call - run @fn(@arg) in the machine
 *
 * Context: any thread but the machine's own; sleeps until @fn has returned.  For
 * a call of the thread that started the machine time passes by itself (and the
 * process ends if five minutes do not suffice); for others that thread moves it.
 */
long machine_call(long (*fn)(void *arg), void *arg);

/**
 * machine_advance - let @ns nanoseconds pass
 * @until: asked whenever the machine is idle; true ends the advance early.
 *         Runs under the machine's mutex; NULL: never
 *
 * Timers that fall due run at their time.  If a call of another thread returns
 * meanwhile, time stops until that thread has read the clock (for a second of
 * real time at most).
 *
 * Return: whether @until ended it; then the clock stands where that happened,
 * else at the end of the time, or, with @until, at the last timer.
 */
bool machine_advance(uint64_t ns, bool (*until)(void));

/* The clock in nanoseconds; each look moves it by a microsecond, since callers may spin on it. */
uint64_t machine_clock(void);

/* Reports what cannot go on and ends the process with status 1. */
void __noreturn machine_die(const char *fmt, ...) __printf(1, 2);

#endif /* TESTS_PACKETDRILL_MACHINE_H */
