/* SPDX-License-Identifier: MIT */
/*
 * Battery-backed clock: read once at boot.
 * Source: Motorola MC146818A data sheet; the century is taken to be the 21st.
 */
#include "arch/x86_64/cpu.h"
#include "drivers/timesource.h"

static uint8_t cmos(uint8_t reg)
{
	outb(0x70, reg);
	return inb(0x71);
}

static unsigned from_bcd(unsigned v, bool binary)
{
	return binary ? v : (v & 15) + (v >> 4) * 10;
}

/* Days since 1970 of a date in the Gregorian calendar. */
static uint64_t days(unsigned y, unsigned m, unsigned d)
{
	/* March-based years put the leap day at the end. */
	unsigned a = m <= 2 ? y - 1 : y, k = m <= 2 ? m + 9 : m - 3;

	return (uint64_t)a * 365 + a / 4 - a / 100 + a / 400 + (153 * k + 2) / 5 + d - 1 - 719468;
}

static void read_fields(uint8_t f[6])
{
	static const uint8_t reg[6] = { 0, 2, 4, 7, 8, 9 }; /* s, min, h, day, month, year */

	for (int i = 0; i < 6; i++)
		f[i] = cmos(reg[i]);
}

uint64_t rtc_read_ns(void)
{
	uint8_t a[6], b[6], mode = cmos(0x0b);
	bool binary = mode & 4, pm;
	unsigned sec, min, hour, day, month, year;
	uint64_t t;

	/* Two equal readings with no update in progress; an update takes 2 ms at most. */
	for (int tries = 0; tries < 100; tries++) {
		bool same = true;

		for (unsigned i = 0; i < 10000 && (cmos(0x0a) & 0x80); i++)
			;
		read_fields(a);
		read_fields(b);
		for (int i = 0; i < 6; i++)
			same &= a[i] == b[i];
		if (same)
			break;
	}
	pm = a[2] & 0x80;
	sec = from_bcd(a[0], binary);
	min = from_bcd(a[1], binary);
	hour = from_bcd(a[2] & 0x7f, binary);
	if (!(mode & 2)) /* 12-hour mode */
		hour = hour % 12 + (pm ? 12 : 0);
	day = from_bcd(a[3], binary);
	month = from_bcd(a[4], binary);
	year = 2000 + from_bcd(a[5], binary);
	if (sec > 59 || min > 59 || hour > 23 || !day || day > 31 || !month || month > 12)
		return 0;
	t = days(year, month, day) * 86400 + hour * 3600 + min * 60 + sec;
	return t * 1000000000ULL;
}
