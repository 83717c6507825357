//! The progress bar, on standard error. Invariant: nothing is drawn if that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// The progress of the runs.
pub struct Progress(ProgressBar);

impl Progress {
    /// Without expected runs.
    pub fn new() -> Progress {
        // indicatif draws on standard error, and nothing if that is no terminal.
        let bar = ProgressBar::no_length();
        bar.set_style(style("{spinner} {elapsed_precise}  {msg}"));
        // Rarely enough not to disturb the measurement.
        bar.enable_steady_tick(Duration::from_secs(1));
        Progress(bar)
    }

    /// Adds expected runs.
    pub fn expect(&self, runs: u64) {
        if self.0.length().is_none() {
            // Without expected runs the bar would look full.
            self.0.set_style(style("{wide_bar} {pos}/{len} runs, {elapsed_precise}  {msg}"));
        }
        self.0.set_length(self.0.length().unwrap_or(0) + runs);
    }

    /// Shows the current run.
    pub fn show(&self, what: String) {
        self.0.set_message(what);
    }

    /// Counts a completed run.
    pub fn advance(&self) {
        self.0.inc(1);
    }

    /// Removes the bar.
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
    /// Leaves the line to an error message.
    fn drop(&mut self) {
        self.finish();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
