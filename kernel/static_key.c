/* SPDX-License-Identifier: MIT */
/* The machine-independent half of static_key.h: who uses a switch. */
#include "kernel/static_key.h"

#include "kernel/lock.h"
#include "kernel/log.h"

static struct mutex static_keys = MUTEX_INIT(static_keys, "static_keys");

static void flip(struct static_key *key, bool on)
{
	atomic_store_explicit(&key->on, on, memory_order_relaxed);
	arch_static_key_flip(key, on);
}

void static_key_get(struct static_key *key)
{
	mutex_lock(&static_keys);
	if (!key->users++)
		flip(key, true);
	mutex_unlock(&static_keys);
}

void static_key_put(struct static_key *key)
{
	mutex_lock(&static_keys);
	ASSERT(key->users);
	if (!--key->users)
		flip(key, false);
	mutex_unlock(&static_keys);
}
