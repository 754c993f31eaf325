/* SPDX-License-Identifier: MIT */
/* Implements http.h.  Source: RFC 9110, RFC 9112. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/http.h"
#include "apps/lib/np_proto.h"

#define REQUEST_BYTES 8192 /* of the head of a request */
#define MOST_LISTENERS 2

struct client {
	int fd;		     /* -1: free */
	double deadline;
	char head[REQUEST_BYTES + 1];
	size_t got;
	struct text out;     /* the answer while it is sent */
	size_t sent;
	int last;	     /* close after the answer */
};

static struct client clients[HTTP_CLIENTS];

static void drop(struct client *c)
{
	close(c->fd);
	text_free(&c->out);
	c->fd = -1;
}

static const char *reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Internal Server Error";
	}
}

static void respond(struct client *c, int status, const char *type, const struct text *body,
		    int head)
{
	text_add(&c->out,
		 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %lu\r\n%sConnection: %s\r\n\r\n",
		 status, reason(status), type, (unsigned long)body->len,
		 status == 405 ? "Allow: GET, HEAD\r\n" : "", c->last ? "close" : "keep-alive");
	if (!head && body->len)
		text_add(&c->out, "%.*s", (int)body->len, body->data);
	c->sent = 0;
}

static void respond_error(struct client *c, int status)
{
	struct text body = { 0 };

	c->last = 1;
	text_add(&body, "%d %s\n", status, reason(status));
	respond(c, status, "text/plain", &body, 0);
	text_free(&body);
}

/* Does the head have a line "Connection: close"? */
static int wants_close(const char *head)
{
	const char *line = head;

	while ((line = strstr(line, "\r\n"))) {
		line += 2;
		if (!strncasecmp(line, "connection:", 11)) {
			line += 11 + strspn(line + 11, " \t");
			return !strncasecmp(line, "close", 5);
		}
	}
	return 0;
}

/* The head of a request is complete, up to @end. */
static void serve(struct client *c, size_t end, http_answer *answer)
{
	const char *type = "text/plain";
	struct text body = { 0 };
	char method[8], path[256], version[16];
	int status, minor = 0;

	c->head[end - 2] = '\0'; /* a line end stays before it */
	c->last = 1;
	if (sscanf(c->head, "%7s %255s %15s", method, path, version) != 3 ||
	    sscanf(version, "HTTP/1.%d", &minor) != 1 || path[0] != '/') {
		respond_error(c, 400);
		return;
	}
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		respond_error(c, 405);
		return;
	}
	c->last = minor < 1 || wants_close(c->head);
	path[strcspn(path, "?")] = '\0';
	status = answer(path, &body, &type);
	if (body.failed)
		respond_error(c, 500);
	else
		respond(c, status, type, &body, method[0] == 'H');
	text_free(&body);
	memmove(c->head, c->head + end, c->got - end);
	c->got -= end;
}

/* A whole request that is there and not yet answered. */
static void next_request(struct client *c, http_answer *answer)
{
	char *end;

	c->head[c->got] = '\0';
	end = strstr(c->head, "\r\n\r\n");
	if (end)
		serve(c, (size_t)(end - c->head) + 4, answer);
	else if (c->got == REQUEST_BYTES)
		respond_error(c, 431);
}

static void readable(struct client *c, http_answer *answer)
{
	ssize_t n = recv(c->fd, c->head + c->got, REQUEST_BYTES - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->got += (size_t)n;
	next_request(c, answer);
}

static void writable(struct client *c, http_answer *answer)
{
	ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || c->out.failed) {
		drop(c);
		return;
	}
	c->sent += (size_t)n;
	if (c->sent < c->out.len)
		return;
	if (c->last) {
		shutdown(c->fd, SHUT_WR);
		drop(c);
		return;
	}
	text_free(&c->out);
	c->deadline = np_now() + HTTP_SECONDS;
	next_request(c, answer); /* sent ahead of the answer */
}

static void take(int listener)
{
	for (int i = 0; i < HTTP_CLIENTS; i++) {
		struct client *c = &clients[i];

		if (c->fd >= 0)
			continue;
		c->fd = accept(listener, NULL, NULL);
		c->got = c->sent = 0;
		c->deadline = np_now() + HTTP_SECONDS;
		return;
	}
}

void http_serve(const int *listeners, int n, http_answer *answer)
{
	struct pollfd p[MOST_LISTENERS + HTTP_CLIENTS];

	for (int i = 0; i < HTTP_CLIENTS; i++)
		clients[i].fd = -1;
	for (;;) {
		int busy = 0;

		for (int i = 0; i < HTTP_CLIENTS; i++) {
			struct client *c = &clients[i];

			if (c->fd >= 0 && np_now() > c->deadline)
				drop(c);
			busy += c->fd >= 0;
			p[MOST_LISTENERS + i] = (struct pollfd){ .fd = c->fd,
								  .events = c->out.len ? POLLOUT : POLLIN };
		}
		for (int i = 0; i < MOST_LISTENERS; i++)
			p[i] = (struct pollfd){ .fd = i < n && busy < HTTP_CLIENTS ? listeners[i] : -1,
						.events = POLLIN };
		if (poll(p, MOST_LISTENERS + HTTP_CLIENTS, busy ? 1000 : -1) <= 0)
			continue;
		for (int i = 0; i < HTTP_CLIENTS; i++) {
			if (clients[i].fd < 0 || !p[MOST_LISTENERS + i].revents)
				continue;
			if (clients[i].out.len)
				writable(&clients[i], answer);
			else
				readable(&clients[i], answer);
		}
		for (int i = 0; i < MOST_LISTENERS; i++)
			if (p[i].fd >= 0 && p[i].revents)
				take(p[i].fd);
	}
}
