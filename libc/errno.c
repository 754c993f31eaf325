/* SPDX-License-Identifier: MIT */
/*
 * Error numbers: Linux and newlib agree up to 34 (ERANGE) and differ above.
 * One table, indexed by Linux's number, serves both directions.
 */
#include <errno.h>
#include "libc/syscall.h"
#include "tally/linux.h"

#define LINUX_ERRNO_MAX 133

static const unsigned char newlib_errno[LINUX_ERRNO_MAX + 1] = {
	[35] = EDEADLK,
	[36] = ENAMETOOLONG,
	[37] = ENOLCK,
	[38] = ENOSYS,
	[39] = ENOTEMPTY,
	[40] = ELOOP,
	[42] = ENOMSG,
	[43] = EIDRM,
	[60] = ENOSTR,
	[61] = ENODATA,
	[62] = ETIME,
	[63] = ENOSR,
	[67] = ENOLINK,
	[71] = EPROTO,
	[72] = EMULTIHOP,
	[74] = EBADMSG,
	[75] = EOVERFLOW,
	[84] = EILSEQ,
	[88] = ENOTSOCK,
	[89] = EDESTADDRREQ,
	[90] = EMSGSIZE,
	[91] = EPROTOTYPE,
	[92] = ENOPROTOOPT,
	[93] = EPROTONOSUPPORT,
	[95] = EOPNOTSUPP,
	[96] = EPFNOSUPPORT,
	[97] = EAFNOSUPPORT,
	[98] = EADDRINUSE,
	[99] = EADDRNOTAVAIL,
	[100] = ENETDOWN,
	[101] = ENETUNREACH,
	[102] = ENETRESET,
	[103] = ECONNABORTED,
	[104] = ECONNRESET,
	[105] = ENOBUFS,
	[106] = EISCONN,
	[107] = ENOTCONN,
	[109] = ETOOMANYREFS,
	[110] = ETIMEDOUT,
	[111] = ECONNREFUSED,
	[112] = EHOSTDOWN,
	[113] = EHOSTUNREACH,
	[114] = EALREADY,
	[115] = EINPROGRESS,
	[116] = ESTALE,
	[122] = EDQUOT,
	[125] = ECANCELED,
	[130] = EOWNERDEAD,
	[131] = ENOTRECOVERABLE,
};

long sysret(long ret)
{
	if (ret < 0 && ret >= -4095) {
		long e = -ret;

		if (e > 34)
			e = e <= LINUX_ERRNO_MAX && newlib_errno[e] ? newlib_errno[e] : EIO;
		errno = (int)e;
		return -1;
	}
	return ret;
}

int linux_errno(int err)
{
	if (err <= 34)
		return err;
	for (int e = 35; e <= LINUX_ERRNO_MAX; e++)
		if (newlib_errno[e] == err)
			return e;
	return EIO;
}
