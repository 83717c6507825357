//! A shared library made for a test: built by cc from a few lines of C, opened and closed by the dynamic loader. Its data hold
//! what they are told to.

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const TEXT: &str = "\
#include <stddef.h>
static size_t hidden[100000];
size_t shown = 1;
void keep(size_t i, size_t word) { *(volatile size_t *)&hidden[i] = word; }
void show(size_t i, size_t word) { (void)i; *(volatile size_t *)&shown = word; }
";

/// How many words of a library's there are to keep something in.
pub const WORDS: usize = 100_000;

const RTLD_NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlclose(library: *mut c_void) -> c_int;
    fn dlerror() -> *const c_char;
}

type Store = unsafe extern "C" fn(usize, usize);

/// A library's file, removed when this is dropped.
pub struct File(PathBuf);

impl File {
    /// A new one, which the loader takes for no other; none, which is told, where there is no cc.
    pub fn new() -> Option<File> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let built = built().as_ref()?;
        let path = built.with_file_name(format!("kept-{}-{number}.so", std::process::id()));
        std::fs::copy(built, &path).unwrap();
        Some(File(path))
    }

    /// Opens it.
    pub fn open(&self) -> Library {
        let path = CString::new(self.0.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path ends with a zero byte; the library has no constructors.
        let handle = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
        // SAFETY: there is a message if it was not opened.
        assert!(!handle.is_null(), "{:?}", unsafe { std::ffi::CStr::from_ptr(dlerror()) });
        // SAFETY: the text above has functions of these names and this type.
        let [keep, show] = [c"keep", c"show"]
            .map(|name| unsafe { core::mem::transmute::<*mut c_void, Store>(dlsym(handle, name.as_ptr())) });
        Library { handle, keep, show }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The library that files are copies of.
fn built() -> &'static Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| {
        // Beside the test program, where files may be executed.
        let program = std::env::current_exe().unwrap();
        let directory = program.parent().unwrap();
        let [source, library] =
            ["c", "so"].map(|end| directory.join(format!("kept-{}.{end}", std::process::id())));
        std::fs::write(&source, TEXT).unwrap();
        let mut cc = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
        let done = cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
        std::fs::remove_file(&source).unwrap();
        match done {
            Ok(done) => {
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                Some(library)
            }
            Err(e) => {
                eprintln!("skipped: there is no C compiler to build a library with ({e})");
                None
            }
        }
    })
}

/// An opened library, closed when it is dropped.
pub struct Library {
    handle: *mut c_void,
    keep: Store,
    show: Store,
}

impl Library {
    /// Its word `i`, of those that are zero at first, holds an address from now on.
    pub fn keep(&self, i: usize, object: usize) {
        assert!(i < WORDS);
        // SAFETY: the library is open, and has such a word.
        unsafe { (self.keep)(i, object) };
    }

    /// The same of its word that is 1 at first.
    pub fn show(&self, object: usize) {
        // SAFETY: the library is open.
        unsafe { (self.show)(0, object) };
    }

    /// An address in it.
    pub fn address(&self) -> usize {
        self.keep as usize
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once, and its functions are not called afterwards.
        assert_eq!(unsafe { dlclose(self.handle) }, 0);
    }
}
