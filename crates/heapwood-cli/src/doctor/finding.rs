//! A finding, and its form for people and for machines. A finding that is not `ok` has a remedy. Texts from the system
//! are quoted and cut before they get here.

use serde::Serialize;
use std::fmt;

/// The text of a file, or the error of reading it.
pub(crate) type Text = std::io::Result<String>;

/// The importance of a finding for a heap.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// As a heap needs it.
    Ok,
    /// Another setting may be better, or it is unknown.
    Note,
    /// It costs time or memory, or may end the program.
    Warning,
}

/// One thing found.
#[derive(Serialize, Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) name: &'static str,
    pub(crate) state: State,
    pub(crate) found: String,
    /// The consequence for a heap.
    pub(crate) consequence: String,
    /// What to set. `null` where nothing needs to be.
    pub(crate) remedy: Option<String>,
}

impl Finding {
    pub(crate) fn ok(name: &'static str, found: impl Into<String>, consequence: impl Into<String>) -> Self {
        let (found, consequence) = (found.into(), consequence.into());
        Finding { name, state: State::Ok, found, consequence, remedy: None }
    }

    pub(crate) fn note(
        name: &'static str,
        found: impl Into<String>,
        consequence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Finding { state: State::Note, remedy: Some(remedy.into()), ..Finding::ok(name, found, consequence) }
    }

    pub(crate) fn warning(
        name: &'static str,
        found: impl Into<String>,
        consequence: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Finding { state: State::Warning, ..Finding::note(name, found, consequence, remedy) }
    }

    /// A file that could not be read.
    pub(crate) fn unread(name: &'static str, path: &str, why: &std::io::Error) -> Self {
        Finding::unknown(name, format!("{path} cannot be read ({why})"))
    }

    /// A file with an unexpected text.
    pub(crate) fn odd(name: &'static str, path: &str, text: &str) -> Self {
        Finding::unknown(name, format!("{path} says {}", quoted(text)))
    }

    /// A finding that is unknown, and the reason.
    pub(crate) fn unknown(name: &'static str, why: impl fmt::Display) -> Self {
        Finding::note(
            name,
            format!("unknown: {why}"),
            "The consequence for a heap is unknown, too.",
            "If a container or sandbox hides it, run `heapwood doctor` outside as well.",
        )
    }
}

/// Text from the system, quoted on one line and cut.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}..", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Warning => "warning",
        };
        write!(f, "{mark:<9}{}: {}", self.name, self.found)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n{:9}{} {remedy}", "", self.consequence),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_is_one_line_and_the_rest_two() {
        assert_eq!(Finding::ok("swap", "none", "No waiting.").to_string(), "ok       swap: none");
        assert_eq!(
            Finding::warning("swap", "slow", "Much waiting.", "Unplug it.").to_string(),
            "warning  swap: slow\n         Much waiting. Unplug it."
        );
    }

    #[test]
    fn odd_texts_stay_on_one_short_line() {
        let text = "ä\n".repeat(500);
        let finding = Finding::odd("swap", "/proc/swaps", &text);
        assert_eq!(finding.state, State::Note);
        assert!(finding.found.len() < 200 && !finding.found.contains('\n'), "{}", finding.found);
        assert_eq!(quoted(""), "\"\"");
    }

    #[test]
    fn json_has_null_without_a_remedy() {
        let json = serde_json::to_value(Finding::ok("swap", "none", "No waiting.")).unwrap();
        assert_eq!(json["state"], "ok");
        assert!(json["remedy"].is_null());
    }
}
