//! Control groups, as far as they limit memory: where the groups lie that this process is in, and the least that they
//! and all above them allow. Versions 1 and 2 may be mounted side by side. A group's files lie below the mount
//! point at its path relative to the mount's root; inside a container that path may not be visible, and then the mount
//! point itself is the group (cgroups(7)). Nothing is allocated. Invariant: whatever cannot be read is no limit.

use crate::process::file;
use core::ffi::CStr;

/// The longest path of a folder here, in bytes.
const LONGEST: usize = libc::PATH_MAX as usize;
/// The longest name of a file in it, with a slash and a zero byte.
const FILE: usize = 40;

/// Which files say what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `memory.limit_in_bytes`, and `memory.memsw.limit_in_bytes` for memory and swap together.
    One,
    /// `memory.max`, and `memory.swap.max` for swap alone.
    Two,
}

/// A mounted hierarchy with the memory controller, or of version 2, where it may have it: a line of
/// /proc/self/mountinfo.
#[derive(Clone, Copy, Debug)]
pub struct Mount<'l> {
    /// What it is.
    pub version: Version,
    root: &'l [u8],
    point: &'l [u8],
}

impl<'l> Mount<'l> {
    /// `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory`
    pub fn parse(line: &'l [u8]) -> Option<Self> {
        let middle = line.windows(3).position(|bytes| bytes == b" - ")?;
        let mut mount = words(&line[..middle]).skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut system = words(&line[middle + 3..]);
        let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
        let version = match kind {
            b"cgroup2" => Version::Two,
            b"cgroup" if has(options, b"memory") => Version::One,
            _ => return None,
        };
        Some(Mount { version, root, point })
    }

    /// The path in a line of /proc/self/cgroup, if it is about this hierarchy: `0::/a/b`, `4:memory:/a/b`.
    pub fn group<'m>(&self, line: &'m [u8]) -> Option<&'m [u8]> {
        let mut fields = line.splitn(3, |&byte| byte == b':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let this = match self.version {
            Version::Two => number == b"0",
            Version::One => has(controllers, b"memory"),
        };
        this.then_some(path)
    }

    /// Where the group at `path` lies, as far as it can be seen; the mount point if there is no path. `None` if that is
    /// longer than paths can be.
    pub fn folder(&self, path: Option<&[u8]>) -> Option<Folder> {
        let mut folder = Folder { path: [0; LONGEST + FILE], len: 0, point: 0 };
        unescaped(self.point).try_for_each(|byte| folder.push(byte))?;
        folder.point = folder.len;
        let below = path.map_or(&b""[..], |path| self.below(path));
        // A path that leads elsewhere cannot be seen here.
        if below.split(|&byte| byte == b'/').all(|name| name != b".." && name != b".") {
            for name in below.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
                folder.push(b'/')?;
                name.iter().try_for_each(|&byte| folder.push(byte))?;
            }
        }
        Some(folder)
    }

    /// The part of a group's path below the mount's root, or all of it if that is not below.
    fn below<'m>(&self, path: &'m [u8]) -> &'m [u8] {
        let mut rest = path.iter();
        let root = self.root.strip_suffix(b"/").unwrap_or(self.root);
        let under = unescaped(root).all(|byte| rest.next() == Some(&byte));
        let rest = rest.as_slice();
        if under && matches!(rest.first(), None | Some(b'/')) { rest } else { path }
    }
}

/// The folder of a group, or of one above it.
pub struct Folder {
    path: [u8; LONGEST + FILE],
    len: usize,
    /// How much of it is the mount point.
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

    /// Its path.
    pub fn path(&self) -> &[u8] {
        &self.path[..self.len]
    }

    /// Goes to the group above; false if this is the topmost.
    pub fn up(&mut self) -> bool {
        match self.path[self.point..self.len].iter().rposition(|&byte| byte == b'/') {
            Some(at) => {
                self.len = self.point + at;
                true
            }
            None => false,
        }
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

/// Separated by blanks.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ')
}

/// Whether a list with commas has the item.
fn has(list: &[u8], item: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|found| found == item)
}

/// Blanks and the like are octal in /proc/self/mountinfo: `\040`.
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

/// What a machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) memory: u64,
    pub(crate) swap: u64,
}

