//! Texts generated from the lists of options and statistics: two structs of the header, and the tables of docs/guide.
//! They are part of the repository, for readers. The tests compare them with the lists; with HEAPWOOD_REGENERATE=1 in
//! the environment the tests write them again. Invariant: only the text between the two marks is generated.

use crate::options::Options;
use crate::options::TRACE_WORDS;
use heapwood_gc::memory_parts::{MEMORY_PARTS, PartGroup};
use heapwood_gc::settings::options::{Audience, OptionUnit};
use heapwood_gc::stats::{STATISTICS, StatUnit};
use heapwood_gc::{OPTIONS, OptionInfo, stats::StatInfo, stats::StatKind};
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;

const HEADER: &str = "include/heapwood.h";
const OPTIONS_GUIDE: &str = "../../docs/guide/options.md";
const MEMORY_GUIDE: &str = "../../docs/guide/memory.md";
const STATISTICS_GUIDE: &str = "../../docs/guide/statistics.md";
/// The longest line of the header.
const WIDTH: usize = 118;
/// Meanings of statistics that their names say, too.
const SAID: [&str; 5] = ["The median.", "The 99th percentile.", "The longest.", "The sum.", "CPU time."];

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

/// An option's effect in one sentence, its range and default. The guide has its whole help.
fn in_c(option: &OptionInfo) -> String {
    let mut text = format!("{}.", option.summary());
    if option.unit == OptionUnit::Trace {
        let [on, off] = TRACE_WORDS.map(|(name, trace)| format!("{name} ({})", option.show(trace as u64)));
        write!(text, " In C they are {on} and {off}.").unwrap();
    } else if option.unit == OptionUnit::Time {
        write!(text, " In nanoseconds, or HW_TIME_OFF.").unwrap();
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
        if !SAID.contains(&statistic.help) {
            block += &comment(statistic.help);
        }
        writeln!(block, "    uint64_t {};", statistic.name).unwrap();
    }
    says(HEADER, "statistics", &(block + "} hw_stats;\n"));
}

#[test]
fn the_header_has_the_parts_of_memory() {
    let mut block = String::from(
        "typedef struct hw_memory {\n    /* Of this struct: set by hw_memory_get's caller. */\n",
    );
    block += "    size_t size;\n";
    for part in &MEMORY_PARTS {
        block += &comment(part.help);
        writeln!(block, "    uint64_t {};", part.name).unwrap();
    }
    says(HEADER, "memory", &(block + "} hw_memory;\n"));
}

#[test]
fn the_guide_has_the_parts_of_memory() {
    let mut block = String::new();
    for (heading, group) in [
        ("Sums", PartGroup::Sum),
        ("Objects", PartGroup::Objects),
        ("Cells without objects", PartGroup::Cells),
        ("Pages", PartGroup::Pages),
        ("Arenas", PartGroup::Arenas),
        ("What the kernel knows", PartGroup::Kernel),
        ("Tables", PartGroup::Tables),
    ] {
        let has_advice = group != PartGroup::Sum;
        let columns = if has_advice { " why it is large, and what to do |" } else { "" };
        let line = if has_advice { "|---|---|---|" } else { "|---|---|" };
        write!(block, "\n### {heading}\n\n| part | what it holds |{columns}\n{line}\n").unwrap();
        for part in MEMORY_PARTS.iter().filter(|part| part.group == group) {
            assert_eq!(part.advice.is_empty(), !has_advice, "{}", part.name);
            let advice = if has_advice { format!(" {} |", part.advice) } else { String::new() };
            writeln!(block, "| `{}` | {} |{advice}", part.name, part.help).unwrap();
        }
    }
    let rows = block.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, MEMORY_PARTS.len(), "a group without a table");
    says(MEMORY_GUIDE, "memory", &(block + "\n"));
}

#[test]
fn the_guide_has_the_options() {
    let mut block = String::new();
    for (audience, heading) in [
        (Audience::Everyone, "For users of a program"),
        (Audience::InC, "In C only"),
        (Audience::Tests, "For tests of this library"),
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

/// The kind of a time, by its name.
fn kind_of_time(name: &str) -> StatKind {
    match name {
        _ if name.contains("_p50_") || name.contains("_p99_") => StatKind::Quantile,
        _ if name.contains("_max_") => StatKind::Maximum,
        _ => StatKind::Total,
    }
}

/// The name of a statistic without what tells it from others of one thing: `pause` of `pause_max_ns`.
fn family(name: &str) -> &str {
    let name = name.trim_end_matches("_ns").trim_end_matches("_cpu");
    ["_p50", "_p99", "_max", "_total"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// A row of the guide: the names of a family, and their meanings but for what the names say.
fn row(members: &[&StatInfo]) -> String {
    let names: Vec<String> = members.iter().map(|s| format!("`{}`", s.name)).collect();
    let help = members[0].help;
    let alone = help.strip_suffix(": the median.").or(help.strip_suffix(": the 99th percentile."));
    let mut meaning = alone.map_or(help.to_string(), |family| format!("{family}."));
    for other in members[1..].iter().filter(|s| !SAID.contains(&s.help)) {
        write!(meaning, " {}", other.help).unwrap();
    }
    format!("| {} | {meaning} |\n", names.join(", "))
}

#[test]
fn the_guide_has_the_statistics() {
    let mut block = String::new();
    let times = [StatKind::Total, StatKind::Quantile, StatKind::Maximum];
    for (heading, unit, kinds) in [
        ("Levels in bytes", StatUnit::Bytes, &[StatKind::Level][..]),
        ("Totals in bytes", StatUnit::Bytes, &[StatKind::Total][..]),
        ("Times in nanoseconds", StatUnit::Nanoseconds, &times),
        ("Levels", StatUnit::Count, &[StatKind::Level][..]),
        ("Totals", StatUnit::Count, &[StatKind::Total][..]),
        ("Maxima", StatUnit::Count, &[StatKind::Maximum][..]),
    ] {
        write!(block, "\n### {heading}\n\n| statistic | meaning |\n|---|---|\n").unwrap();
        let mut rows: Vec<Vec<&StatInfo>> = Vec::new();
        for statistic in STATISTICS.iter().filter(|s| s.unit == unit && kinds.contains(&s.kind)) {
            let is_time = unit == StatUnit::Nanoseconds;
            assert!(!is_time || statistic.kind == kind_of_time(statistic.name), "{}", statistic.name);
            match rows.iter_mut().find(|row| is_time && family(row[0].name) == family(statistic.name)) {
                Some(row) => row.push(statistic),
                None => rows.push(vec![statistic]),
            }
        }
        block.extend(rows.iter().map(|members| row(members)));
    }
    for statistic in &STATISTICS {
        assert!(block.contains(&format!("`{}`", statistic.name)), "{} is in no table", statistic.name);
    }
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
