//! The memory limits of the control groups this process is in: of its own and of all above that it can see, in versions
//! 1 and 2. The least of them is what counts. Where the groups lie is found by `heapwood_os::process::cgroup`; here each limit is
//! kept with the file that says so, and why there may be others.

use super::finding::{Text, quoted};
use heapwood_os::process::cgroup::{Mount, Version};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(crate) const MEMBERSHIP: &str = "/proc/self/cgroup";
pub(crate) const MOUNTS: &str = "/proc/self/mountinfo";

/// What happens to a process above a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ends,
    Slows,
}

/// The limit files of version 2, and of version 1.
const UNIFIED: &[(&str, Kind)] = &[("memory.max", Kind::Ends), ("memory.high", Kind::Slows)];
const LEGACY: &[(&str, Kind)] = &[("memory.limit_in_bytes", Kind::Ends)];

/// A limit, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) bytes: u64,
    pub(crate) file: &'static str,
    pub(crate) kind: Kind,
    /// It is that of a group above the process's own.
    pub(crate) above: bool,
}

impl Limit {
    pub(crate) fn place(&self) -> String {
        format!("{} of {}", self.file, if self.above { "a cgroup above its own" } else { "its cgroup" })
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) least: Option<Limit>,
    /// Why there may be another limit.
    pub(crate) unknown: Option<String>,
}

/// The limits of the groups that `membership` names, found by way of `mounts`, with files read by `read`.
pub(crate) fn limits(membership: &Text, mounts: &Text, read: impl Fn(&Path) -> Text) -> Limits {
    let mut limits = Limits::default();
    let (membership, mounts) = match (membership, mounts) {
        (Ok(membership), Ok(mounts)) => (membership, mounts),
        (Err(why), _) => return Limits::unknown(format!("{MEMBERSHIP} cannot be read ({why})")),
        (_, Err(why)) => return Limits::unknown(format!("{MOUNTS} cannot be read ({why})")),
    };
    for mount in mounts.lines().filter_map(|line| Mount::parse(line.as_bytes())) {
        let group = membership.lines().find_map(|line| mount.group(line.as_bytes()));
        let Some(mut folder) = mount.folder(group) else { continue };
        let files = match mount.version {
            Version::One => LEGACY,
            Version::Two => UNIFIED,
        };
        let mut above = false;
        loop {
            let path = Path::new(OsStr::from_bytes(folder.path()));
            for &(file, kind) in files {
                limits.take(file, kind, above, read(&path.join(file)));
            }
            if !folder.up() {
                break;
            }
            above = true;
        }
    }
    limits
}

impl Limits {
    fn unknown(why: String) -> Self {
        Limits { least: None, unknown: Some(why) }
    }

