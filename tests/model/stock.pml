/* SPDX-License-Identifier: MIT */
/*
 * Model of charging against one limit: stock entries of three CPUs, walks that may
 * have to be undone, and the settling of a refused charge (mm/stock.c,
 * mm/memcg_charge.c, mm/memcg_exact.c), exhaustively.
 *
 * Each CPU charges one page, keeps the rest of its batch in its stock, and gives the
 * page back.  Memory is sequentially consistent here: the accesses that matter are in
 * the code too (what weaker orders would break, the explorer looks for).  Every
 * statement between two d_step or atomic blocks is one access to shared memory.
 *
 * Without its second look (-DNO_SECOND_LOOK) or without settling (-DNO_SETTLE) it fails.
 *
 * Proved, in every interleaving:
 *   limit     pages granted never exceed MAX
 *   promise   a charge is refused only if at some instant of the call the pages in use
 *             (granted ones until the call that gives them back has done so, those of
 *             walks that will succeed)
 *             plus one exceeded MAX
 *   nothing   when all are done and the stocks are called in, usage is zero
 *   sweep     while a CPU settles, no stock below the limit fills for good
 */
#ifndef MAX
#define MAX 2
#endif
#define CPUS  3
#define BATCH 2

byte usage;          /* the counter */
byte undone;         /* counts failed walks; taken modulo what fits */
byte pressure;
byte amount[CPUS];
bool closed[CPUS];
byte limbo[CPUS];    /* at most so many pages on their way; 0: none */
byte seq[CPUS];      /* of the limbos */
bool exact;          /* lock: one settles at a time */

/* Ghosts. */
byte in_use;         /* granted, not yet given back */
byte sure;           /* added by walks that have not been told yet that they succeeded */
bool over[CPUS];     /* in_use + sure + 1 > MAX was seen during this CPU's call */
bool calling[CPUS];
byte ended;

inline look() { /* after each change of in_use or sure: every call in progress takes note */
	if
	:: in_use + sure + 1 > MAX ->
		over[0] = over[0] || calling[0];
		over[1] = over[1] || calling[1];
		over[2] = over[2] || calling[2]
	:: else
	fi
}

/* A charge of @n pages with one fetch-and-add; @n > 1 is the batch. */
inline try(n) {
	d_step {
		usage = usage + (n);
		if
		:: usage > MAX -> ok = false
		:: else -> ok = true; sure = sure + 1; look()
		fi
	};
	if
	:: !ok ->
		usage = usage - (n);
		undone = (undone + 1) % 4
	:: else
	fi
}

inline limbo_begin(n) { atomic { limbo[me] = (n); seq[me] = (seq[me] + 1) % 4 } }
inline limbo_end() { limbo[me] = 0 }

/* The rest of a batch, in limbo, into the stock; what may not stay goes back. */
inline put(n) {
	if
	:: pressure > 0 -> usage = usage - (n)
	:: else ->
		d_step { amount[me] = amount[me] + (n); closed[me] = false };
#ifndef NO_SECOND_LOOK
		if
		:: pressure > 0 ->
			d_step { t = amount[me]; amount[me] = 0; closed[me] = true };
			usage = usage - t
		:: else
		fi
#endif
	fi
}

/* Another CPU's stock, without its help; in limbo with it. */
inline steal(c) {
	t = amount[c];
	if
	:: c != me && t > 0 ->
		limbo_begin(t);
		if
		:: d_step { amount[c] == t -> amount[c] = 0; closed[c] = true }; usage = usage - t
		:: else -> again = true
		fi;
		limbo_end()
	:: c == me && t > 0 ->
		limbo_begin(t);
		d_step { t = amount[me]; amount[me] = 0; closed[me] = true };
		usage = usage - t;
		limbo_end()
	:: else
	fi;
	t = 0
}

inline sweep() {
	i = 0;
	do
	:: i < CPUS ->
		again = false;
		steal(i);
		if
		:: again
		:: else -> i++
		fi
	:: else -> break
	od;
	again = false
}

/* Every movement that had begun is over. */
inline wait_limbo() {
	i = 0;
	do
	:: i < CPUS ->
		if
		:: i != me && limbo[i] > 0 ->
			t = seq[i];
			(limbo[i] == 0 || seq[i] != t)
		:: else
		fi;
		i++
	:: else -> break
	od;
	t = 0
}

/* A refused charge of one page: granted (ok, in limbo) or truly over. */
inline settle() {
	atomic { !exact -> exact = true };
	pressure++;
	sweep();
	wait_limbo();
	do
	:: limbo_begin(1);
		try(1);
		if
		:: ok -> break
		:: else
		fi;
		limbo_end();
		u0 = undone;
		u = usage;
		t = 0;
		i = 0;
		do
		:: i < CPUS ->
			if
			:: i != me -> t = t + limbo[i]
			:: else
			fi;
			i++
		:: else -> break
		od;
		if
		:: undone == u0 && u + 1 > MAX + t -> break
		:: else
		fi
	od;
	t = 0;
	u = 0;
	u0 = 0;
	exact = false;
	pressure--
}

proctype cpu(byte me) {
	byte t, i, u, u0;
	bool ok, again, hit;

	/* Charge one page. */
	d_step { calling[me] = true; over[me] = false; look() };
	/* Stock hit: one compare-and-swap.  It moves a page from amount to in use. */
	d_step {
		hit = amount[me] > 0;
		if
		:: hit -> amount[me] = amount[me] - 1; in_use++; look()
		:: else
		fi
	};
	if
	:: hit -> ok = true
	:: else ->
		limbo_begin(BATCH);
		if
		:: pressure == 0 ->
			try(BATCH);
			if
			:: ok -> d_step { sure--; in_use++ }; put(BATCH - 1)
			:: else
			fi
		:: else -> ok = false
		fi;
		if
		:: !ok ->
			try(1);
			if
			:: ok -> d_step { sure--; in_use++ }
			:: else
			fi
		:: else
		fi;
		limbo_end();
		if
		:: !ok ->
#ifdef NO_SETTLE
			skip
#else
			settle();
			if
			:: ok -> d_step { sure--; in_use++ }; limbo_end()
			:: else
			fi
#endif
		:: else
		fi
	fi;
	d_step {
		assert(in_use <= MAX);
		assert(ok || over[me]);
		calling[me] = false;
		over[me] = false;
		t = 0;
		i = 0
	};
	/* Give it back: into the stock if that is open and has room, else to the counter. */
	if
	:: ok ->
		d_step {
			if
			:: !closed[me] && amount[me] < BATCH ->
				amount[me] = amount[me] + 1; in_use--; hit = true
			:: else -> hit = false
			fi
		};
		if
		:: !hit ->
			limbo_begin(1);
			d_step { usage = usage - 1; in_use-- };
			limbo_end()
		:: else
		fi
	:: else
	fi;
	d_step { ended++; ok = false; hit = false; t = 0; i = 0 }
}

init {
	byte me = 0, t, i;
	bool again;

	closed[0] = true;
	closed[1] = true;
	closed[2] = true;
#ifdef HELD
	/* Somebody else's stock is on CPU 2 when it all begins. */
	amount[2] = 1;
	closed[2] = false;
	usage = 1;
#endif
	atomic { run cpu(0); run cpu(1); run cpu(2) };
	ended == CPUS;
	sweep();
	assert(usage == 0 && in_use == 0 && sure == 0 && pressure == 0)
}
