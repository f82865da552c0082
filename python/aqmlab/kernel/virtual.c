// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Programs in virtual time: the time that a system call takes, the time-stamp
 * counter, and the name of a program that holds time still.
 */
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <kern_util.h>
#include <sysdep/ptrace.h>

#define GENERAL_PROTECTION 13

static unsigned long syscall_ns;

static int __init set_syscall_ns(char *text)
{
	return kstrtoul(text, 0, &syscall_ns) == 0;
}
__setup("aqmlab.syscall=", set_syscall_ns);

/* Called after each system call. The emulator is not in a user namespace, and does not pay. */
void aqmlab_charge(void)
{
	if (syscall_ns && current_user_ns() != &init_user_ns)
		time_travel_ndelay(syscall_ns);
}

/* Called at a fault of a program: RDTSC and RDTSCP read the virtual clock, in ns. */
int aqmlab_time_stamp(struct uml_pt_regs *regs)
{
	unsigned char code[3] = {};
	int length;
	u64 now;

	if (!UPT_IS_USER(regs) || UPT_FAULTINFO(regs)->trap_no != GENERAL_PROTECTION)
		return 0;
	if (copy_from_user(code, (void __user *)UPT_IP(regs), 2))
		return 0;
	if (code[0] == 0x0f && code[1] == 0x31) {
		length = 2;
	} else if (code[0] == 0x0f && code[1] == 0x01 &&
		   !get_user(code[2], (unsigned char __user *)UPT_IP(regs) + 2) &&
		   code[2] == 0xf9) {
		length = 3;
		REGS_CX(regs->gp) = 0;
	} else {
		return 0;
	}
	now = ktime_get_ns();
	REGS_AX(regs->gp) = (u32)now;
	REGS_DX(regs->gp) = now >> 32;
	REGS_IP(regs->gp) += length;
	return 1;
}

/* Called when the host asks (SIGALRM to the process that runs). The coarse clock does not move when it is read. */
void aqmlab_report(void)
{
	pr_emerg("aqmlab: %llu ns, %d %s\n", ktime_get_coarse_ns(),
		 task_tgid_vnr(current), current->comm);
}
