//! The bar on a terminal: on standard error, and only if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// How far the runs are.
pub struct Progress(ProgressBar);

impl Progress {
    /// No run is expected yet.
    pub fn new() -> Progress {
        // indicatif draws on standard error, and nothing at all where that is no terminal.
        let bar = ProgressBar::no_length();
        bar.set_style(style("{spinner} {elapsed_precise}  {msg}"));
        // Seldom enough not to disturb what is measured.
        bar.enable_steady_tick(Duration::from_secs(1));
        Progress(bar)
    }

    /// So many more runs are to come.
    pub fn expect(&self, runs: u64) {
        if self.0.length().is_none() {
            // Until now a bar would have been a full one.
            self.0.set_style(style("{wide_bar} {pos}/{len} runs, {elapsed_precise}  {msg}"));
        }
        self.0.set_length(self.0.length().unwrap_or(0) + runs);
    }

    /// What runs now.
    pub fn show(&self, what: String) {
        self.0.set_message(what);
    }

    /// A run has ended.
    pub fn advance(&self) {
        self.0.inc(1);
    }

    /// All have.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Progress {
    /// Leaves the line to the error message.
    fn drop(&mut self) {
        self.finish();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
