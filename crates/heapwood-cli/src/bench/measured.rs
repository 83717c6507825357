//! What one run of a program came to: what the operating system says of its process, and what it measured itself.

use heapwood_os::process::usage::Usage;

/// What one run cost.
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

    /// What it measured itself, by its name.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|(figure, _)| figure == name).map(|(_, value)| *value)
    }
}
