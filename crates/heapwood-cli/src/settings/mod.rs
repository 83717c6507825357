//! The settings of `heapwood bench --ab KEY=A,B`: an option of the heap, which a run gets by the variable HEAPWOOD, or
//! the prefetch in allocation, for which the command is built twice. Invariant: both values are in range and differ, so
//! errors are reported before anything runs or is built.

pub(crate) mod prefetch;

use heapwood_gc::settings::options::Audience;
use heapwood_gc::{Config, OptionInfo};

/// A setting with two values.
#[derive(Clone, Debug)]
pub(crate) struct Ab {
    pub(crate) setting: Setting,
    /// Without blanks.
    pub(crate) values: [String; 2],
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Setting {
    Option(&'static OptionInfo),
    /// A setting of the build.
    Prefetch,
}

impl Setting {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Setting::Option(option) => option.name,
            Setting::Prefetch => prefetch::NAME,
        }
    }

    /// Finds it by name, with dashes or underscores.
    fn find(name: &str) -> Result<Setting, String> {
        let key = name.replace('-', "_");
        if key == prefetch::NAME {
            return Ok(Setting::Prefetch);
        }
        match OptionInfo::find(&key) {
            Some(option) if option.audience == Audience::InC => Err(format!(
                "the option {} is {}, and workloads are in Rust: both would be the same; choose another",
                option.name,
                option.audience.note()
            )),
            Some(option) => Ok(Setting::Option(option)),
            None => Err(format!("{}; and of the build {}", no_option(&key), prefetch::NAME)),
        }
    }

    /// A value's word, and a number that is equal for words of the same meaning.
    fn value(self, text: &str) -> Result<(String, u64), String> {
        match self {
            Setting::Option(option) => {
                let value = option.parse(text).map_err(|e| e.to_string())?;
                option.check(value).map_err(|e| e.to_string())?;
                Ok((text.split_whitespace().collect(), value))
            }
            Setting::Prefetch => prefetch::value(text).map(|(k, value)| (value.into(), k as u64)),
        }
    }
}

/// The error of the variable HEAPWOOD for an unknown option.
fn no_option(name: &str) -> String {
    let mut said = String::new();
    let mut config = Config::DEFAULT;
    config.set_each(&format!("{name}=0"), |why| said = why.to_string());
    said
}

/// Parses `KEY=A,B`.
pub(crate) fn parse(text: &str) -> Result<Ab, String> {
    const FORM: &str = "write KEY=A,B, such as percent=100,200";
    let (name, values) = text.split_once('=').ok_or_else(|| format!("it names no values: {FORM}"))?;
    if name.contains(',') {
        return Err(format!("it names more than one setting before its values: {FORM}"));
    }
    if name.trim().is_empty() {
        return Err(format!("it names no setting before its values: {FORM}"));
    }
    let setting = Setting::find(name.trim())?;
    let values: Vec<&str> = values.split(',').map(str::trim).collect();
    let [a, b] = values[..] else {
        let count = match values.len() {
            1 => "one value",
            _ => "more than two values",
        };
        return Err(format!("it has {count} of {}, and two are compared: {FORM}", setting.name()));
    };
    let ((word_a, first), (word_b, second)) = (setting.value(a)?, setting.value(b)?);
    if first == second {
        return Err(format!(
            "{a} and {b} are the same value of {}, so there is nothing to compare: give two that differ",
            setting.name()
        ));
    }
    Ok(Ab { setting, values: [word_a, word_b] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_settings_are_parsed() {
        for (text, name, values) in [
            ("percent=100,200", "percent", ["100", "200"]),
            ("huge-pages=on,off", "huge_pages", ["on", "off"]),
            (" min_heap = 1 MiB , 4MiB", "min_heap", ["1MiB", "4MiB"]),
            ("generational=off,auto", "generational", ["off", "auto"]),
            ("max_pause=off,1ms", "max_pause", ["off", "1ms"]),
            ("trace=off,1", "trace", ["off", "1"]),
            ("prefetch=off,object", "prefetch", ["off", "object"]),
        ] {
            let ab = parse(text).unwrap();
            assert_eq!((ab.setting.name(), ab.values), (name, values.map(String::from)), "{text}");
        }
    }

    #[test]
    fn wrong_settings_name_the_possible_ones() {
        for (text, words) in [
            ("percent", &["no values", "KEY=A,B"][..]),
            ("", &["no values", "KEY=A,B"]),
            ("=1,2", &["names no setting", "KEY=A,B"]),
            (" =", &["names no setting", "KEY=A,B"]),
            ("percnt=1,2", &["no option is called percnt", "is percent meant", "of the build prefetch"]),
            ("gogc=1,2", &["no option is called gogc", "there are min_heap, limit"]),
            ("percent=1,limit=2GiB", &["option percent", "limit=2GiB", "1 to 100000"]),
            ("percent,limit=1,2", &["more than one setting", "KEY=A,B"]),
            ("percent=1", &["one value of percent", "two are compared"]),
            ("percent=1,2,3", &["more than two values of percent", "two are compared"]),
            ("percent=1,", &["option percent is :", "a number, 1 to 100000"]),
            ("percent=100,0", &["option percent is 0", "1 to 100000"]),
            ("percent=half,2", &["option percent is half", "1 to 100000"]),
            ("percent=7,07", &["7 and 07 are the same value of percent", "give two that differ"]),
            ("limit=1GiB,1024MiB", &["the same value of limit", "give two that differ"]),
            ("huge_pages=yes,on", &["the same value of huge_pages"]),
            ("huge_pages=on,maybe", &["option huge_pages is maybe", "on (1) or off (0)"]),
            ("conservative_stacks=on,off", &["of use in C only", "choose another"]),
            ("prefetch=object,object", &["object and object are the same value of prefetch"]),
            ("prefetch=off,most", &["prefetch", "most", "one of off, object"]),
            ("prefetch=off", &["one value of prefetch"]),
        ] {
            let why = parse(text).unwrap_err();
            for word in words {
                assert!(why.contains(word), "{text} does not say {word:?}: {why}");
            }
        }
    }
}
