//! The result of one run of a program: the operating system's account of its process, and the program's own figures.

use heapwood_os::process::usage::Usage;

/// The cost of one run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) wall_s: f64,
    pub(crate) used: Usage,
    pub(crate) figures: Vec<(String, f64)>,
}

impl Run {
    pub(crate) fn cpu_s(&self) -> f64 {
        self.used.user_s + self.used.sys_s
    }

    /// Its own figures, by name.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(figure, _)| figure == name).map(|(_, value)| *value)
    }
}
