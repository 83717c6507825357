//! Settings that are made when the command is built: each is a `cfg` of the compiler with a value, as
//! `RUSTFLAGS='--cfg heapwood_prefetch="off"'` sets it. A line of the table here makes another one known to `--ab` and to
//! its help; the code that it changes knows the same names, and the workspace's Cargo.toml lists them.

use heapwood_report::legible::escaped;
use std::fmt::Write;

/// A setting of the build.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BuildSetting {
    /// As `--ab` has it.
    pub(crate) name: &'static str,
    /// As the compiler has it.
    cfg: &'static str,
    about: &'static str,
    /// Each with what it is for.
    values: &'static [(&'static str, &'static str)],
    /// The one that the command has if the compiler is told nothing.
    default: &'static str,
    /// Other words for values.
    aliases: &'static [(&'static str, &'static str)],
}

pub(crate) const BUILD_SETTINGS: &[BuildSetting] = &[
    BuildSetting {
        name: "prefetch",
        cfg: "heapwood_prefetch",
        about: "what an allocation asks the processor to fetch",
        values: &[
            ("off", "nothing"),
            ("object", "the object, before it is written"),
            ("after", "the object, after the cursor has been stored"),
            ("next", "the object that will be made next"),
            ("line", "the next line of the run"),
            ("ahead", "eight lines ahead, for objects up to a line"),
        ],
        default: if cfg!(target_arch = "aarch64") { "ahead" } else { "off" },
        aliases: &[("on", "ahead")],
    },
    BuildSetting {
        name: "publication",
        cfg: "heapwood_publication",
        about: "what a barrier orders before other threads find it",
        values: &[("run", "each run of cells"), ("object", "each object, too")],
        default: "run",
        aliases: &[],
    },
];

/// The one of this name.
pub(crate) fn find(name: &str) -> Option<&'static BuildSetting> {
    BUILD_SETTINGS.iter().find(|setting| setting.name == name)
}

/// All of their names.
pub(crate) fn names() -> String {
    BUILD_SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")
}

/// Each setting with its values, for help.
pub(crate) fn help() -> String {
    let mut text = String::new();
    for setting in BUILD_SETTINGS {
        let _ = write!(text, "{}, {}:", setting.name, setting.about);
        for (k, (value, about)) in setting.values.iter().enumerate() {
            let default = if *value == setting.default { "; the default" } else { "" };
            let _ = write!(text, "{} {value} ({about}{default})", if k == 0 { "" } else { "," });
        }
        for (alias, value) in setting.aliases {
            let _ = write!(text, "; {alias} means {value}");
        }
        text.push_str(". ");
    }
    text.trim_end().into()
}

impl BuildSetting {
    /// The number and the word of a value.
    pub(crate) fn value(&self, text: &str) -> Result<(usize, &'static str), String> {
        let meant = self.aliases.iter().find(|(alias, _)| *alias == text).map_or(text, |(_, value)| value);
        let found = self.values.iter().position(|(value, _)| *value == meant);
        found.map(|k| (k, self.values[k].0)).ok_or_else(|| {
            let words: Vec<&str> = self.values.iter().map(|(value, _)| *value).collect();
            format!("{} cannot be {}: it is one of {}", self.name, escaped(text), words.join(", "))
        })
    }

    /// What the compiler is told for a value.
    pub(crate) fn flags(&self, value: &str) -> String {
        format!("--cfg {}=\"{value}\"", self.cfg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_can_be_found_and_set() {
        for (k, setting) in BUILD_SETTINGS.iter().enumerate() {
            assert!(BUILD_SETTINGS[..k].iter().all(|other| other.name != setting.name), "{}", setting.name);
            // A heap's option of the same name could never be compared.
            assert!(heapwood_gc::OptionInfo::find(setting.name).is_none(), "{}", setting.name);
            assert_eq!(find(setting.name), Some(setting));
            assert!(setting.values.len() >= 2 && setting.value(setting.default).is_ok());
            for (at, (value, _)) in setting.values.iter().enumerate() {
                assert_eq!(setting.value(value), Ok((at, *value)));
            }
            for (alias, value) in setting.aliases {
                assert_eq!(setting.value(alias).map(|(_, word)| word), Ok(*value));
                assert!(setting.values.iter().all(|(value, _)| value != alias), "{alias}");
            }
        }
    }

    #[test]
    fn the_compiler_is_told_as_a_cfg() {
        assert_eq!(find("prefetch").unwrap().flags("off"), "--cfg heapwood_prefetch=\"off\"");
    }

    /// A value that the code does not know would be built as the default, and compared with it.
    #[test]
    fn the_code_knows_every_value() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        for setting in BUILD_SETTINGS {
            let cfg = format!("cfg({}, values(", setting.cfg);
            let (_, known) =
                manifest.split_once(&cfg).unwrap_or_else(|| panic!("{cfg} is not in Cargo.toml"));
            let known: Vec<&str> = known.split_once("))").unwrap().0.split(", ").collect();
            for (value, _) in setting.values.iter().filter(|(value, _)| *value != setting.default) {
                assert!(known.contains(&&*format!("\"{value}\"")), "{}={value}: {known:?}", setting.name);
            }
            for value in known {
                assert!(setting.value(value.trim_matches('"')).is_ok(), "{}={value}", setting.name);
            }
        }
    }

    #[test]
    fn help_has_every_value() {
        let help = help();
        for setting in BUILD_SETTINGS {
            for word in setting.values.iter().map(|(value, about)| format!("{value} ({about}")) {
                assert!(help.contains(setting.name) && help.contains(&word), "{word}: {help}");
            }
        }
        assert!(
            help.contains("run (each run of cells; the default)") && help.contains("on means ahead"),
            "{help}"
        );
    }
}
