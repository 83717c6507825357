//! The memory limits of control groups, version 2: finds the group of this process, and the smallest limit of it and all its
//! ancestors. A group's files lie below the mount point, at the group's path relative to the mount's root. Inside a
//! container that path may be invisible, and then the mount point itself is the group (cgroups(7)). Nothing is allocated.
//! Invariant: a file that cannot be read sets no limit.

use crate::process::file;
use core::ffi::CStr;

/// The longest path of a folder, in bytes.
const LONGEST: usize = libc::PATH_MAX as usize;
/// The longest file name in it, with a slash and a zero byte.
const FILE: usize = 40;

/// A mounted hierarchy of version 2. Parsed from a line of /proc/self/mountinfo.
struct Mount<'l> {
    root: &'l [u8],
    point: &'l [u8],
}

impl<'l> Mount<'l> {
    /// `30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw`
    fn parse(line: &'l [u8]) -> Option<Self> {
        let middle = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut mount = line[..middle].split(|&byte| byte == b' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        line[middle + 3..].starts_with(b"cgroup2 ").then_some(Mount { root, point })
    }

    /// The folder of the group at `path`, or the mount point if there is no path, or an invisible one. `None` if the
    /// path is too long.
    fn folder(&self, path: Option<&[u8]>) -> Option<Folder> {
        let mut folder = Folder { path: [0; LONGEST + FILE], len: 0, point: 0 };
        unescaped(self.point).try_for_each(|byte| folder.push(byte))?;
        folder.point = folder.len;
        let below = path.map_or(&b""[..], |path| self.below(path));
        // A path that leads outside the mount is invisible.
        if below.split(|&byte| byte == b'/').all(|name| name != b".." && name != b".") {
            for name in below.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
                folder.push(b'/')?;
                name.iter().try_for_each(|&byte| folder.push(byte))?;
            }
        }
        Some(folder)
    }

    /// The part of a group's path below the mount's root, or all of it if it is not below.
    fn below<'m>(&self, path: &'m [u8]) -> &'m [u8] {
        let mut rest = path.iter();
        let root = self.root.strip_suffix(b"/").unwrap_or(self.root);
        let under = unescaped(root).all(|byte| rest.next() == Some(&byte));
        let rest = rest.as_slice();
        if under && matches!(rest.first(), None | Some(b'/')) { rest } else { path }
    }
}

/// The folder of a group or of an ancestor.
struct Folder {
    path: [u8; LONGEST + FILE],
    len: usize,
    /// The length of the mount point's path.
    point: usize,
}

impl Folder {
    fn push(&mut self, byte: u8) -> Option<()> {
        if self.len == LONGEST {
            return None;
        }
        self.path[self.len] = byte;
        self.len += 1;
        Some(())
    }

    /// Goes to the parent group; false at the topmost.
    fn up(&mut self) -> bool {
        let slash = self.path[self.point..self.len].iter().rposition(|&byte| byte == b'/');
        slash.inspect(|at| self.len = self.point + at).is_some()
    }

    /// The number in one of its files; `u64::MAX` if there is none.
    fn number(&mut self, file: &CStr) -> u64 {
        let name = file.to_bytes_with_nul();
        assert!(name.len() < FILE);
        self.path[self.len] = b'/';
        self.path[self.len + 1..][..name.len()].copy_from_slice(name);
        let path = CStr::from_bytes_until_nul(&self.path).ok();
        path.and_then(file::number).unwrap_or(u64::MAX)
    }
}

/// Decodes the octal escapes of /proc/self/mountinfo, such as `\040` for a blank.
fn unescaped(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let octal = |digit: &u8| (b'0'..=b'7').contains(digit);
        match rest {
            [b'\\', a, b, c, ..] if [a, b, c].into_iter().all(octal) => {
                at += 4;
                Some(((a - b'0') << 6) | (b - b'0') << 3 | (c - b'0'))
            }
            [byte, ..] => {
                at += 1;
                Some(*byte)
            }
            [] => None,
        }
    })
}

/// The machine's memory and swap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineMemory {
    pub(crate) memory: u64,
    pub(crate) swap: u64,
}

