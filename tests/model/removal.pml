/* SPDX-License-Identifier: MIT */
/*
 * Model of group removal: owners, the chain of closed ones, references, grace periods
 * (mm/owner.c, mm/memcg_account.c), exhaustively.
 *
 * Groups 0 below 1 below 2 below the root (3).  One CPU removes 0, then 1, then 2.
 * CPU 1 holds a reference to group 0's owner (a socket), charges one page, drops the
 * reference, and gives the page back later.  CPU 2 gives back a page charged before.  RCU: what is queued is free when every
 * reader of that moment has ended.
 *
 * With -DNO_DROPPED it shows what mm/owner.c did at first: a reader that shortens the
 * chain of an owner that is being freed drops its parent's reference once more.
 *
 * A walk over the counters is one step here: what can happen within it is the other
 * model's matter.
 *
 * Proved, in every interleaving:
 *   - nobody touches a freed owner or account;
 *   - every charge reaches each counter that lives once and is given back there once:
 *     no counter goes below zero, and the root's is zero at the end;
 *   - every closed owner is freed in the end, and once;
 *   - a removal never waits for charges.
 */
#define GROUPS 3
#define ROOT   3
#define CPUS   3 /* 0 removes */

bool open[4];
byte parent[4];
byte usage[4];
byte refs[3];
byte bytes[3];
bool dropped[3];    /* bit 0 of the parent pointer */
bool freed[3];      /* one of two who see the end frees */
bool oqueued[3];
byte owait[3];      /* readers that an owner's memory waits for */
bool aqueued[3];
byte await[3];
byte readers;       /* CPUs in a read-side section */
byte done;
bool once[3];       /* ghost: call_rcu was called for this owner */

/*
 * What happens between two looks at shared data is one step with the second of them:
 * nobody sees the difference, and there are fewer orders.  For the same reason a
 * read-side section begins with the first look in it and ends with the last: a section
 * that is shorter protects less, so nothing is missed.
 */
inline rcu_lock() { readers = readers | (1 << me) }
inline rcu_unlock() {
	readers = readers & ~(1 << me);
	owait[0] = owait[0] & ~(1 << me);
	owait[1] = owait[1] & ~(1 << me);
	owait[2] = owait[2] & ~(1 << me);
	await[0] = await[0] & ~(1 << me);
	await[1] = await[1] & ~(1 << me);
	await[2] = await[2] & ~(1 << me)
}
#define OWNER_OK(o)   assert((o) == ROOT || !oqueued[o] || owait[o] != 0)
#define ACCOUNT_OK(a) assert((a) == ROOT || !aqueued[a] || await[a] != 0)

/* end = were both halves of o zero, and are we the one? */
inline owner_ended(o) {
	d_step { OWNER_OK(o); end = refs[o] == 0 };
	if
	:: end -> d_step { OWNER_OK(o); end = bytes[o] == 0 }
	:: else
	fi;
	if
	:: end -> d_step { OWNER_OK(o); end = !freed[o]; freed[o] = true }
	:: else
	fi
}

inline refs_drop(o) { OWNER_OK(o); assert(refs[o] > 0); refs[o] = refs[o] - 1 }

/* Frees r and goes on up the chain while references end. */
inline owner_release() {
	do
	:: true ->
		d_step {
			nx = parent[r];
#ifndef NO_DROPPED
			dropped[r] = true
#endif
		};
		d_step {
			assert(!once[r]);
			once[r] = true;
			oqueued[r] = true;
			owait[r] = readers
		};
		if
		:: nx == ROOT || nx == 255 -> break
		:: else
		fi;
		d_step { refs_drop(nx); r = nx };
		owner_ended(r);
		if
		:: end
		:: else -> break
		fi
	od;
	r = 0;
	d_step { nx = 0; end = false }
}

