/* SPDX-License-Identifier: MIT */
/*
 * The inside of a pipe, for splice(), tee() and vmsplice(): parts of pages that
 * wait for a reader.  What is put in here is borrowed: the pipe holds a
 * reference and writes nothing into the page.
 *
 * Locks: pipe->lock, taken by the two calls that wait (they return 1 with it
 * held) and by pipe_trylock(); everything else here wants it held.
 */
#ifndef FS_PIPE_H
#define FS_PIPE_H

#include "fs/vfs.h"

struct pipe;

/* The pipe behind an open file (FIFOs too), or NULL. */
struct pipe *pipe_of_file(struct file *f);

/**
 * pipe_wait_data - wait until there is something to read
 * @no_wait: -EAGAIN instead of waiting
 * Context: thread.  Return: 1 with the pipe locked; 0 when no writer is left,
 * -EAGAIN, -ERESTARTSYS.
 */
int pipe_wait_data(struct pipe *p, bool no_wait);

/* The same for room of one part; -EPIPE with SIGPIPE when no reader is left. */
int pipe_wait_room(struct pipe *p, bool no_wait);

bool pipe_trylock(struct pipe *p);
void pipe_unlock(struct pipe *p); /* and wakes whoever can go on now */

/* The @n-th part that waits, without a reference; false if there is none. */
bool pipe_peek(struct pipe *p, unsigned n, struct page_part *part);

/* Takes @n bytes away; they must be there. */
void pipe_consume(struct pipe *p, size_t n);

/* Appends a part, with a reference of the pipe's own; false when full or without readers. */
bool pipe_put(struct pipe *p, const struct page_part *part);

#endif /* FS_PIPE_H */
