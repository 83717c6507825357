//! Settings by the person who runs a program: `HEAPWOOD=percent=100,limit=2GiB`, with keys and values as in Go's
//! GODEBUG. Invariant: nothing reads the variable unless a program asks for it, except for `trace`, which changes only
//! reports. An invalid setting changes nothing and ends nothing: it is reported on standard error, once a process.

use crate::error::SettingError;
use crate::settings::options::{
    Concurrent, Config, GcTrace, Generational, OPTIONS, OptionInfo, OptionUnit, Stop,
};
use crate::settings::{size, time};
use core::fmt::Display;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::diagnose::message::write_line;
use heapwood_os::threads::signal;

/// The variable's name.
pub const VARIABLE: &str = "HEAPWOOD";

/// Whether this process has reported settings of a wrong form, or without an option, which every heap reads. A child
/// process reports its own.
static TOLD_FORM: AtomicBool = AtomicBool::new(false);
/// The same for values, which only heaps that read all settings report.
static TOLD_VALUES: AtomicBool = AtomicBool::new(false);

impl SettingError<'_> {
    /// Whether every heap reports it, not only one that reads all settings: it names no option, or `trace`.
    fn is_of_form(&self) -> bool {
        match self {
            SettingError::NotText | SettingError::NoValue { .. } | SettingError::NoOption { .. } => true,
            SettingError::NoSize { option, .. }
            | SettingError::Value { option, .. }
            | SettingError::Range { option, .. } => option.unit == OptionUnit::Trace,
        }
    }
}

impl OptionInfo {
    /// Parses a value: a number, a size such as `2GiB`, or `on` or `off`. It may be out of range.
    ///
    /// # Errors
    /// A sentence that says why it is none.
    pub fn parse<'a>(&'static self, text: &'a str) -> Result<u64, impl Display + use<'a>> {
        self.value_of(text)
    }

    fn value_of<'a>(&'static self, text: &'a str) -> Result<u64, SettingError<'a>> {
        let text = text.trim_ascii();
        let wrong = SettingError::Value { option: self, text };
        match self.unit {
            OptionUnit::Bytes => {
                size::parse(text).map_err(|why| SettingError::NoSize { option: self, text, why })
            }
            OptionUnit::Time => {
                time::parse(text).map_err(|why| SettingError::NoSize { option: self, text, why })
            }
            OptionUnit::Switch => match text {
                "1" | "on" | "true" | "yes" => Ok(1),
                "0" | "off" | "false" | "no" => Ok(0),
                _ => Err(wrong),
            },
            OptionUnit::Trace => GcTrace::parse(text).ok_or(wrong),
            OptionUnit::When => Generational::parse(text).ok_or(wrong),
            OptionUnit::Beside => Concurrent::parse(text).ok_or(wrong),
            OptionUnit::Stops => Stop::parse(text).ok_or(wrong),
            OptionUnit::Signal => match signal::number(text) {
                Some(number) => Ok(number as u64),
                None => text.parse().map_err(|_| wrong),
            },
            _ => text.parse().map_err(|_| wrong),
        }
    }
}

impl Config {
    /// These settings, changed by the variable `HEAPWOOD`. Invalid settings are reported on standard error and ignored.
    /// The variable overrides settings made before this call; settings made after it override the variable:
    ///
    /// ```
    /// # use heapwood_gc::Config;
    /// let config = Config::default().percent(50).with_env().verify(true);
    /// # assert!(config.verify);
    /// ```
    ///
    /// Only this, [`Config::from_env`], `hw_options_env` of the C interface and the command read the variable; and
    /// every heap whose program did not set the option `trace`, for that option alone.
    #[must_use]
    pub fn with_env(self) -> Self {
        let mut config = self;
        config.read_variable(true);
        config
    }

    /// The settings with which a heap is made: if they do not set `trace`, the variable does.
    pub(crate) fn with_trace_of_env(self) -> Self {
        let mut asked = Config::DEFAULT;
        if self.trace.is_none() {
            asked.read_variable(false);
        }
        Config { trace: self.trace.or(asked.trace), ..self }
    }

