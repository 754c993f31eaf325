/* SPDX-License-Identifier: MIT */
/*
 * Doubly linked circular lists with the node inside the element.
 *
 * A head and a node are the same type; an empty list points to itself.  The
 * list itself takes no lock: each user says what protects it.
 */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include "kernel/types.h"

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(n) { &(n), &(n) }
#define LIST_HEAD(n)      struct list_head n = LIST_HEAD_INIT(n)

static inline void list_init(struct list_head *h)
{
	h->next = h;
	h->prev = h;
}
static inline bool list_empty(const struct list_head *h)
{
	return h->next == h;
}
static inline void list_insert(struct list_head *n, struct list_head *prev, struct list_head *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}
static inline void list_add(struct list_head *n, struct list_head *h)
{
	list_insert(n, h, h->next);
}
static inline void list_add_tail(struct list_head *n, struct list_head *h)
{
	list_insert(n, h->prev, h);
}
/* Unlinks and leaves the node pointing to itself, so a second list_del() does no harm. */
static inline void list_del(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}
static inline void list_move_tail(struct list_head *n, struct list_head *h)
{
	list_del(n);
	list_add_tail(n, h);
}
/* Moves all of @from to the tail of @to and leaves @from empty. */
static inline void list_splice_tail_init(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(p, t, m)       container_of(p, t, m)
#define list_first_entry(h, t, m) list_entry((h)->next, t, m)
#define list_last_entry(h, t, m)  list_entry((h)->prev, t, m)
#define list_for_each(p, h)       for (p = (h)->next; p != (h); p = p->next)
#define list_for_each_entry(e, h, m)                                                               \
	for (e = list_entry((h)->next, __typeof__(*e), m); &e->m != (h);                           \
	     e = list_entry(e->m.next, __typeof__(*e), m))
#define list_for_each_entry_safe(e, n, h, m)                                                       \
	for (e = list_entry((h)->next, __typeof__(*e), m),                                         \
	    n = list_entry(e->m.next, __typeof__(*e), m);                                          \
	     &e->m != (h); e = n, n = list_entry(n->m.next, __typeof__(*e), m))

#endif /* KERNEL_LIST_H */
