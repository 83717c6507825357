//! Starting, measuring and ending programs. Each has its own process group, so that it can be ended with all its
//! children, and the kernel ends it if the starting thread ends. The account is wait4's: the program and the children
//! that it waited for. A process begins as a copy of its parent, so its max RSS is at least the parent's anonymous
//! memory. This uses libc, because the safe interfaces, rustix and nix, have no wait4.

use heapwood_os::process::usage::Usage;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// A process, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pid(libc::pid_t);

impl From<&std::process::Child> for Pid {
    fn from(child: &std::process::Child) -> Self {
        // Process ids are positive i32.
        Pid(child.id() as libc::pid_t)
    }
}

/// Makes the program of `command` the leader of its own group, which ends with the starting thread.
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    command.process_group(0);
    // SAFETY: prctl and getppid are async-signal-safe and touch no memory of the parent; nothing is allocated.
    unsafe {
        command.pre_exec(|| {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        })
    }
}

/// Waits until the process, a child of this one, has ended. It stays a zombie, so that its id is not used again
/// before [`reap`].
pub(crate) fn wait_until_ended(Pid(pid): Pid) -> io::Result<()> {
    loop {
        // SAFETY: waitid fills the zeroed structure it is given.
        let r = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if r == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits for the process, a child of this one, and reaps it. Returns its status and its resource usage.
pub(crate) fn reap(Pid(pid): Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: all zeros is a value of the structure.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: wait4 writes the status and the structure it is given.
        if unsafe { libc::wait4(pid, &mut status, 0, &mut used) } == pid {
            return Ok((ExitStatus::from_raw(status), Usage::from(&used)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Ends every process of the group that the process leads, at once. It must not have been reaped.
pub(crate) fn kill_group(Pid(leader): Pid) {
    // SAFETY: killpg takes numbers. CommandError means that the group has ended by itself.
    unsafe { libc::killpg(leader, libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Pid {
        let mut command = Command::new("sh");
        Pid::from(&in_own_group(command.args(["-c", script])).spawn().unwrap())
    }

    #[test]
    fn the_end_of_a_program_is_reported() {
        let pid = start("exit 7");
        wait_until_ended(pid).unwrap();
        wait_until_ended(pid).unwrap();
        let (status, used) = reap(pid).unwrap();
        assert_eq!(status.code(), Some(7));
        assert!(used.minor_faults > 0 && used.max_rss_bytes > 0);
        assert_eq!(reap(pid).unwrap_err().raw_os_error(), Some(libc::ECHILD));
        assert_eq!(wait_until_ended(pid).unwrap_err().raw_os_error(), Some(libc::ECHILD));
    }

    #[test]
    #[allow(clippy::zombie_processes, reason = "reap waits for it")]
    fn the_whole_group_is_ended() {
        // The shell's child holds the pipe open; end of file means that it is gone, too.
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo started; wait"]).stdout(std::process::Stdio::piped());
        let mut child = in_own_group(&mut command).spawn().unwrap();
        let mut out = io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        io::BufRead::read_line(&mut out, &mut line).unwrap();
        assert_eq!(line, "started\n");
        kill_group(Pid::from(&child));
        assert_eq!(io::Read::read_to_string(&mut out, &mut line).unwrap(), 0);
        assert_eq!(reap(Pid::from(&child)).unwrap().0.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let pid = std::thread::spawn(|| start("exec sleep 1000")).join().unwrap();
        assert_eq!(reap(pid).unwrap().0.signal(), Some(libc::SIGKILL));
    }
}