/// The bytes of memory and swap that the groups of this process allow, or `None` if that is at least the machine's
/// memory. The files are /proc/self/cgroup and /proc/self/mountinfo.
pub(crate) fn memory_limit(membership: &CStr, mounts: &CStr, machine: MachineMemory) -> Option<u64> {
    let (mut memory, mut swap) = (u64::MAX, u64::MAX);
    let mut line = [0; LONGEST];
    file::for_each_line(mounts, &mut line, |line| {
        let Some(mount) = Mount::parse(line) else { return true };
        let mut folder = None;
        // The line of version 2 is `0::/a/b`.
        file::for_each_line(membership, &mut [0; LONGEST], |line| {
            folder = line.strip_prefix(b"0::").and_then(|path| mount.folder(Some(path)));
            folder.is_none()
        });
        let Some(mut folder) = folder.or_else(|| mount.folder(None)) else { return true };
        loop {
            memory = memory.min(folder.number(c"memory.max"));
            swap = swap.min(folder.number(c"memory.swap.max"));
            if !folder.up() {
                return true;
            }
        }
    })?;
    (memory < machine.memory).then(|| memory.saturating_add(swap.min(machine.swap)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    /// Files that stand for /proc/self and /sys/fs/cgroup.
    struct CgroupFiles(PathBuf);

    impl CgroupFiles {
        fn new(name: &str, files: &[(&str, &str)]) -> CgroupFiles {
            let tree =
                CgroupFiles(std::env::temp_dir().join(format!("heapwood-{name}-{}", std::process::id())));
            for (path, text) in files {
                tree.write(path, text);
            }
            tree
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("HERE", self.0.to_str().unwrap())).unwrap();
        }

        fn path(&self, path: impl AsRef<Path>) -> CString {
            CString::new(self.0.join(path).as_os_str().as_bytes()).unwrap()
        }

        fn limit(&self) -> Option<u64> {
            let machine = MachineMemory { memory: 1 << 30, swap: 1 << 20 };
            memory_limit(&self.path("cgroup"), &self.path("mountinfo"), machine)
        }
    }

    impl Drop for CgroupFiles {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_least_limit_of_a_group_and_those_above_counts() {
        let tree = CgroupFiles::new(
            "v2",
            &[
                ("cgroup", "0::/a b/c\n"),
                (
                    "mountinfo",
                    "22 27 0:21 / /proc rw - proc proc rw\n30 23 0:26 / HERE/fs\\040x rw - cgroup2 none rw\n",
                ),
            ],
        );
        assert_eq!(tree.limit(), None, "no files");
        tree.write("fs x/a b/c/memory.max", "max\n");
        assert_eq!(tree.limit(), None);
        tree.write("fs x/a b/c/memory.max", "104857600\n");
        assert_eq!(tree.limit(), Some(101 * MIB), "and the machine's swap");
        tree.write("fs x/a b/memory.swap.max", "0\n");
        assert_eq!(tree.limit(), Some(100 * MIB));
        tree.write("fs x/memory.max", "52428800\n");
        assert_eq!(tree.limit(), Some(50 * MIB), "all above count");
        tree.write("fs x/other/memory.max", "1\n");
        tree.write("memory.max", "1\n");
        assert_eq!(tree.limit(), Some(50 * MIB), "others do not, nor what lies above the mount point");
        for whole in ["fs x/memory.max", "fs x/a b/c/memory.max"] {
            tree.write(whole, "1073741824");
        }
        assert_eq!(tree.limit(), None, "no less than the machine has");
    }

    #[test]
    fn containers_see_their_group_at_the_mount_point() {
        for (membership, root) in [
            ("0::/", "/"),
            ("0::/docker/0123", "/docker/0123"),
            ("0::/docker/0123", "/docker/0123/"),
            ("0::/../elsewhere", "/"),
            // The path is the host's, of which the container sees only its part, mounted as "/".
            ("0::/docker/0123", "/"),
            ("", "/"),
        ] {
            let tree = CgroupFiles::new(
                "container",
                &[
                    ("cgroup", membership),
                    ("mountinfo", &format!("30 23 0:26 {root} HERE/fs rw - cgroup2 none rw\n")),
                    ("fs/memory.max", "1000000\n"),
                    ("elsewhere/memory.max", "1\n"),
                ],
            );
            assert_eq!(tree.limit(), Some(1_000_000 + MIB), "{membership} {root}");
        }
        // A path is below the root only if it begins with all of the root's names.
        let mount = Mount::parse(b"1 2 3 /a\\040b /m rw - cgroup2 none rw").unwrap();
        let folder = |path: &[u8]| {
            let folder = mount.folder(Some(path)).unwrap();
            String::from_utf8(folder.path[..folder.len].to_vec()).unwrap()
        };
        assert_eq!(folder(b"/a b/c"), "/m/c");
        assert_eq!(folder(b"/a bc"), "/m/a bc");
        assert_eq!(folder(b"/a b"), "/m");
    }

    #[test]
    fn odd_files_are_no_limit() {
        for junk in
            ["", "\n", " - ", "a - cgroup2", "1 2 3 / HERE - cgroup2", "::", "0:", ":::::", "\\04 - \\"]
        {
            let tree =
                CgroupFiles::new("junk", &[("cgroup", junk), ("mountinfo", junk), ("memory.max", "lots")]);
            assert_eq!(tree.limit(), None, "{junk}");
        }
        assert_eq!(CgroupFiles::new("none", &[]).limit(), None);
        let far = format!("1 2 3 / /{} rw - cgroup2 none rw", "x/".repeat(LONGEST));
        assert!(Mount::parse(far.as_bytes()).unwrap().folder(None).is_none());
        let deep = vec![b'y'; LONGEST];
        let mount = Mount::parse(b"1 2 3 / /m rw - cgroup2 none rw").unwrap();
        assert!(mount.folder(Some(&deep)).is_none());
        assert!(mount.folder(Some(&deep[..LONGEST - 10])).unwrap().number(c"memory.max") == u64::MAX);
    }
}
