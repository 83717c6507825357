//! Texts generated from the lists of options and statistics: two structs of the header, and the tables of docs/guide.
//! They are part of the repository, for readers. The tests compare them with the lists; with HEAPWOOD_REGENERATE=1 in
//! the environment the tests write them again. Invariant: only the text between the two marks is generated.

use crate::options::Options;
use crate::options::TRACE_WORDS;
use heapwood_gc::settings::options::{Audience, OptionUnit};
use heapwood_gc::stats::{STATISTICS, StatUnit};
use heapwood_gc::{OPTIONS, OptionInfo};
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;

const HEADER: &str = "include/heapwood.h";
const OPTIONS_GUIDE: &str = "../../docs/guide/options.md";
const STATISTICS_GUIDE: &str = "../../docs/guide/statistics.md";
/// The longest line of the header.
const WIDTH: usize = 118;

/// `text` with the lines between `generated: NAME` and `end: NAME` replaced by `block`.
fn with_block(text: &str, name: &str, block: &str) -> Option<String> {
    let begin = text.find(&format!("generated: {name}"))?;
    let begin = begin + text[begin..].find('\n')? + 1;
    let end = begin + text[begin..].find(&format!("end: {name}"))?;
    let end = text[..end].rfind('\n')? + 1;
    Some([&text[..begin], block, &text[end..]].concat())
}

/// Tests that the file (relative to this crate's folder) has `block` between its marks.
fn says(file: &str, name: &str, block: &str) {
    // Two of these tests write to one file.
    static WRITES: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITES.lock();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let wanted = with_block(&text, name, block).unwrap_or_else(|| panic!("{file}: no marks for {name}"));
    if wanted != text {
        if std::env::var_os("HEAPWOOD_REGENERATE").is_some() {
            return std::fs::write(&path, wanted).unwrap();
        }
        let stale = text.lines().find(|line| !wanted.lines().any(|other| other == *line));
        panic!(
            "{file} is not what the list of {name} says (first: {stale:?}): HEAPWOOD_REGENERATE=1 cargo test -p heapwood-c \
             writes it"
        );
    }
}

/// A comment of C around `text`, broken into lines.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("    /*")];
    // Room for the end of the comment.
    for word in text.replace('`', "").split_whitespace() {
        if lines.last().unwrap().len() + 1 + word.len() + 3 > WIDTH {
            lines.push(String::from("      "));
        }
        let line = lines.last_mut().unwrap();
        line.push(' ');
        line.push_str(word);
    }
    lines.join("\n") + " */\n"
}

/// An option's effect, range and default.
fn in_c(option: &OptionInfo) -> String {
    let mut text = option.help.to_string();
    if option.unit == OptionUnit::Trace {
        let word = |name, bits| format!("{name} ({})", option.show(bits));
        let [lines, totals, off] = TRACE_WORDS.map(|(name, words)| word(name, words.bits().into()));
        write!(text, " In C they are {lines}, {totals}, their sum, and {off}.").unwrap();
    } else if option.unit != OptionUnit::Switch && option.range_text().to_string() != "any" {
        write!(text, " Range: {}.", option.range_text()).unwrap();
    }
    match option.default {
        Some(default) => write!(text, " Default: {}.", option.show(default)),
        None => write!(text, " Default: 0, {}.", option.unset),
    }
    .unwrap();
    if option.audience == Audience::Tests {
        write!(text, " It is {}.", option.audience.note()).unwrap();
    }
    text
}

#[test]
fn the_header_has_the_options() {
    let mut block =
        String::from("typedef struct hw_options {\n    /* Of this struct: set by hw_options_init. */\n");
    block += "    size_t size;\n";
    for (option, (c_type, _)) in OPTIONS.iter().zip(Options::FIELDS) {
        block += &comment(&in_c(option));
        writeln!(block, "    {c_type} {};", option.name).unwrap();
    }
    says(HEADER, "options", &(block + "} hw_options;\n"));
}

#[test]
fn the_header_has_the_statistics() {
    let mut block =
        String::from("typedef struct hw_stats {\n    /* Of this struct: set by hw_stats_get's caller. */\n");
    block += "    size_t size;\n";
    for statistic in &STATISTICS {
        block += &comment(statistic.help);
        writeln!(block, "    uint64_t {};", statistic.name).unwrap();
    }
    says(HEADER, "statistics", &(block + "} hw_stats;\n"));
}

#[test]
fn the_guide_has_the_options() {
    let mut block = String::new();
    for (audience, heading) in [
        (Audience::Everyone, "For whoever runs a program"),
        (Audience::InC, "Of use in C only"),
        (Audience::Tests, "For tests and measurements of this library"),
    ] {
        write!(block, "\n### {heading}\n\n| option | default | range | what it does |\n|---|---|---|---|\n")
            .unwrap();
        for option in OPTIONS.iter().filter(|option| option.audience == audience) {
            let range = match option.unit {
                OptionUnit::Switch => "on, off".into(),
                _ => option.range_text().to_string(),
            };
            writeln!(block, "| `{}` | {} | {range} | {} |", option.name, option.default_text(), option.help)
                .unwrap();
        }
    }
    let rows = block.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, OPTIONS.len(), "an audience without a table");
    says(OPTIONS_GUIDE, "options", &(block + "\n"));
}

#[test]
fn the_guide_has_the_statistics() {
    let mut block = String::new();
    for (unit, heading) in
        [(StatUnit::Bytes, "Bytes"), (StatUnit::Nanoseconds, "Nanoseconds"), (StatUnit::Count, "Counts")]
    {
        write!(block, "\n### {heading}\n\n| statistic | kind | what it says |\n|---|---|---|\n").unwrap();
        for statistic in STATISTICS.iter().filter(|statistic| statistic.unit == unit) {
            let (name, kind) = (statistic.name, statistic.kind.name());
            writeln!(block, "| `{name}` | {kind} | {} |", statistic.help).unwrap();
        }
    }
    let rows = block.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, STATISTICS.len(), "a unit without a table");
    says(STATISTICS_GUIDE, "statistics", &(block + "\n"));
}

#[test]
fn only_the_text_between_the_marks_is_written() {
    let text = "a\n<!-- generated: options -->\nold\nold\n<!-- end: options -->\nz\n";
    let wanted = "a\n<!-- generated: options -->\nnew\n<!-- end: options -->\nz\n";
    assert_eq!(with_block(text, "options", "new\n").as_deref(), Some(wanted));
    assert_eq!(with_block(wanted, "options", "new\n").as_deref(), Some(wanted));
    assert_eq!(with_block(text, "statistics", "new\n"), None);
    assert_eq!(comment(&"`word` ".repeat(30)).lines().map(str::len).max(), Some(111));
}
