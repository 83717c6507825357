//! Heapwood with two values of a setting, in turn: A B A B. Both run the same workload and must print the same check
//! values. Only the setting differs.

use super::ab_report::Report;
use super::ab_table;
use super::children::Children;
use super::gobench::{self, Benchmark};
use super::own_build;
use super::programs::{Program, SettingBy};
use super::rounds::Rounds;
use super::variable::appended;
use crate::args::{Bench, Output, Size};
use crate::room::check_size;
use crate::settings::{Ab, Setting};
use heapwood_gc::VARIABLE;
use heapwood_report::header::shell_word;
use heapwood_report::output::json;
use heapwood_report::{CommandError, Header, Progress};
use std::ffi::OsStr;

pub(crate) fn run(args: &Bench, ab: &Ab) -> Result<(), CommandError> {
    let (workload, size) = (args.what.workload()?, args.what.size()?);
    check_size(workload, size, None)?;
    let (children, bar) = (Children::new()?, Progress::new());
    let mut rounds = Rounds::new(&children, &bar, workload, programs(args, ab, &children, &bar, size)?);
    rounds.warm_up()?;
    rounds.measure(args.runs)?;
    bar.finish();

    let header = Header::now(command(args, ab, size, std::env::var_os(VARIABLE).as_deref()), args.runs);
    let [a, b] = &rounds.entries[..] else { unreachable!("a setting has two values") };
    match args.output() {
        Output::Gobench => {
            gobench::print_head(&header);
            let benchmark = Benchmark { workload, size, key: ab.setting.name() };
            for (entry, value) in rounds.entries.iter().zip(&ab.values) {
                benchmark.print(value, &entry.runs);
            }
        }
        Output::Json => json(&Report::new(workload, size, ab, header, [a, b]))?,
        Output::Table => ab_table::print(&Report::new(workload, size, ab, header, [a, b])),
    }
    Ok(())
}

/// Heapwood with the one value and with the other.
fn programs(
    args: &Bench,
    ab: &Ab,
    children: &Children,
    bar: &Progress,
    size: Size,
) -> Result<Vec<Program>, CommandError> {
    let heapwood = Program::heapwood(args.what.workload()?, size)?;
    let mut programs = Vec::new();
    for value in &ab.values {
        let name = format!("{}={value}", ab.setting.name());
        let how = match ab.setting {
            Setting::Option(_) => SettingBy::Variable(VARIABLE, appended(std::env::var_os(VARIABLE), &name)),
            Setting::Prefetch => {
                bar.show(format!("building with {name}"));
                let folder = args.build_dir.clone().unwrap_or_else(own_build::folder);
                let folder = std::path::absolute(folder).map_err(CommandError::run)?;
                SettingBy::Executable(own_build::build(children, value, &folder)?)
            }
        };
        let mut program = heapwood.with(name, how);
        // This value turns them off on purpose.
        program.huge_pages &= !ab.turns_off("huge_pages", value);
        programs.push(program);
    }
    Ok(programs)
}

/// The command for the same measurement, quoted for a shell.
fn command(args: &Bench, ab: &Ab, size: Size, variable: Option<&OsStr>) -> String {
    let variable = variable.filter(|text| !text.is_empty()).map(|text| text.to_string_lossy());
    let variable = variable.map_or(String::new(), |text| format!("{VARIABLE}={} ", shell_word(&text)));
    let setting = shell_word(&format!("{}={}", ab.setting.name(), ab.values.join(",")));
    format!("{variable}heapwood bench {} --ab {setting} --runs {}", args.what.spelled(size), args.runs)
}