    fn take(&mut self, file: &'static str, kind: Kind, above: bool, text: Text) {
        let text = match text {
            Ok(text) => text,
            // The topmost group has no limit, and some have no memory controller.
            Err(why) if why.kind() == ErrorKind::NotFound => return,
            Err(why) => {
                self.unknown.get_or_insert(format!("{file} cannot be read ({why})"));
                return;
            }
        };
        match text.trim().parse::<u64>() {
            Ok(bytes) if self.least.is_none_or(|least| bytes < least.bytes) => {
                self.least = Some(Limit { bytes, file, kind, above });
            }
            Ok(_) => {}
            Err(_) if text.trim() == "max" => {}
            Err(_) => {
                self.unknown.get_or_insert(format!("{file} says {}", quoted(&text)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "22 27 0:21 / /proc rw,relatime - proc proc rw\n\
        34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    fn found(membership: &str, mounts: &str, files: &[(&str, &str)]) -> Limits {
        limits(&Ok(membership.into()), &Ok(mounts.into()), |path| {
            let file = files.iter().find(|(name, _)| Path::new("/sys/fs/cgroup").join(name) == path);
            file.map(|(_, text)| text.to_string()).ok_or(ErrorKind::NotFound.into())
        })
    }

    fn least(membership: &str, mounts: &str, files: &[(&str, &str)]) -> Option<(u64, &'static str, bool)> {
        let limits = found(membership, mounts, files);
        assert_eq!(limits.unknown, None);
        limits.least.map(|least| (least.bytes, least.file, least.above))
    }

    #[test]
    fn version_2() {
        let of = |files: &[_]| least("0::/user.slice/app.scope\n", V2, files);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("user.slice/app.scope/memory.max", "max\n")]), None);
        let own = ("user.slice/app.scope/memory.max", "1073741824\n");
        assert_eq!(of(&[own]), Some((1 << 30, "memory.max", false)));
        assert_eq!(
            of(&[own, ("user.slice/app.scope/memory.high", "536870912\n")]),
            Some((1 << 29, "memory.high", false))
        );
        let above = ("user.slice/memory.max", "268435456\n");
        assert_eq!(of(&[own, above]), Some((1 << 28, "memory.max", true)));
        assert_eq!(
            of(&[("user.slice/memory.max", "4294967296\n"), own]),
            Some((1 << 30, "memory.max", false))
        );
        assert_eq!(of(&[("other/memory.max", "1\n")]), None);
    }

    #[test]
    fn version_1_beside_an_empty_version_2() {
        let membership = "9:name=systemd:/\n4:memory:/box/1\n3:cpuset:/\n0::/\n";
        let unlimited = "9223372036854771712\n";
        let of = |own, top| {
            let files = [("memory/box/1/memory.limit_in_bytes", own), ("memory/memory.limit_in_bytes", top)];
            least(membership, V1, &files)
        };
        assert_eq!(of("2147483648\n", unlimited), Some((2 << 30, "memory.limit_in_bytes", false)));
        assert_eq!(of(unlimited, unlimited).map(|l| l.0), Some(9223372036854771712));
        let shared = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n";
        assert_eq!(
            least("4:cpu,memory:/a:b\n", shared, &[("memory/a:b/memory.limit_in_bytes", "7\n")]),
            Some((7, "memory.limit_in_bytes", false))
        );
    }

    #[test]
    fn containers_see_their_group_at_the_mount_point() {
        // With a namespace the root is "/"; without, the mount's root is the group's path.
        let files = [("memory.max", "1000000\n")];
        assert_eq!(least("0::/\n", V2, &files), Some((1000000, "memory.max", false)));
        let bound = V2.replace(" / /sys", " /docker/0123 /sys");
        assert_eq!(least("0::/docker/0123\n", &bound, &files), Some((1000000, "memory.max", false)));
        assert_eq!(least("0::/../elsewhere\n", V2, &files), Some((1000000, "memory.max", false)));
        // The path is that of the host, of which only the container's part is mounted, as "/".
        assert_eq!(least("0::/docker/0123\n", V2, &files).map(|l| l.0), Some(1000000));
    }

    #[test]
    fn odd_files_are_unknown_and_never_a_panic() {
        let odd = found("0::/\n", V2, &[("memory.max", "lots\n")]);
        assert!(odd.least.is_none() && odd.unknown.unwrap().contains("lots"));
        let half = found("0::/\n", V2, &[("memory.max", ""), ("memory.high", "5")]);
        assert!(half.least.is_some() && half.unknown.is_some());
        for junk in ["", "\n", " - ", "a - cgroup2", "1 2 3 / /sys/fs/cgroup - cgroup2", "::", "0:", ":::::"]
        {
            found(junk, V2, &[]);
            found("0::/x\n", junk, &[]);
        }
        let denied = || Err(ErrorKind::PermissionDenied.into());
        assert!(limits(&denied(), &Ok(V2.into()), |_| denied()).unknown.unwrap().contains(MEMBERSHIP));
        assert!(limits(&Ok("0::/\n".into()), &denied(), |_| denied()).unknown.unwrap().contains(MOUNTS));
        let closed = limits(&Ok("0::/\n".into()), &Ok(V2.into()), |_| denied());
        assert!(closed.unknown.unwrap().contains("memory.max"));
    }
}
