/* SPDX-License-Identifier: MIT */
/* A small HTTP/1.1 server for answers that are made anew each time: GET and HEAD, no bodies. */
#ifndef APPS_LIB_HTTP_H
#define APPS_LIB_HTTP_H

#include "apps/lib/text.h"

/**
 * http_answer - makes an answer
 * @path: without the query
 * @body: empty; filled by the call
 * @type: set to the content type
 * Return: the status, e.g. 200 or 404.
 */
typedef int http_answer(const char *path, struct text *body, const char **type);

/**
 * http_serve - answer for ever
 * @listeners, @n: listening sockets; -1 for none
 *
 * Clients are served in turn, none is waited for: what does not come or is not
 * taken within HTTP_SECONDS ends the connection.  More than HTTP_CLIENTS at
 * once wait in the listener's queue.
 */
#define HTTP_CLIENTS 64
#define HTTP_SECONDS 10
__attribute__((noreturn)) void http_serve(const int *listeners, int n, http_answer *answer);

#endif
