//! The flags for a heap's options, generated from the collector's list of options. Invariant: a flag overrides the
//! variable HEAPWOOD, which overrides the default.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use heapwood_gc::settings::options::{Audience, OptionUnit};
use heapwood_gc::{Config, OPTIONS, OptionInfo};

/// The options that flags set.
pub(crate) struct HeapFlags {
    given: Vec<(&'static OptionInfo, u64)>,
}

impl HeapFlags {
    /// The settings of the heap. Parts of HEAPWOOD that cannot be used are reported on standard error.
    pub(crate) fn config(&self) -> Config {
        let mut config = Config::from_env();
        for &(option, value) in &self.given {
            config.set(option, value).expect("the parser accepts only values in range");
        }
        config
    }
}

/// The options with a flag: all except those that only C uses.
fn options() -> impl Iterator<Item = &'static OptionInfo> {
    OPTIONS.iter().filter(|option| option.audience != Audience::InC)
}

/// The value that a switch's flag sets: the opposite of its default.
fn turned(option: &OptionInfo) -> u64 {
    1 - option.default.expect("a switch is on or off")
}

fn flag(option: &'static OptionInfo) -> Arg {
    let name = option.name.replace('_', "-");
    let (off, note) = (option.unit == OptionUnit::Switch && turned(option) == 0, option.audience.note());
    let with_note = |text: &str| {
        let text = text.replace('`', "");
        let end = if note.is_empty() { String::new() } else { format!(" ({note})") };
        match off {
            true => format!("Switch this off: {}{}{end}", text[..1].to_ascii_lowercase(), &text[1..]),
            false => text + &end,
        }
    };
    let arg = Arg::new(option.name)
        .long(if off { format!("no-{name}") } else { name })
        .hide_short_help(option.audience == Audience::Tests);
    match option.unit {
        OptionUnit::Switch => {
            arg.action(ArgAction::SetTrue).help(with_note(option.summary())).long_help(with_note(option.help))
        }
        unit => {
            let default = format!(" [default: {}]", option.default_text()).replace('`', "");
            arg.value_name(match unit {
                OptionUnit::Bytes => "SIZE",
                OptionUnit::Time => "TIME",
                OptionUnit::Percent => "PERCENT",
                OptionUnit::Trace => "WORDS",
                OptionUnit::When | OptionUnit::Beside | OptionUnit::Stops => "WORD",
                OptionUnit::Signal => "SIGNAL",
                _ => "N",
            })
            .value_parser(move |text: &str| parse(option, text))
            .allow_hyphen_values(true)
            .help(with_note(option.summary()) + &default)
            .long_help(format!(
                "{} Range: {}{}.{default}",
                with_note(option.help),
                option.range_text(),
                if unit == OptionUnit::Bytes { ", with or without a unit (64MiB)" } else { "" }
            ))
        }
    }
}

fn parse(option: &'static OptionInfo, text: &str) -> Result<u64, String> {
    let value = option.parse(text).map_err(|e| e.to_string())?;
    option.check(value).map(|()| value).map_err(|e| e.to_string())
}

impl Args for HeapFlags {
    fn augment_args(command: Command) -> Command {
        command.args(options().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for HeapFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = options().filter_map(|option| {
            let value = match option.unit {
                OptionUnit::Switch => matches.get_flag(option.name).then(|| turned(option)),
                _ => matches.get_one(option.name).copied(),
            };
            Some((option, value?))
        });
        Ok(HeapFlags { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
