/* SPDX-License-Identifier: MIT */
/*
 * Which ports are console and record channel, and where the log goes.
 *
 * The log goes to QEMU's debug console if there is one, else to the console
 * port (log.console says otherwise), so that under the runner the console
 * carries only what programs write.
 */
#include "drivers/console.h"
#include "drivers/debugcon.h"
#include "drivers/serial.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "kernel/tty.h"

struct port_choice {
	int index; /* -1: none */
	unsigned baud;
};

static struct port_choice console_choice = { 0, 0 }, records_choice = { -1, 0 };
static struct serial_port *console, *records;

static const char *const log_names[] = { "auto", "on", "off", NULL };
enum { LOG_AUTO, LOG_ON, LOG_OFF };
static int log_console = LOG_AUTO;
PARAM_ENUM("log.console", log_console, log_names, PARAM_RO,
	   "kernel log on the console: auto (if there is no debug console), on, off");

/* ttySn[,baud[parity bits]] as on Linux; tty0 and other names that mean a screen are "none". */
static int choose(struct port_choice *c, const char *v)
{
	const char *end;
	uint64_t n;

	if (strncmp(v, "ttyS", 4) || parse_u64(v + 4, &end, &n) || n > 3)
		return strncmp(v, "tty", 3) ? -EINVAL : 0;
	c->index = (int)n;
	c->baud = 0;
	if (*end == ',') {
		if (parse_u64(end + 1, &end, &n) || n < 50 || n > 115200)
			return -EINVAL;
		c->baud = (unsigned)n;
	}
	return 0;
}

static int show(const struct port_choice *c, char *buf, size_t n)
{
	if (c->index < 0)
		return scnprintf(buf, n, "none");
	return scnprintf(buf, n, c->baud ? "ttyS%d,%u" : "ttyS%d", c->index, c->baud);
}

static int console_set(const struct param *p, const char *v)
{
	return choose(&console_choice, v);
}
static int console_get(const struct param *p, char *buf, size_t n)
{
	return show(&console_choice, buf, n);
}
PARAM_CUSTOM("console", console_set, console_get, PARAM_RO,
	     "expected ttyS0 to ttyS3, then perhaps ,BAUD");

static int records_set(const struct param *p, const char *v)
{
	return choose(&records_choice, v);
}
static int records_get(const struct param *p, char *buf, size_t n)
{
	return show(&records_choice, buf, n);
}
PARAM_CUSTOM("records", records_set, records_get, PARAM_RO,
	     "expected ttyS0 to ttyS3, then perhaps ,BAUD");

static void log_to_console(const char *s, size_t n)
{
	serial_log(console, s, n);
}
static struct log_sink console_sink = { .write = log_to_console };

/* Init step, after the parameters: ports are tested and used by polling. */
void console_init(void)
{
	bool want_log = log_console == LOG_ON || (log_console == LOG_AUTO && !debugcon_present());

	if (console_choice.index >= 0)
		console = serial_open((unsigned)console_choice.index, console_choice.baud);
	if (records_choice.index >= 0)
		records = serial_open((unsigned)records_choice.index, records_choice.baud);
	if (!console)
		pr_warn("console: no port answers at ttyS%d", console_choice.index);
	if (records_choice.index >= 0 && !records)
		pr_warn("records: no port answers at ttyS%d; records go to the log",
			records_choice.index);
	if (console && want_log)
		log_register_sink(&console_sink);
}

/* Init step in thread context: interrupts take over. */
void console_start(void)
{
	int err;

	if (console) {
		err = serial_start_irq(console, tty_receive_irq);
		if (err)
			pr_warn("console: no interrupt (error %d), no input", err);
	}
	if (records && records != console) {
		err = serial_start_irq(records, NULL);
		if (err)
			pr_warn("records: no interrupt (error %d), output polls", err);
	}
}

void console_write(const char *s, size_t n)
{
	if (console)
		serial_write(console, s, n);
}

void console_flush(void)
{
	if (console)
		serial_flush(console);
	if (records)
		serial_flush(records);
}

bool records_send(const char *s, size_t n)
{
	if (!records)
		return false;
	serial_write(records, s, n);
	return true;
}
