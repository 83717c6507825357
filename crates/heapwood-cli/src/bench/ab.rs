//! Heapwood with two values of a setting. Only the setting differs.

use super::children::Children;
use super::own_build;
use super::programs::{Program, SettingBy};
use crate::args::{Bench, Size};
use crate::settings::{Ab, Setting};
use heapwood_gc::VARIABLE;
use heapwood_report::header::shell_word;
use heapwood_report::{CommandError, Progress};
use std::ffi::OsString;

/// Heapwood with the one value and with the other.
pub(crate) fn programs(
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
        programs.push(heapwood.with(name, how));
    }
    Ok(programs)
}

/// The user's variable, and a setting after it: the last value of a key counts.
fn appended(given: Option<OsString>, setting: &str) -> OsString {
    let mut all = given.unwrap_or_default();
    if !all.is_empty() {
        all.push(",");
    }
    all.push(setting);
    all
}

/// The option, quoted for a shell.
pub(crate) fn flag(ab: &Ab) -> String {
    format!(" --ab {}", shell_word(&format!("{}={}", ab.setting.name(), ab.values.join(","))))
}