/// The bytes of memory and swap that the groups of this process allow, or `None` if that is no less than the
/// machine's memory. The files are /proc/self/cgroup and /proc/self/mountinfo.
pub(crate) fn memory_limit(membership: &CStr, mounts: &CStr, machine: Machine) -> Option<u64> {
    let (mut memory, mut swap, mut both) = (u64::MAX, u64::MAX, u64::MAX);
    let mut line = [0; LONGEST];
    file::for_each_line(mounts, &mut line, |line| {
        let Some(mount) = Mount::parse(line) else { return true };
        let mut folder = None;
        let mut line = [0; LONGEST];
        file::for_each_line(membership, &mut line, |line| match mount.group(line) {
            Some(path) => {
                folder = mount.folder(Some(path));
                false
            }
            None => true,
        });
        let Some(mut folder) = folder.or_else(|| mount.folder(None)) else { return true };
        loop {
            match mount.version {
                Version::One => {
                    memory = memory.min(folder.number(c"memory.limit_in_bytes"));
                    both = both.min(folder.number(c"memory.memsw.limit_in_bytes"));
                }
                Version::Two => {
                    memory = memory.min(folder.number(c"memory.max"));
                    swap = swap.min(folder.number(c"memory.swap.max"));
                }
            }
            if !folder.up() {
                return true;
            }
        }
    })?;
    if memory.min(both) >= machine.memory {
        return None;
    }
    Some(memory.min(machine.memory).saturating_add(swap.min(machine.swap)).min(both))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    /// A tree of files that stands for /proc/self and /sys/fs/cgroup.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let tree = Tree(std::env::temp_dir().join(format!("heapwood-{name}-{}", std::process::id())));
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
            let machine = Machine { memory: 1 << 30, swap: 1 << 20 };
            memory_limit(&self.path("cgroup"), &self.path("mountinfo"), machine)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn version_2() {
        let tree = Tree::new(
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
    fn version_1_beside_version_2() {
        let tree = Tree::new(
            "v1",
            &[
                ("cgroup", "9:name=systemd:/\n4:cpu,memory:/box/1\n3:cpuset:/x\n0::/\n"),
                (
                    "mountinfo",
                    "34 31 0:31 / HERE/cpuset rw - cgroup cgroup rw,cpuset\n\
                     35 31 0:32 / HERE/memory rw - cgroup cgroup rw,cpu,memory\n\
                     41 31 0:38 / HERE/unified rw - cgroup2 cgroup2 rw\n",
                ),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/memory.memsw.limit_in_bytes", "9223372036854771712\n"),
                ("cpuset/x/memory.limit_in_bytes", "1\n"),
            ],
        );
        assert_eq!(tree.limit(), None);
        tree.write("memory/box/1/memory.limit_in_bytes", "67108864\n");
        assert_eq!(tree.limit(), Some(65 * MIB));
        tree.write("memory/box/memory.memsw.limit_in_bytes", "67108864\n");
        assert_eq!(tree.limit(), Some(64 * MIB), "memory and swap together");
    }

    #[test]
    fn containers_see_their_group_at_the_mount_point() {
        for (membership, root) in [
            ("0::/", "/"),
            ("0::/docker/0123", "/docker/0123"),
            ("0::/docker/0123", "/docker/0123/"),
            ("0::/../elsewhere", "/"),
            // The path is that of the host, of which only the container's part is mounted, as "/".
            ("0::/docker/0123", "/"),
            ("", "/"),
        ] {
            let tree = Tree::new(
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
        // Only what has the root as its beginning, name by name, is below it.
        let mount = Mount::parse(b"1 2 3 /a\\040b /m rw - cgroup2 none rw").unwrap();
        let folder =
            |path: &[u8]| String::from_utf8(mount.folder(Some(path)).unwrap().path().to_vec()).unwrap();
        assert_eq!(folder(b"/a b/c"), "/m/c");
        assert_eq!(folder(b"/a bc"), "/m/a bc");
        assert_eq!(folder(b"/a b"), "/m");
    }

    #[test]
    fn odd_files_are_no_limit() {
        for junk in
            ["", "\n", " - ", "a - cgroup2", "1 2 3 / HERE - cgroup2", "::", "0:", ":::::", "\\04 - \\"]
        {
            let tree = Tree::new("junk", &[("cgroup", junk), ("mountinfo", junk), ("memory.max", "lots")]);
            assert_eq!(tree.limit(), None, "{junk}");
        }
        assert_eq!(Tree::new("none", &[]).limit(), None);
        let far = format!("1 2 3 / /{} rw - cgroup2 none rw", "x/".repeat(LONGEST));
        assert!(Mount::parse(far.as_bytes()).unwrap().folder(None).is_none());
        let deep = vec![b'y'; LONGEST];
        let mount = Mount::parse(b"1 2 3 / /m rw - cgroup2 none rw").unwrap();
        assert!(mount.folder(Some(&deep)).is_none());
        assert!(mount.folder(Some(&deep[..LONGEST - 10])).unwrap().number(c"memory.max") == u64::MAX);
    }
}
