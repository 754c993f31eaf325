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

inline rcu_lock() { readers = readers | (1 << me) }
inline rcu_unlock() {
	d_step {
		readers = readers & ~(1 << me);
		owait[0] = owait[0] & ~(1 << me);
		owait[1] = owait[1] & ~(1 << me);
		owait[2] = owait[2] & ~(1 << me);
		await[0] = await[0] & ~(1 << me);
		await[1] = await[1] & ~(1 << me);
		await[2] = await[2] & ~(1 << me)
	}
}
#define OWNER_OK(o)   assert((o) == ROOT || !oqueued[o] || owait[o] != 0)
#define ACCOUNT_OK(a) assert((a) == ROOT || !aqueued[a] || await[a] != 0)

/* end = were both halves zero, and are we the one? */
inline owner_ended(o) {
	end = false;
	OWNER_OK(o);
	if
	:: refs[o] == 0 ->
		if
		:: bytes[o] == 0 ->
			d_step { end = !freed[o]; freed[o] = true }
		:: else
		fi
	:: else
	fi
}

/* Frees r and goes on up the chain while references end. */
inline owner_release() {
	do
	:: atomic {
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
		d_step { OWNER_OK(nx); assert(refs[nx] > 0); refs[nx] = refs[nx] - 1 };
		owner_ended(nx);
		if
		:: end -> r = nx
		:: else -> break
		fi
	od;
	r = 0;
	nx = 0
}

inline owner_put(o) { /* in a read-side section */
	if
	:: (o) != ROOT ->
		d_step { OWNER_OK(o); assert(refs[o] > 0); refs[o] = refs[o] - 1 };
		owner_ended(o);
		if
		:: end -> r = o; owner_release()
		:: else
		fi
	:: else
	fi
}

/* The account that owner 0 stands for, in at; shortens the chain on the way. */
inline owner_account() {
	at = 0;
	do
	:: OWNER_OK(at);
		if
		:: open[at] -> break
		:: else
		fi;
		p = parent[at];
		OWNER_OK(p);
		if
		:: open[p] -> at = p
		:: else ->
			g = parent[p];
			if
			:: g == 255 -> at = p
			:: else ->
				ok = true;
				if
				:: g != ROOT ->
					d_step {
						OWNER_OK(g);
						ok = refs[g] > 0;
						if
						:: ok -> refs[g] = refs[g] + 1
						:: else
						fi
					}
				:: else
				fi;
				if
				:: !ok -> at = p
				:: else ->
					d_step {
						ok = parent[at] == p && !dropped[at];
						if
						:: ok -> parent[at] = g
						:: else
						fi
					};
					at = g;
					if
					:: ok -> owner_put(p)
					:: else -> owner_put(g)
					fi
				fi
			fi
		fi
	od;
	p = 0;
	g = 0;
	ok = false
}

proctype cpu(byte me) {
	byte at, p, g, r, nx;
	bool ok, end;

	if
	:: me == 1 ->
		/* Charge. */
		rcu_lock();
		owner_account();
		atomic {
			do
			:: at < ROOT -> ACCOUNT_OK(at); usage[at] = usage[at] + 1; at++
			:: else -> break
			od;
			usage[ROOT] = usage[ROOT] + 1
		};
		d_step { OWNER_OK(0); bytes[0] = bytes[0] + 1 };
		rcu_unlock();
		/* The socket goes. */
		rcu_lock();
		owner_put(0);
		rcu_unlock();
	:: else
	fi;
	/* The page goes. */
	rcu_lock();
	owner_account();
	atomic {
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
	:: end -> r = 0; owner_release()
	:: else
	fi;
	rcu_unlock();
	d_step { done++; at = 0; end = false }
}

proctype remover() {
	byte me = 0, r, nx, o;
	bool end;

	do
	:: o < GROUPS ->
		/* owner_close(). */
		if
		:: o + 1 != ROOT -> d_step { OWNER_OK(o + 1); refs[o + 1] = refs[o + 1] + 1 }
		:: else
		fi;
		parent[o] = o + 1;
		open[o] = false;
		rcu_lock();
		owner_put(o);
		rcu_unlock();
		d_step { aqueued[o] = true; await[o] = readers };
		o++
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
#ifdef FEW
	/* The quick check: one charging CPU. */
	d_step { bytes[0] = 0; usage[0] = 0; usage[1] = 0; usage[2] = 0; usage[3] = 0; done = 1 };
	atomic { run remover(); run cpu(1) };
#else
	atomic { run remover(); run cpu(1); run cpu(2) };
#endif
	done == 3;
	assert(usage[ROOT] == 0);
	assert(once[0] && once[1] && once[2])
}
