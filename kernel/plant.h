/* SPDX-License-Identifier: MIT */
/*
 * Faults planted on purpose, to see whether the schedule explorer finds them
 * (make explore-faults).  They exist in that test build only: everywhere else
 * PLANTED() is 0 and the compiler drops what depends on it.
 */
#ifndef KERNEL_PLANT_H
#define KERNEL_PLANT_H

/* name, the explorer's scenario that shows it soonest, what is wrong */
#define PLANTS(X)                                                                                  \
	X(LIMBO_SKIPPED, "promise", "a walk does not announce itself")                             \
	X(UNDO_FORGOTTEN, "promise", "a refused walk is not undone on the level that refused")     \
	X(TAKE_PLAIN, "removal", "the stock is taken from by a plain store")                       \
	X(DRAIN_PLAIN, "removal", "the stock is drained by a load and a store, not an exchange")   \
	X(UNDONE_SILENT, "undecided", "a walk that is undone is not counted")                      \
	X(IRQ_CHARGES, "interrupts", "an interrupt handler charges within another charge")         \
	X(REMAINDER_PLAIN, "removal", "the remainder is taken by a plain store")                   \
	X(HOLDER_SILENT, "leaving", "a CPU holds stock and is not in the group's mask")            \
	X(SWEEP_ALL, "independence", "a sweep calls in what is held for other groups, too")        \
	X(REFERENCE_LOST, "removal", "a closed owner holds no reference to its parent")            \
	X(CLOSE_WINDOW, "removal", "an owner is closed before it has a parent")                    \
	X(CLOSE_WEAK, "removal", "an owner is closed by a weak store before its stock is read")    \
	X(PRESSURE_WEAK, "promise", "stock is forbidden by a weak store before it is read")        \
	X(SWEEP_EARLY, "promise", "stock is called in before more of it is forbidden")             \
	X(SETTLE_HASTY, "levels", "a refusal believes usage without looking who is on the way")

#ifdef TALLY_PLANT
enum plant {
	PLANT_NONE,
#define X(name, scenario, what) PLANT_##name,
	PLANTS(X)
#undef X
	NR_PLANTS
};
extern enum plant planted;
#define PLANTED(name) (planted == PLANT_##name)
#else
#define PLANTED(name) 0
#endif

#endif /* KERNEL_PLANT_H */