    /// Applies the settings of the variable. Reports invalid ones, once: all, or only those that concern every heap.
    fn read_variable(&mut self, all: bool) {
        let Some(text) = std::env::var_os(VARIABLE) else { return };
        let tells_form = !TOLD_FORM.swap(true, Ordering::Relaxed);
        let tells_values = all && !TOLD_VALUES.swap(true, Ordering::Relaxed);
        let warn = |why: SettingError<'_>| {
            if if why.is_of_form() { tells_form } else { tells_values } {
                write_line(format_args!("heapwood: ignored in {VARIABLE}: {why}"));
            }
        };
        match text.to_str() {
            Some(text) => self.try_each(text, warn),
            None => warn(SettingError::NotText),
        }
    }

    /// The defaults, changed by the variable `HEAPWOOD` as in [`Config::with_env`].
    pub fn from_env() -> Self {
        Config::DEFAULT.with_env()
    }

    /// Applies the settings in `text`: `key=value`, separated by commas; the last of a key counts. An invalid one goes
    /// to `warn` and changes nothing.
    pub fn set_each(&mut self, text: &str, mut warn: impl FnMut(&dyn Display)) {
        self.try_each(text, |why| warn(&why));
    }

    fn try_each(&mut self, text: &str, mut warn: impl FnMut(SettingError<'_>)) {
        for setting in text.split(',').map(str::trim_ascii).filter(|setting| !setting.is_empty()) {
            if let Err(why) = self.set_one(setting) {
                warn(why);
            }
        }
    }

    fn set_one<'a>(&mut self, setting: &'a str) -> Result<(), SettingError<'a>> {
        let (name, value) = setting.split_once('=').ok_or(SettingError::NoValue { setting })?;
        let name = name.trim_ascii();
        let option = OptionInfo::find(name).ok_or(SettingError::NoOption {
            name,
            nearest: nearest(name),
            options: &OPTIONS,
        })?;
        let value = option.value_of(value)?;
        self.set(option, value).map_err(|_| SettingError::Range { option, value })
    }
}

/// The option whose name differs from `name` in at most two letters.
fn nearest(name: &str) -> Option<&'static str> {
    let near = OPTIONS.iter().filter_map(|option| Some((distance(name, option.name)?, option.name)));
    near.filter(|&(distance, name)| distance <= 2 && 2 * distance < name.len()).min().map(|(_, name)| name)
}

/// The least number of letters to change, add or remove to make one word into the other (Levenshtein's distance);
/// `None` for words longer than any option.
fn distance(a: &str, b: &str) -> Option<usize> {
    const MOST: usize = 24;
    let mut row: [usize; MOST + 1] = core::array::from_fn(|i| i);
    if a.len() > MOST || b.len() > MOST {
        return None;
    }
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(!x.eq_ignore_ascii_case(&y));
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    Some(row[b.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::options::Concurrent;

    fn set(text: &str) -> (Config, Vec<String>) {
        let (mut config, mut told) = (Config::default(), Vec::new());
        config.set_each(text, |why| told.push(why.to_string()));
        (config, told)
    }

    #[test]
    fn what_is_right_is_set() {
        let (config, told) =
            set("percent=100,limit=2GiB, huge_pages = off ,stress=on,,mark_stack=9,percent=70");
        let wanted =
            Config::default().percent(70).limit(2 << 30).huge_pages(false).stress(true).mark_stack(9);
        assert_eq!((config, told), (wanted, Vec::new()));
        for (text, word) in [("off", Concurrent::Off), ("auto", Concurrent::Auto), ("on", Concurrent::On)] {
            let wanted = Config::default().concurrent(word);
            assert_eq!(set(&format!("concurrent={text}")), (wanted, Vec::new()));
        }
        for (text, ns) in [("2ms", 2_000_000), ("off", time::OFF), ("0", 0)] {
            assert_eq!(set(&format!("max_pause={text}")), (Config::default().max_pause(ns), Vec::new()));
        }
        assert_eq!(set(""), (Config::default(), Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_told_and_changes_nothing() {
        for (text, words) in [
            (
                "percnt=100",
                "no option is called percnt: is percent meant? There are min_heap, limit, address_space, percent",
            ),
            ("gogc=off", "no option is called gogc: there are min_heap,"),
            ("=3", "no option has an empty name: there are"),
            ("verify", "verify has no value: write key=value"),
            ("percent=0", "option percent is 0"),
            ("percent=half", "option percent is half: it must be a number, 1 to 100000"),
            ("percent=-3", "option percent is -3"),
            ("percent=99999999999999999999999", "option percent is 99999999999999999999999"),
            ("limit=1MiB", "option limit is 1 MiB: it must be at least 4 MiB"),
            (
                "max_pause=5min",
                "option max_pause is 5min: a time is a number with ns, us, ms or s, such as 5ms, or off",
            ),
            ("limit=2parsecs", "option limit is 2parsecs: a size is a number with KiB, MiB, GiB or TiB"),
            ("verify=maybe", "option verify is maybe: it must be on (1) or off (0)"),
            ("verify=", "option verify is : it must be on (1) or off (0)"),
            ("concurrent=yes", "option concurrent is yes: it must be auto (1), on (2) or off (0)"),
        ] {
            let (config, told) = set(text);
            assert_eq!(config, Config::default(), "{text}");
            assert!(told.len() == 1 && told[0].starts_with(words), "{text}: {told:?}");
            let (config, told) = set(&format!("verify=on,{text},min_heap=1MiB"));
            assert_eq!((config, told.len()), (Config::default().verify(true).min_heap(1 << 20), 1), "{text}");
        }
    }
}
