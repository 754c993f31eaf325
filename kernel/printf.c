/* SPDX-License-Identifier: MIT */
/*
 * Formatted output into a buffer: the subset of C's printf that kernel/string.h
 * names.  No floating point, no allocation, no locks; any context.
 */
#include "kernel/string.h"

#if !defined(TALLY_HOSTED)

struct out {
	char *buf;
	size_t room; /* bytes that may still be stored, without the NUL */
	size_t len;  /* bytes that the whole text has */
};

static void put(struct out *o, char c)
{
	if (o->room) {
		o->buf[0] = c;
		o->buf++;
		o->room--;
	}
	o->len++;
}

static void pad(struct out *o, char c, int n)
{
	while (n-- > 0)
		put(o, c);
}

enum { F_LEFT = 1, F_ZERO = 2, F_PLUS = 4, F_SPACE = 8, F_ALT = 16, F_UPPER = 32 };

struct spec {
	int flags, width, precision; /* precision -1: none given */
};

static void put_text(struct out *o, const struct spec *s, const char *text, int n)
{
	if (!(s->flags & F_LEFT))
		pad(o, ' ', s->width - n);
	for (int i = 0; i < n; i++)
		put(o, text[i]);
	if (s->flags & F_LEFT)
		pad(o, ' ', s->width - n);
}

static void put_number(struct out *o, const struct spec *s, uint64_t v, unsigned base,
		       bool negative)
{
	const char *digits = s->flags & F_UPPER ? "0123456789ABCDEF" : "0123456789abcdef";
	char tmp[24], prefix[3];
	int n = 0, n_prefix = 0, zeros = 0, total;
	uint64_t rest = v;

	while (rest) {
		tmp[n++] = digits[rest % base];
		rest /= base;
	}
	if (!v && s->precision != 0)
		tmp[n++] = '0';
	if (negative)
		prefix[n_prefix++] = '-';
	else if (s->flags & F_PLUS)
		prefix[n_prefix++] = '+';
	else if (s->flags & F_SPACE)
		prefix[n_prefix++] = ' ';
	if ((s->flags & F_ALT) && base == 16 && v) {
		prefix[n_prefix++] = '0';
		prefix[n_prefix++] = s->flags & F_UPPER ? 'X' : 'x';
	}
	if (s->precision > n)
		zeros = s->precision - n;
	else if ((s->flags & F_ALT) && base == 8 && (!n || tmp[n - 1] != '0'))
		zeros = 1;
	total = n_prefix + zeros + n;
	if ((s->flags & (F_ZERO | F_LEFT)) == F_ZERO && s->precision < 0 && s->width > total) {
		zeros += s->width - total;
		total = s->width;
	}
	if (!(s->flags & F_LEFT))
		pad(o, ' ', s->width - total);
	for (int i = 0; i < n_prefix; i++)
		put(o, prefix[i]);
	pad(o, '0', zeros);
	while (n)
		put(o, tmp[--n]);
	if (s->flags & F_LEFT)
		pad(o, ' ', s->width - total);
}

static int flag_of(char c)
{
	switch (c) {
	case '-':
		return F_LEFT;
	case '0':
		return F_ZERO;
	case '+':
		return F_PLUS;
	case ' ':
		return F_SPACE;
	case '#':
		return F_ALT;
	default:
		return 0;
	}
}

/* Bytes of the integer argument that a length modifier names; moves *@f past it. */
static int length_of(const char **f)
{
	switch (**f) {
	case 'h':
		(*f)++;
		if (**f != 'h')
			return 2;
		(*f)++;
		return 1;
	case 'l':
		(*f)++;
		if (**f == 'l')
			(*f)++;
		return 8;
	case 'z':
	case 'j':
	case 't':
		(*f)++;
		return 8;
	default:
		return 4;
	}
}

int vsnprintf(char *buf, size_t size, const char *f, va_list ap)
{
	struct out o = { .buf = buf, .room = size ? size - 1 : 0, .len = 0 };

	for (; *f; f++) {
		struct spec s = { .precision = -1 };
		int bytes, fl;
		uint64_t v;
		const char *text;
		char c;

		if (*f != '%') {
			put(&o, *f);
			continue;
		}
		f++;
		while ((fl = flag_of(*f)) != 0) {
			s.flags |= fl;
			f++;
		}
		if (*f == '*') {
			s.width = va_arg(ap, int);
			if (s.width < 0) {
				s.flags |= F_LEFT;
				s.width = -s.width;
			}
			f++;
		} else {
			while (*f >= '0' && *f <= '9')
				s.width = s.width * 10 + (*f++ - '0');
		}
		if (*f == '.') {
			f++;
			s.precision = 0;
			if (*f == '*') {
				s.precision = va_arg(ap, int);
				f++;
			} else {
				while (*f >= '0' && *f <= '9')
					s.precision = s.precision * 10 + (*f++ - '0');
			}
		}
		bytes = length_of(&f);
		switch (*f) {
		case 'd':
		case 'i': {
			int64_t d = bytes == 8 ? va_arg(ap, int64_t) : va_arg(ap, int);

			if (bytes == 2)
				d = (int16_t)d;
			else if (bytes == 1)
				d = (int8_t)d;
			put_number(&o, &s, d < 0 ? 0 - (uint64_t)d : (uint64_t)d, 10, d < 0);
			break;
		}
		case 'X':
			s.flags |= F_UPPER;
			/* fall through */
		case 'u':
		case 'x':
		case 'o':
			v = bytes == 8 ? va_arg(ap, uint64_t) : va_arg(ap, unsigned);
			if (bytes == 2)
				v = (uint16_t)v;
			else if (bytes == 1)
				v = (uint8_t)v;
			s.flags &= ~(F_PLUS | F_SPACE);
			put_number(&o, &s, v, *f == 'u' ? 10 : *f == 'o' ? 8 : 16, false);
			break;
		case 'p':
			s.flags |= F_ALT;
			put_number(&o, &s, (uintptr_t)va_arg(ap, void *), 16, false);
			break;
		case 'c':
			c = (char)va_arg(ap, int);
			put_text(&o, &s, &c, 1);
			break;
		case 's':
			text = va_arg(ap, const char *);
			if (!text)
				text = "(null)";
			put_text(&o, &s, text,
				 (int)(s.precision >= 0 ? strnlen(text, (size_t)s.precision)
							: strlen(text)));
			break;
		case '%':
			put(&o, '%');
			break;
		case 0:
			f--;
			break;
		default: /* shown as it is: a mistake that is seen is found */
			put(&o, '%');
			put(&o, *f);
		}
	}
	if (size)
		*o.buf = 0;
	return (int)o.len;
}

int snprintf(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vsnprintf(buf, n, fmt, ap);
	va_end(ap);
	return r;
}

#endif /* !TALLY_HOSTED */

int scnprintf(char *buf, size_t n, const char *fmt, ...)
{
	va_list ap;
	int r;

	if (!n)
		return 0;
	va_start(ap, fmt);
	r = vsnprintf(buf, n, fmt, ap);
	va_end(ap);
	if (r < 0)
		return 0;
	return (size_t)r < n ? r : (int)n - 1;
}
