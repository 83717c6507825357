//! Settings that the person who runs a program makes: `HEAPWOOD=percent=100,limit=2GiB`, keys and values as in Go's
//! GODEBUG. Invariant: but for `trace`, which says what is told and changes nothing else, nothing reads the variable
//! unasked; and what it says wrongly changes nothing and ends nothing: it is told, setting by setting, on standard error,
//! once a process.

use crate::error::{OptionError, SettingError};
use crate::options::{Config, GcTrace, Generational, OPTIONS, OptionInfo, OptionUnit, Stop};
use crate::size;
use core::sync::atomic::{AtomicBool, Ordering};
use heapwood_os::message::write_line;
use heapwood_os::signal;

/// The variable's name.
pub const VARIABLE: &str = "HEAPWOOD";

/// Whether it has been told in this process what of the variable is of a wrong form, or names no option; that every heap
/// would tell. They are this process's, as its environment is.
static TOLD_FORM: AtomicBool = AtomicBool::new(false);
/// The same of values, which only those tell that were asked to read all.
static TOLD_VALUES: AtomicBool = AtomicBool::new(false);

impl SettingError<'_> {
    /// Whether it concerns every heap, not only those that read all of the variable: no option is meant, or `trace`.
    fn is_of_form(&self) -> bool {
        match self {
            SettingError::NotText | SettingError::NoValue { .. } | SettingError::NoOption { .. } => true,
            SettingError::Value { option, .. } | SettingError::Range(OptionError { option, .. }) => {
                option.unit == OptionUnit::Trace
            }
        }
    }
}

impl OptionInfo {
    /// The value that `text` says: a number, a size such as `2GiB`, or `on` or `off`. It may be out of range.
    pub fn parse<'a>(&'static self, text: &'a str) -> Result<u64, SettingError<'a>> {
        let text = text.trim_ascii();
        let wrong = |why| SettingError::Value { option: self, text, why };
        match self.unit {
            OptionUnit::Bytes => size::parse(text).map_err(|e| wrong(Some(e))),
            OptionUnit::Switch => match text {
                "1" | "on" | "true" | "yes" => Ok(1),
                "0" | "off" | "false" | "no" => Ok(0),
                _ => Err(wrong(None)),
            },
            OptionUnit::Trace => GcTrace::parse(text)
                .map(|words| words.bits().into())
                .map_err(|text| SettingError::Value { option: self, text, why: None }),
            OptionUnit::Generations => Generational::parse(text).ok_or(wrong(None)),
            OptionUnit::Stops => Stop::parse(text).ok_or(wrong(None)),
            OptionUnit::Signal => match signal::number(text) {
                Some(number) => Ok(number as u64),
                None => text.parse().map_err(|_| wrong(None)),
            },
            _ => text.parse().map_err(|_| wrong(None)),
        }
    }
}

impl Config {
    /// These settings, changed by the variable `HEAPWOOD`; what of it cannot be used is told on standard error and
    /// ignored. So what the variable says counts more than what was set before, and less than what is set afterwards:
    ///
    /// ```
    /// # use heapwood_gc::Config;
    /// let config = Config::default().percent(50).with_env().verify(true);
    /// # assert!(config.verify);
    /// ```
    ///
    /// Nothing reads the variable but this, [`Config::from_env`], `hw_options_env` of the C interface and the command; and
    /// every heap whose program did not set the option `trace`, for that option alone.
    #[must_use]
    pub fn with_env(self) -> Self {
        let mut config = self;
        config.read_variable(true);
        config
    }

    /// What a heap is made with that is given these settings: what it is to tell, if they do not say, is the variable's to
    /// say.
    pub(crate) fn with_trace_of_env(self) -> Self {
        let mut asked = Config::DEFAULT;
        if self.trace.is_none() {
            asked.read_variable(false);
        }
        Config { trace: self.trace.or(asked.trace), ..self }
    }

    /// Makes the settings of the variable. What is wrong is told, if it has not been: all of it, or what is any heap's
    /// business.
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
            Some(text) => self.set_each(text, warn),
            None => warn(SettingError::NotText),
        }
    }

    /// The defaults, changed by the variable `HEAPWOOD` as [`Config::with_env`] says.
    pub fn from_env() -> Self {
        Config::DEFAULT.with_env()
    }

    /// Makes the settings of `text`, `key=value` separated by commas, of which the last of a key counts; what cannot be
    /// made is told to `warn` and changes nothing.
    pub fn set_each(&mut self, text: &str, mut warn: impl FnMut(SettingError<'_>)) {
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
        self.set(option, option.parse(value)?).map_err(SettingError::Range)
    }
}

/// The option that is meant by a name with at most two letters wrong.
fn nearest(name: &str) -> Option<&'static str> {
    let near = OPTIONS.iter().filter_map(|option| Some((distance(name, option.name)?, option.name)));
    near.filter(|&(distance, name)| distance <= 2 && 2 * distance < name.len()).min().map(|(_, name)| name)
}

/// How many letters must be changed, added or left out to make one word of the other (Levenshtein's distance); `None` for
/// words longer than any option.
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
            ("limit=2parsecs", "option limit is 2parsecs: a size is a number with KiB, MiB, GiB or TiB"),
            ("verify=maybe", "option verify is maybe: it must be on (1) or off (0)"),
            ("verify=", "option verify is : it must be on (1) or off (0)"),
        ] {
            let (config, told) = set(text);
            assert_eq!(config, Config::default(), "{text}");
            assert!(told.len() == 1 && told[0].starts_with(words), "{text}: {told:?}");
            let (config, told) = set(&format!("verify=on,{text},min_heap=1MiB"));
            assert_eq!((config, told.len()), (Config::default().verify(true).min_heap(1 << 20), 1), "{text}");
        }
    }

    #[test]
    fn letters_are_counted() {
        for (a, b, wanted) in
            [("", "", 0), ("limit", "limit", 0), ("limt", "limit", 1), ("Limit", "limit", 0)]
        {
            assert_eq!(distance(a, b), Some(wanted), "{a} {b}");
        }
        assert_eq!((distance("kitten", "sitting"), distance("", "abc")), (Some(3), Some(3)));
        assert_eq!(distance(&"x".repeat(99), "limit"), None);
        assert_eq!(
            ["minheap", "min-heap", "hugepages", "adress_space", "x", "heap"].map(nearest),
            [Some("min_heap"), Some("min_heap"), Some("huge_pages"), Some("address_space"), None, None]
        );
    }
}
