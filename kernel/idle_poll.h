/* SPDX-License-Identifier: MIT */
/*
 * Devices that an idle CPU looks at for a moment before it halts.
 *
 * Halting and being woken costs more than many a wait for the next packet: an
 * interrupt, and under an emulator a host thread that sleeps and is woken.  So a
 * CPU with nothing to do looks at its device's memory for up to idle.poll_us,
 * with the device's interrupts off, as long as that has paid lately.
 */
#ifndef KERNEL_IDLE_POLL_H
#define KERNEL_IDLE_POLL_H

#include "kernel/types.h"

/*
 * All three are called on the device's CPU while it idles, interrupts off, and take
 * no locks; not while the device's own code may run.
 */
struct idle_poller {
	bool (*look)(struct idle_poller *p);  /* has something come? */
	void (*quiet)(struct idle_poller *p); /* no interrupts from now on */
	/* Interrupts again; does what the interrupt does if something has come. */
	void (*arm)(struct idle_poller *p);
	bool ready; /* written on that CPU: the driver waits for its device */
	/* An answer may come soon: looking is for request and response, not for a stream. */
	_Atomic bool asked;
};

/**
 * idle_poll_add - let @cpu look at a device when it idles
 * @p: stays for good
 * Return: false if another device has the place; interrupts have to do then.
 */
bool idle_poll_add(struct idle_poller *p, unsigned cpu);

#endif /* KERNEL_IDLE_POLL_H */