/* The account that owner 0 stands for, in at; shortens the chain on the way. */
inline owner_account() {
	d_step { rcu_lock(); at = 0; OWNER_OK(0); ok = open[0] };
	do
	:: ok -> break
	:: else ->
		d_step { OWNER_OK(at); p = parent[at] };
		d_step { OWNER_OK(p); ok = open[p] };
		if
		:: ok -> at = p
		:: else ->
			d_step { OWNER_OK(p); g = parent[p] };
			if
			:: g == 255 -> at = p
			:: else ->
				d_step {
					ok = true;
					if
					:: g != ROOT ->
						OWNER_OK(g);
						ok = refs[g] > 0;
						if
						:: ok -> refs[g] = refs[g] + 1
						:: else
						fi
					:: else
					fi
				};
				if
				:: !ok -> at = p
				:: else ->
					d_step {
						OWNER_OK(at);
						ok = parent[at] == p && !dropped[at];
						if
						:: ok -> parent[at] = g; r = p
						:: else -> r = g
						fi;
						at = g
					};
					/* owner_put() of the old parent, or of the new one. */
					if
					:: r != ROOT ->
						d_step { refs_drop(r) };
						owner_ended(r);
						if
						:: end -> owner_release()
						:: else -> r = 0
						fi
					:: else -> r = 0
					fi
				fi
			fi
		fi;
		d_step { p = 0; g = 0; OWNER_OK(at); ok = open[at] }
	od;
	ok = false
}

proctype cpu(byte me) {
	byte at, p, g, r, nx;
	bool ok, end;

	if
	:: me == 1 ->
		/* Charge. */
		owner_account();
		d_step {
			do
			:: at < ROOT -> ACCOUNT_OK(at); usage[at] = usage[at] + 1; at++
			:: else -> break
			od;
			usage[ROOT] = usage[ROOT] + 1
		};
		/* The next section begins at once: the socket goes. */
		d_step { OWNER_OK(0); bytes[0] = bytes[0] + 1; at = 0; rcu_unlock(); rcu_lock() };
		d_step { refs_drop(0) };
		owner_ended(0);
		if
		:: end -> owner_release()
		:: else
		fi;
		d_step { rcu_unlock(); end = false }
	:: else
	fi;
	/* The page goes. */
	owner_account();
	d_step {
		do
		:: at < ROOT ->
			ACCOUNT_OK(at);
			assert(usage[at] > 0);
			usage[at] = usage[at] - 1;
			at++
		:: else -> break
		od;
		assert(usage[ROOT] > 0);
		usage[ROOT] = usage[ROOT] - 1;
		at = 0
	};
	d_step { OWNER_OK(0); assert(bytes[0] > 0); bytes[0] = bytes[0] - 1 };
	owner_ended(0);
	if
	:: end -> owner_release()
	:: else
	fi;
	d_step { rcu_unlock(); end = false; done++ }
}

proctype remover() {
	byte me = 0, r, nx, o;
	bool end;

	do
	:: o < GROUPS ->
		/*
		 * owner_close(), one step: the reference on the next owner is there before anybody
		 * can look for it, as that owner's account is open; its parent is looked at only
		 * when it is closed.
		 */
		d_step {
			if
			:: o + 1 != ROOT -> OWNER_OK(o + 1); refs[o + 1] = refs[o + 1] + 1
			:: else
			fi;
			parent[o] = o + 1;
			open[o] = false
		};
		/* owner_put() */
		d_step { rcu_lock(); refs_drop(o) };
		owner_ended(o);
		if
		:: end -> r = o; owner_release()
		:: else
		fi;
		d_step { rcu_unlock(); end = false; aqueued[o] = true; await[o] = readers; o++ }
	:: else -> break
	od;
	done++
}

init {
	d_step {
		open[0] = true;
		open[1] = true;
		open[2] = true;
		open[3] = true;
		parent[0] = 255;
		parent[1] = 255;
		parent[2] = 255;
		parent[3] = 255;
		refs[0] = 2;
		bytes[0] = 1;
		usage[0] = 1;
		usage[1] = 1;
		usage[2] = 1;
		usage[3] = 1;
		refs[1] = 1;
		refs[2] = 1
	};
	atomic { run remover(); run cpu(1); run cpu(2) };
	done == 3;
	assert(usage[ROOT] == 0);
	assert(once[0] && once[1] && once[2])
}
